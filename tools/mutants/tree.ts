/**
 * A copy of the sources and tests in a temporary folder, with planted bugs switched in.
 *
 * The judges of the simulation ask some pure functions of the operator what a CR wants; in the copy they ask them of an
 * unchanged second copy, or a bug in such a function would blind its own judge.
 *
 * @module
 */

/** The project's folder, ending in a slash. */
export const ROOT: URL = new URL("../../", import.meta.url);

/** What the copy holds. */
const COPIED = ["src", "tests", "crds", "docs", "main.ts", "deno.json", "npm.import_map.json"];

/** Makes the copy; `planted` holds the changed files below `src/`. The caller removes it. */
export async function growTree(planted: ReadonlyMap<string, string>): Promise<URL> {
  const folder = await Deno.makeTempDir({ prefix: "mutants-" });
  const tree = new URL(`file://${folder}/`);
  for (const name of COPIED) await copy(new URL(name, ROOT), new URL(name, tree));
  await copy(new URL("src", ROOT), new URL("pristine", tree));
  const simulation = new URL("src/simulation/", tree);
  for (const { name } of Deno.readDirSync(simulation)) {
    if (!name.endsWith(".ts")) continue;
    const file = new URL(name, simulation);
    const text = await Deno.readTextFile(file);
    await Deno.writeTextFile(file, text.replaceAll('"../statechart/', '"../../pristine/statechart/'));
  }
  for (const [file, text] of planted) await Deno.writeTextFile(new URL(`src/${file}`, tree), text);
  return tree;
}

/** Text of a file below `src/`. */
export function readSource(file: string): Promise<string> {
  return Deno.readTextFile(new URL(`src/${file}`, ROOT));
}

async function copy(from: URL, to: URL): Promise<void> {
  if ((await Deno.stat(from)).isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) {
    await copy(new URL(`${from.href}/${name}`), new URL(`${to.href}/${name}`));
  }
}
