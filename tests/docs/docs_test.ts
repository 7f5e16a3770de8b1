/**
 * The documents are in step with the code: names, numbers, paths and links. What they say in prose a person must check.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import { specSchema, statusSchema } from "../../src/api/schema.ts";
import { cloudFlags } from "../../src/cli/cloud.ts";
import { envName, type Flag } from "../../src/cli/flag.ts";
import { parseCommandLine } from "../../src/cli/flags.ts";
import { DEMO_FLAGS, START_FLAGS } from "../../src/cli/options.ts";
import { STATECHART_FLAGS } from "../../src/cli/statechart_options.ts";
import { PLAN_FLAGS } from "../../src/cli/plan_options.ts";
import { STEPS } from "../../src/statechart/machine.ts";
import { REASONS, TOP_STATES } from "../../src/statechart/vocabulary.ts";
import {
  anchors,
  behaviours,
  DOCUMENTS,
  exists,
  leadsOut,
  links,
  paths,
  proofsOf,
  read,
  titles,
} from "./support.ts";

const design = await read("docs/design.md");

/** The table rows of the section under `heading`, to the next heading of its level or above. */
function rows(heading: string): string[] {
  const lines = design.split("\n");
  const from = lines.findIndex((line) => line.startsWith(heading));
  assert(from >= 0, `docs/design.md has no section "${heading}"`);
  const level = heading.match(/^#+/)?.[0].length ?? 0;
  const end = lines.findIndex((line, i) => i > from && new RegExp(`^#{1,${level}} `).test(line));
  return lines.slice(from, end < 0 ? undefined : end).filter((line) => line.startsWith("| "));
}

/** Names in backticks that begin a row. */
function firstNames(heading: string): string[] {
  return rows(heading).flatMap((row) => /^\| `([\w.]+)`/.exec(row)?.[1] ?? []);
}

Deno.test("every path that a document names exists", async () => {
  const missing: string[] = [];
  for (const document of DOCUMENTS) {
    for (const path of paths(await read(document))) {
      const beside = document.replace(/[^/]*$/, path); // deploy/README.md speaks of its own folder
      if (!await exists(path) && !await exists(beside)) missing.push(`${document}: ${path}`);
    }
  }
  assertEquals(missing, []);
});

Deno.test("every link between the documents leads somewhere", async () => {
  const broken: string[] = [];
  for (const document of DOCUMENTS) {
    for (const { target, anchor } of links(document, await read(document))) {
      const there = await exists(target);
      if (!there || (anchor && !anchors(await read(target)).has(anchor))) {
        broken.push(`${document}: ${target}${anchor ? `#${anchor}` : ""}`);
      }
    }
  }
  assertEquals(broken, []);
});

/** First parts of absolute paths that documents may name: of URLs, of JSON patches, of what a pod has mounted. */
const ABSOLUTE =
  /^\/(?:api|reasons|plain|healthz|livez|readyz|metrics|v1|admin|metadata|status|externaldatabases|etc\/externaldatabase)\b/;

Deno.test("no document names a place outside this repository", async () => {
  const outside: string[] = [];
  for (const document of DOCUMENTS) {
    for (const [path] of (await read(document)).matchAll(/(?<![\w.:/*)}\]<>"…-])(?:\.\.)?\/[a-z][\w./-]*/g)) {
      if (path.startsWith("..") ? leadsOut(document, path) : !ABSOLUTE.test(path)) {
        outside.push(`${document}: ${path}`);
      }
    }
  }
  assertEquals(outside, []);
});

Deno.test("every number that begins a test's title is in behaviours.md or safety.md", async () => {
  const known = new Set(
    [...(await read("docs/behaviours.md")).matchAll(/^- \*\*(\w+)\*\*/gm)].map((m) => m[1]),
  );
  const safety = await read("docs/safety.md");
  for (const [, number] of safety.matchAll(/^- \*\*([SL]\d+)\*\*/gm)) known.add(number);
  for (const [, number] of safety.matchAll(/^(\d+)\. /gm)) known.add(`rule ${number}`);
  const unknown = (await titles()).flatMap(({ file, numbers }) =>
    numbers.filter((number) => !known.has(number)).map((number) => `${file}: ${number}`)
  );
  assertEquals(unknown, []);
});

Deno.test("what behaviours.md calls proven has such a test, and what it calls not yet has none", async () => {
  const tests = await titles();
  const wrong: string[] = [];
  for (const { number, verdict, files } of behaviours(await read("docs/behaviours.md"))) {
    const provenBy = (file: string) => tests.some((t) => t.file === file && t.numbers.includes(number));
    if (verdict === undefined) wrong.push(`${number} says neither "Proof", "Partly" nor "Not yet"`);
    if (verdict === "Proof" && files.length === 0) wrong.push(`${number} names no file as its proof`);
    for (const file of files) {
      if (!provenBy(file)) wrong.push(`${number} names ${file}, where no title begins with it`);
    }
    const by = proofsOf(tests, number)[0];
    if (verdict === "Not yet" && by) {
      wrong.push(`${number} is called not yet, but ${by} tests it: see tools/proofs.ts, which writes it`);
    }
  }
  assertEquals(wrong, []);
});

Deno.test("the reasons in design.md are those of the code", () => {
  assertEquals(firstNames("### Reasons").toSorted(), Object.keys(REASONS).toSorted());
});

Deno.test("the fields in design.md are those of the schema", () => {
  assertEquals(firstNames("### spec").toSorted(), Object.keys(specSchema.shape).toSorted());
  assertEquals(firstNames("### status").toSorted(), Object.keys(statusSchema.shape).toSorted());
});

Deno.test("the states and effects in design.md are those of the machine", () => {
  const table = rows("## The statechart").map((row) => row.split("|").map((cell) => cell.trim()));
  const described = table.flatMap(([, state, , effects]) =>
    state?.startsWith("`") ? [[state.replaceAll("`", ""), effects]] : []
  );
  const real = TOP_STATES.map((
    state,
  ) => [state, state === "Finalized" ? "" : [...STEPS[state]].join(", ")]);
  assertEquals(described, real);
});

Deno.test("the annotations and tags in design.md are those of the code", () => {
  for (const name of [...Object.values(ANNOTATION), ...Object.values(TAG)]) {
    assert(rows("### Annotations and tags").some((row) => row.startsWith(`| \`${name}`)), name);
  }
});

const COMMANDS: readonly (readonly [string, readonly Flag[]])[] = [
  ["start", START_FLAGS],
  ["demo", DEMO_FLAGS],
  ["cloud", cloudFlags],
  ["plan", PLAN_FLAGS],
  ["statechart", STATECHART_FLAGS],
];

for (const [command, flags] of COMMANDS) {
  Deno.test(`the flags of ${command} in design.md are those of --help, with variable and default`, async () => {
    const help = await parseCommandLine([command, "--help"], { inPod: false, version: "0.0.0" });
    assert(help.command === "help");
    const offered = [...help.text.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map((m) => m[1] ?? "");
    const table = rows(`### ${command}`);
    const described = table.flatMap((row) => row.split("|")[1]?.match(/--[a-z][\w-]*/g) ?? []);
    assertEquals(described.toSorted(), offered.filter((name) => name !== "--help").toSorted());
    for (const { name, default: standard } of flags) {
      const row = table.find((row) => row.split("|")[1]?.includes(`--${name}\``)) ?? "";
      assert(row.includes(`\`${envName(name)}\``), `${command} --${name}: its variable`);
      if (standard !== undefined) {
        assert(row.includes(`\`${standard}\``), `${command} --${name}: default ${standard}`);
      }
    }
  });
}

Deno.test("the tasks that documents name are in deno.json", async () => {
  const { tasks } = JSON.parse(await read("deno.json")) as { tasks: Record<string, string> };
  const unknown: string[] = [];
  for (const document of DOCUMENTS) {
    for (const [, name] of (await read(document)).matchAll(/\btask ([a-z][\w:-]*)/g)) {
      if (name !== undefined && !(name in tasks)) unknown.push(`${document}: ${name}`);
    }
  }
  assertEquals(unknown, []);
});
