/**
 * Plants bugs into source text: each place is found in the syntax tree by its function and its text, and becomes a
 * switch that asks at run time which bug is active. One copy of the source so holds all of them, and none when none is active.
 *
 * Promised: a place that is gone, or that is there more than once, fails loudly.
 *
 * @module
 */
import type { Edit, RuleMutant } from "./rule.ts";
import { loadTypeScript, type Node } from "./vendor.ts";

const ts = await loadTypeScript();

/** The anchor of a planted bug does not fit the source any more. */
export class AnchorError extends Error {
  override readonly name = "AnchorError";
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly statement: boolean;
  readonly switches: { readonly id: string; readonly replace: string }[];
}

/** Files below `src/` with their switches, by path; `read` gives a file's text. Throws {@linkcode AnchorError}. */
export async function plantAll(
  mutants: readonly RuleMutant[],
  read: (file: string) => Promise<string>,
): Promise<Map<string, string>> {
  const byFile = new Map<string, { id: string; edit: Edit }[]>();
  for (const { id, edits } of mutants) {
    for (const edit of edits) {
      const known = byFile.get(edit.file) ?? [];
      byFile.set(edit.file, [...known, { id, edit }]);
    }
  }
  const planted = new Map<string, string>();
  for (const [file, edits] of byFile) planted.set(file, plant(file, await read(file), edits));
  return planted;
}

/** One file's text with its switches. */
export function plant(
  file: string,
  text: string,
  edits: readonly { readonly id: string; readonly edit: Edit }[],
): string {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const places = new Map<string, Place>();
  for (const { id, edit } of edits) {
    const node = locate(source, edit, id);
    const start = node.getStart(source);
    const end = node.getEnd();
    const statement = !ts.isExpression(node);
    const key = `${start}-${end}-${statement}`;
    const known: Place = places.get(key) ?? { start, end, statement, switches: [] };
    known.switches.push({ id, replace: edit.replace });
    places.set(key, known);
  }
  const sorted = [...places.values()].sort((a, b) =>
    a.start - b.start || b.end - a.end || Number(b.statement) - Number(a.statement)
  );
  return render(text, 0, text.length, sorted);
}

/** The one node that an edit names. */
function locate(source: Node, edit: Edit, id: string): Node {
  const fail = (why: string): never => {
    throw new AnchorError(`Mutant "${id}": ${why} in src/${edit.file}`);
  };
  const scopes = scopesOf(source, edit.in);
  const outermost = scopes.filter((s) => isTop(s)); // a function before a property of the same name
  const [scope] = outermost.length === 1 ? outermost : scopes;
  if (scope === undefined || (scopes.length > 1 && outermost.length !== 1)) {
    return fail(`${scopes.length} places are called "${edit.in}"`);
  }
  const wanted = plain(edit.find);
  const found: Node[] = [];
  const visit = (node: Node) => {
    const fits = (ts.isExpression(node) || ts.isStatement(node)) && plain(node.getText(source)) === wanted;
    if (fits) found.push(node);
    else ts.forEachChild(node, visit);
  };
  ts.forEachChild(scope, visit);
  if (edit.nth === undefined && found.length > 1) {
    return fail(`"${edit.find}" is there ${found.length} times in "${edit.in}"`);
  }
  const node = found[edit.nth ?? 0];
  if (node === undefined) return fail(`"${edit.find}" is not to be found in "${edit.in}"`);
  if (ts.isVariableStatement(node)) return fail(`"${edit.find}" declares a variable and cannot be switched`);
  return node;
}

/** What is called `name`: a function, method (`Class.method`), variable, property or class. */
function scopesOf(source: Node, name: string): Node[] {
  const found: Node[] = [];
  const visit = (node: Node, owner: string) => {
    const own = nameOf(node);
    const full = owner === "" ? own : `${owner}.${own}`;
    if (own !== undefined && (full === name || own === name)) found.push(node);
    ts.forEachChild(node, (child) => visit(child, ts.isClassDeclaration(node) ? own ?? "" : ""));
  };
  visit(source, "");
  return found;
}

function isTop(node: Node): boolean {
  const owner = ts.isVariableDeclaration(node) ? node.parent.parent.parent : node.parent;
  return ts.isSourceFile(owner);
}

function nameOf(node: Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  const named = ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) ||
    ts.isGetAccessorDeclaration(node) || ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) ||
    ts.isClassDeclaration(node) || ts.isPropertyDeclaration(node);
  return named ? node.name?.getText() : undefined;
}

/** Comments, white space and trailing commas say nothing. */
function plain(text: string): string {
  return text.replace(/(^|\s)\/\/ .*$/gm, "").replace(/\s+/g, " ").replace(/([([{]) /g, "$1")
    .replace(/,? ?([)\]}])/g, "$1").trim();
}

/** Inner places first, then the switch around them. */
function render(text: string, from: number, to: number, places: readonly Place[]): string {
  let out = "";
  let at = from;
  for (let i = 0; i < places.length;) {
    const place = places[i] as Place;
    const inner: Place[] = [];
    for (i++; i < places.length && (places[i] as Place).start < place.end; i++) {
      inner.push(places[i] as Place);
    }
    const original = render(text, place.start, place.end, inner);
    out += text.slice(at, place.start) + switched(place, original);
    at = place.end;
  }
  return out + text.slice(at, to);
}

function switched({ statement, switches }: Place, original: string): string {
  return switches.reduce(
    (otherwise, { id, replace }) =>
      statement
        ? `if (globalThis.__planted(${JSON.stringify(id)})) { ${replace} } else { ${otherwise} }`
        : `(globalThis.__planted(${JSON.stringify(id)}) ? (${replace}) : (${otherwise}))`,
    original,
  );
}
