/**
 * Operator mutants: Stryker's instrumenter puts all of them into one copy of the source, each behind a switch.
 *
 * @module
 */
import { seededRandom } from "../../src/core/random.ts";
import { readSource, ROOT } from "./tree.ts";
import { loadInstrumenter, type Location } from "./vendor.ts";

/** One mutant of Stryker's. */
export interface OperatorMutant {
  readonly id: string;
  /** Below `src/`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly operator: string;
  readonly was: string;
  readonly is: string;
  /** Which of its file's mutants that read alike, from 0. */
  readonly nth: number;
}

/** Files below `src/` whose code is mutated: decision, effect, cache, reflector, supervisor. */
const MUTATED: readonly RegExp[] = [
  /^statechart\/(decide\w*|learn|knowledge|verdicts|recorded|repair|facts|drift|vanished)\.ts$/,
  /^operator\/(keeper|observer|account|absences|orphans|scheduler|gateway|supervisor)\.ts$/,
  /^operator\/effects\/\w+\.ts$/,
  /^kube\/(reflector\w*|rewind)\.ts$/,
];

/** Text alone: what people read. States and classes that are compared are mutated by the other operators. */
const EXCLUDED = ["StringLiteral"];

/** All mutants, and the files that hold them, by path below `src/`. */
export async function instrument(): Promise<
  { readonly mutants: readonly OperatorMutant[]; readonly files: ReadonlyMap<string, string> }
> {
  const names = [...walk("")].filter((name) => MUTATED.some((pattern) => pattern.test(name))).toSorted();
  const sources = new Map<string, string>();
  for (const name of names) sources.set(name, await readSource(name));
  const instrumenter = await loadInstrumenter();
  const result = await instrumenter.instrument(
    [...sources].map(([name, content]) => ({ name, content, mutate: true as const })),
    { plugins: null, excludedMutations: EXCLUDED, ignorers: [] },
  );
  const alike = new Map<string, number>();
  const mutants = result.mutants.filter((m) => m.status === undefined).map((m): OperatorMutant => {
    const reads = {
      file: m.fileName,
      operator: m.mutatorName,
      was: brief(cut(sources.get(m.fileName) ?? "", m.location)),
      is: brief(m.replacement),
    };
    const text = JSON.stringify(reads);
    const nth = alike.get(text) ?? 0;
    alike.set(text, nth + 1);
    return { id: m.id, line: m.location.start.line + 1, ...reads, nth };
  });
  return { mutants, files: new Map(result.files.map((f) => [f.name, f.content])) };
}

/** `count` of the mutants, drawn from a seed, in the order of the source. */
export function sample(mutants: readonly OperatorMutant[], count: number, seed: number): OperatorMutant[] {
  const random = seededRandom(seed);
  const drawn = mutants.map((mutant, at) => ({ mutant, at, lot: random.next() }))
    .toSorted((a, b) => a.lot - b.lot).slice(0, count);
  return drawn.toSorted((a, b) => a.at - b.at).map(({ mutant }) => mutant);
}

function* walk(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(`src/${folder}`, ROOT))) {
    if (isDirectory) yield* walk(`${folder}${name}/`);
    else yield folder + name;
  }
}

function cut(text: string, { start, end }: Location): string {
  const lines = text.split("\n").slice(start.line, end.line + 1);
  const last = lines.length - 1;
  if (lines[last] !== undefined) lines[last] = lines[last].slice(0, end.column);
  if (lines[0] !== undefined) lines[0] = lines[0].slice(start.column);
  return lines.join("\n");
}

function brief(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 120 ? `${line.slice(0, 117)}…` : line;
}
