/**
 * `deno task page`: builds the page of `src/page/` into `dist/page/`, unless it is there already.
 *
 * `deno bundle` makes the script (its esbuild comes from npm), the styles are joined; every file but `index.html` has a
 * digest of its content in its name, so that browsers may keep it for ever. With `--soft` a failure is told and no more:
 * the operator then serves the plain table alone.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { messageOf } from "../src/core/text.ts";
import { write } from "./say.ts";

const ROOT = new URL("../", import.meta.url);
const SOURCE = new URL("src/page/", ROOT);
const TARGET = new URL("dist/page/", ROOT);
/** Style sheets in their order. */
const STYLES = ["base.css", "fleet.css", "chart.css", "database.css"];
/** What the build depends on. */
const INPUTS = [
  ...["src/page/", "src/core/text.ts", "tools/page.ts", "deno.lock"],
  ...["draw/text.ts", "path.ts", "reasons.ts", "vocabulary.ts"].map((file) => `src/statechart/${file}`),
];

/** One built file. */
export interface Built {
  readonly name: string;
  readonly bytes: number;
  readonly gzipped: number;
}

/** Builds the page from scratch into `target`, which is emptied first. Rejects when the script cannot be bundled. */
export async function buildPage(target: URL = TARGET): Promise<Built[]> {
  const [script, styles, icon, html] = await Promise.all([
    bundle(),
    Promise.all(STYLES.map((name) => Deno.readTextFile(new URL(`style/${name}`, SOURCE)))),
    Deno.readTextFile(new URL("icon.svg", SOURCE)),
    Deno.readTextFile(new URL("index.html", SOURCE)),
  ]);
  const assets = [
    asset("page", "js", script),
    asset("page", "css", squeeze(styles.join("\n"))),
    asset("icon", "svg", icon),
  ];
  const index = assets.reduce(
    (text, { plain, name }) => text.replaceAll(`/assets/${plain}`, `/assets/${name}`),
    html,
  );
  await Deno.remove(target, { recursive: true }).catch(ignoreMissing);
  await Deno.mkdir(new URL("assets/", target), { recursive: true });
  for (const { name, text } of assets) await Deno.writeTextFile(new URL(`assets/${name}`, target), text);
  await Deno.writeTextFile(new URL("index.html", target), index);
  return [...assets, { name: "index.html", text: index }]
    .map(({ name, text }) => ({ name, bytes: text.length, gzipped: gzipSync(text).length }));
}

async function bundle(): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", "--minify", new URL("main.tsx", SOURCE).pathname],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  if (code !== 0) throw new Error(`Bundling the page failed: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** A file with its name in the sources, and the one with a digest of its content. */
function asset(stem: string, ending: string, text: string) {
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return { plain: `${stem}.${ending}`, name: `${stem}.${digest}.${ending}`, text };
}

/** Without comments and indentation. */
function squeeze(css: string): string {
  return css.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\s*\n\s*/g, "\n").trim();
}

/** Digest of everything that the build depends on. */
async function digest(): Promise<string> {
  const hash = createHash("sha256");
  for (const input of INPUTS) {
    const url = new URL(input, ROOT);
    const files = input.endsWith("/") ? await filesBelow(url) : [url];
    for (const file of files) {
      hash.update(file.pathname.slice(ROOT.pathname.length)).update(await Deno.readFile(file));
    }
  }
  return hash.digest("hex");
}

async function filesBelow(folder: URL): Promise<URL[]> {
  const files: URL[] = [];
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isDirectory) files.push(...await filesBelow(new URL(`${entry.name}/`, folder)));
    else files.push(new URL(entry.name, folder));
  }
  return files.sort((a, b) => a.pathname < b.pathname ? -1 : 1);
}

/** Builds the page unless it stands as its sources have it. */
async function upToDate(): Promise<string | undefined> {
  const stamp = new URL("built-from", TARGET);
  const wanted = await digest();
  if (await Deno.readTextFile(stamp).catch(ignoreMissing) === wanted) return undefined;
  const built = await buildPage();
  await Deno.writeTextFile(stamp, wanted);
  const total = built.reduce((sum, { gzipped }) => sum + gzipped, 0);
  return `Built the page: ${
    built.map(({ name, bytes }) => `${name} ${bytes}`).join(", ")
  }; ${total} bytes compressed\n`;
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

if (import.meta.main) {
  try {
    const said = await upToDate();
    if (said !== undefined) write(Deno.stderr, said);
  } catch (error) {
    write(Deno.stderr, `${messageOf(error)}\n`);
    if (!Deno.args.includes("--soft")) Deno.exit(1);
  }
}
