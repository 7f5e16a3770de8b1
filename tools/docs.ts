/**
 * Fails when a module of `src/` does not open with what it is, or exports something without a doc comment.
 *
 * `deno doc --lint` asks for more than this project wants (a comment on every member, no type of a library in a
 * signature), so its parser is used and the question is asked here.
 *
 * @module
 */

/** What `deno doc --json` says of one module. */
interface ModuleDoc {
  readonly module_doc?: { readonly doc?: string };
  readonly symbols?: ReadonlyArray<{ readonly name: string; readonly declarations: readonly Declaration[] }>;
}

/** One declaration of an exported name. */
interface Declaration {
  readonly kind: string;
  readonly declarationKind: string;
  readonly location: { readonly filename: string; readonly line: number };
  readonly jsDoc?: { readonly doc?: string };
}

const ROOT = new URL("../", import.meta.url);

async function* sources(directory: URL): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(directory)) {
    const url = new URL(entry.name, directory);
    if (entry.isDirectory) yield* sources(new URL(`${url}/`));
    else if (entry.name.endsWith(".ts") && !entry.name.endsWith(".d.ts")) yield url.pathname;
  }
}

const files = await Array.fromAsync(sources(new URL("src/", ROOT)));
const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
  args: ["doc", "--json", ...Deno.args, ...files],
  cwd: ROOT,
}).output();
if (code !== 0) {
  await Deno.stderr.write(stderr);
  Deno.exit(code);
}

const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as { nodes: Record<string, ModuleDoc> };
const missing: string[] = [];
for (const [file, module] of Object.entries(nodes)) {
  const path = file.replace(ROOT.href, "");
  if (!module.module_doc?.doc) missing.push(`${path}: the module does not say what it is`);
  for (const { name, declarations } of module.symbols ?? []) {
    const own = declarations.filter((it) =>
      it.declarationKind === "export" && it.location.filename === file && it.kind !== "reference"
    );
    // Overloads share the comment of one of them.
    if (own.length > 0 && !own.some((it) => it.jsDoc?.doc)) {
      missing.push(`${path}:${own[0]?.location.line}: "${name}" has no doc comment`);
    }
  }
}
for (const line of missing.toSorted()) console.error(line);
console.log(`${Object.keys(nodes).length} modules, ${missing.length} doc comments missing`);
Deno.exit(missing.length === 0 ? 0 : 1);
