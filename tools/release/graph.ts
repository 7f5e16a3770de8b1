/**
 * Which npm packages the operator itself loads, as Deno's own module graph of `main.ts` has them. The others of the lock are
 * for tests and tools, and are not in the image.
 *
 * @module
 */

/** A package of the graph. */
interface GraphPackage {
  readonly dependencies: readonly string[];
  readonly localPath?: string;
}

interface Graph {
  readonly modules: readonly { readonly kind?: string; readonly npmPackage?: string }[];
  readonly npmPackages?: Readonly<Record<string, GraphPackage>>;
}

/** What is known of the packages that `main.ts` loads. */
export interface Loaded {
  /** Keys, as `deno.lock` has them. */
  readonly keys: ReadonlySet<string>;
  /** Where a package of the lock lies on this machine, where it does. */
  readonly folders: ReadonlyMap<string, string>;
}

/** Reads what `deno info --json main.ts` printed. */
export function parseGraph(text: string): Loaded {
  const { modules, npmPackages = {} } = JSON.parse(text) as Graph;
  const keys = new Set<string>();
  const waiting = modules.flatMap(({ npmPackage }) => npmPackage === undefined ? [] : [npmPackage]);
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    if (keys.has(key)) continue;
    keys.add(key);
    waiting.push(...npmPackages[key]?.dependencies ?? []);
  }
  const folders = Object.entries(npmPackages).flatMap(([key, { localPath }]) =>
    localPath === undefined ? [] : [[key, localPath] as const]
  );
  return { keys, folders: new Map(folders) };
}

/** Asks Deno. `flags` are those of an import map. Throws an Error with what it said when it fails. */
export async function loadedByMain(root: string, flags: readonly string[]): Promise<Loaded> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", ...flags, "main.ts"],
    cwd: root,
    stdin: "null",
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder();
  if (code !== 0) {
    throw new Error(`Asking Deno for the modules of main.ts failed: ${text.decode(stderr).trim()}`);
  }
  return parseGraph(text.decode(stdout));
}
