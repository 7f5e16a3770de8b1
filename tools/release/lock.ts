/**
 * What `deno.lock` says of the npm packages: every one that the project can load, with its digest and what it needs.
 *
 * @module
 */

/** One package of the lock. */
export interface LockedPackage {
  /** The lock's own key, such as `pg-pool@3.14.0_pg@8.23.1`. */
  readonly key: string;
  /** With its scope, such as `@types/pg`. */
  readonly name: string;
  readonly version: string;
  /** Of the tarball, as the registry gives it: an algorithm and base64. */
  readonly integrity: string;
  /** Keys of the packages that it needs. */
  readonly dependencies: readonly string[];
}

interface LockFile {
  readonly version: string;
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm?: Readonly<Record<string, LockedEntry>>;
  readonly workspace?: { readonly dependencies?: readonly string[] };
}

interface LockedEntry {
  readonly integrity?: string;
  readonly dependencies?: readonly string[];
  readonly optionalDependencies?: readonly string[];
}

/** The lock, as far as npm goes. */
export interface Lock {
  readonly packages: readonly LockedPackage[];
  /** Keys of the packages that the project names itself. */
  readonly roots: readonly string[];
}

/** `name@version` of a key without the peers behind it. Throws an Error where it is no such key. */
function parts(key: string): { readonly name: string; readonly version: string } {
  const match = /^(@?[^@]+)@([^_]+)(?:_.*)?$/.exec(key);
  if (match === null) throw new Error(`Reading deno.lock failed: "${key}" is not a package's key`);
  return { name: match[1]!, version: match[2]! };
}

/** Reads the text of a `deno.lock`. Throws an Error where it is of another format, or names a package that it lacks. */
export function parseLock(text: string): Lock {
  const lock = JSON.parse(text) as LockFile;
  if (lock.version !== "5") throw new Error(`Reading deno.lock failed: its format is ${lock.version}, not 5`);
  const entries = Object.entries(lock.npm ?? {});
  const byName = Map.groupBy(entries.map(([key]) => key), (key) => parts(key).name);
  /** A dependency is a key, or where there is but one of the name the name alone; `alias@npm:key` names another. */
  const keyOf = (word: string, by: string): string => {
    const wanted = word.replace(/^.+@npm:/, "");
    if (lock.npm?.[wanted] !== undefined) return wanted;
    const [only, ...others] = byName.get(wanted) ?? [];
    if (only === undefined || others.length > 0) {
      throw new Error(`Reading deno.lock failed: "${word}", which ${by} needs, is not one package of it`);
    }
    return only;
  };
  const packages = entries.map(([key, { integrity, dependencies = [], optionalDependencies = [] }]) => {
    if (integrity === undefined) throw new Error(`Reading deno.lock failed: "${key}" has no digest`);
    const needed = [...new Set([...dependencies, ...optionalDependencies].map((word) => keyOf(word, key)))];
    return { key, ...parts(key), integrity, dependencies: needed };
  });
  const roots = (lock.workspace?.dependencies ?? []).filter((specifier) => specifier.startsWith("npm:"))
    .map((specifier) => {
      const version = lock.specifiers[specifier];
      if (version === undefined) throw new Error(`Reading deno.lock failed: "${specifier}" is not resolved`);
      return keyOf(`${parts(specifier.slice(4)).name}@${version}`, "the project");
    });
  return { packages, roots: [...new Set(roots)] };
}
