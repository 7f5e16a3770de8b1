/**
 * The provider's folder: who holds it, and where everything in it is.
 *
 * | path | content |
 * | --- | --- |
 * | `lock` | held by the process that works with the folder |
 * | `account` | identity, given at first use |
 * | `records/<id>.json` | one database each; for this user alone |
 * | `servers/<id>/` | that database's server; for the servers' user alone |
 * | `gone/<id>` | an id that was deleted and is not given again |
 * | `postgresql/<version>/` | binaries |
 *
 * A file is written beside and renamed: it is there as a whole or not at all, wherever the process is killed.
 *
 * @module
 */
import { type LocalRecord, parseRecord } from "./record.ts";
import { serverUser } from "./processes.ts";

const MARK = "externaldatabase-local/1";

/** An open folder; one process has it at a time. */
export class LocalFolder {
  private constructor(readonly path: string, private readonly lock: Deno.FsFile, readonly account: string) {}

  /**
   * Opens a folder, and makes it where there is none. `account` is its identity if it is new. Rejects when another process
   * has it, when it holds something else, or when the servers' user cannot get there.
   */
  static async open(path: string, account: string): Promise<LocalFolder> {
    await Deno.mkdir(path, { recursive: true, mode: 0o711 });
    const real = await Deno.realPath(path);
    for await (const { name } of Deno.readDir(real)) {
      if (!OURS.some((ours) => name === ours || name === `${ours}${BESIDE}`)) {
        throw new Error(
          `"${real}" holds "${name}", which is not of this provider; give it a folder of its own`,
        );
      }
    }
    await checkReachable(real);
    const lock = await Deno.open(`${real}/lock`, { create: true, write: true, mode: 0o600 });
    if (!await lock.tryLock(true)) {
      lock.close();
      throw new Error(`Another process works with the folder "${real}"`);
    }
    try {
      for (
        const [name, mode] of [["records", 0o700], ["servers", 0o711], ["gone", 0o700], [
          "postgresql",
          0o755,
        ]] as const
      ) {
        await Deno.mkdir(`${real}/${name}`, { recursive: true });
        await Deno.chmod(`${real}/${name}`, mode);
      }
      const known = await accountOf(real);
      if (known === undefined) await replaceFile(`${real}/account`, `${MARK} ${account}\n`);
      return new LocalFolder(real, lock, known ?? account);
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** Folder of one database's server. */
  serverFolder(id: string): string {
    return `${this.path}/servers/${id}`;
  }

  /** Folder of the binaries of a version, and one to make them in. */
  binaries(version: string): { readonly path: string; readonly beside: string } {
    const path = `${this.path}/postgresql/${version}`;
    return { path, beside: `${path}${BESIDE}` };
  }

  /** All records, in no order. Rejects when one cannot be read: its database would look as if it were gone (S6). */
  async records(): Promise<LocalRecord[]> {
    const folder = `${this.path}/records`;
    for (const name of await namesIn(folder)) {
      if (name.endsWith(BESIDE)) await Deno.remove(`${folder}/${name}`); // of a process that was killed; nobody was told of it
    }
    return await recordsIn(folder);
  }

  /** Ids of the server folders that are there. */
  servers(): Promise<string[]> {
    return namesIn(`${this.path}/servers`);
  }

  /** Puts a record in the place of the one before; what it has resolved for outlives the process. */
  async save(record: LocalRecord): Promise<void> {
    await replaceFile(this.#recordFile(record.id), JSON.stringify(record));
  }

  /** Takes the record of a deleted database away, and remembers its id. */
  async forget(id: string): Promise<void> {
    await Deno.writeTextFile(`${this.path}/gone/${id}`, "", { mode: 0o600 });
    await Deno.remove(this.#recordFile(id));
  }

  /** Ids of the databases that were deleted. */
  async gone(): Promise<Set<string>> {
    return new Set(await namesIn(`${this.path}/gone`));
  }

  /** Lets another process have it. */
  release(): void {
    this.lock.close();
  }

  /** Removes all that is in it, and itself where nothing else is in it. */
  async remove(): Promise<void> {
    for (const name of OURS.toReversed()) { // the lock is the last
      await Deno.remove(`${this.path}/${name}`, { recursive: true }).catch(ignoreAbsence);
    }
    this.release();
    if ((await namesIn(this.path)).length === 0) await Deno.remove(this.path);
  }

  #recordFile(id: string): string {
    return `${this.path}/records/${id}.json`;
  }
}

/** What a folder holds, read without taking it: nothing is made, changed or waited for. Rejects as opening it does. */
export async function lookAtFolder(
  path: string,
): Promise<{ readonly account: string | undefined; readonly records: readonly LocalRecord[] }> {
  const account = await accountOf(path);
  return { account, records: account === undefined ? [] : await recordsIn(`${path}/records`) };
}

/** The identity of a folder that has one. Rejects where it is of another version. */
async function accountOf(path: string): Promise<string | undefined> {
  const text = await readIfThere(`${path}/account`);
  if (text === undefined) return undefined;
  const [mark, account] = text.trim().split(" ");
  if (mark !== MARK || account === undefined) throw new Error(`"${path}/account" is not of this version`);
  return account;
}

async function recordsIn(folder: string): Promise<LocalRecord[]> {
  const records: LocalRecord[] = [];
  for (const name of await namesIn(folder)) {
    if (name.endsWith(BESIDE)) continue; // one that is being written
    const path = `${folder}/${name}`;
    const text = await readIfThere(path);
    if (text === undefined) continue; // deleted since its name was read
    try {
      records.push(parseRecord(text));
    } catch (cause) {
      throw new Error(
        `Reading the record "${path}" failed: ${cause instanceof Error ? cause.message : cause}`,
        { cause },
      );
    }
  }
  return records;
}

const OURS = ["lock", "account", "records", "servers", "gone", "postgresql"];
/** What a file is called until it is whole. */
const BESIDE = ".new";

async function namesIn(path: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(path)) names.push(name);
  return names;
}

async function readIfThere(path: string): Promise<string | undefined> {
  return await Deno.readTextFile(path).catch((error: unknown) => {
    ignoreAbsence(error);
    return undefined;
  });
}

function ignoreAbsence(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

async function replaceFile(path: string, text: string): Promise<void> {
  const beside = `${path}${BESIDE}`;
  const file = await Deno.open(beside, { write: true, create: true, truncate: true, mode: 0o600 });
  try {
    const bytes = new TextEncoder().encode(text);
    for (let done = 0; done < bytes.length;) done += await file.write(bytes.subarray(done));
    await file.syncData();
  } finally {
    file.close();
  }
  await Deno.rename(beside, path);
}

/** The first folder on the way to `path` that does not let the servers' user through; none where all do. */
export async function closedOnTheWay(path: string): Promise<string | undefined> {
  if (serverUser() === undefined) return undefined;
  for (let at = path; at !== "" && at !== "/"; at = at.slice(0, at.lastIndexOf("/"))) {
    const { mode } = await Deno.stat(at);
    if (mode !== null && (mode & 0o001) === 0) return at;
  }
  return undefined;
}

async function checkReachable(path: string): Promise<void> {
  const closed = await closedOnTheWay(path);
  if (closed === undefined) return;
  throw new Error(
    `PostgreSQL does not run as root, and the user it runs as instead (uid ${serverUser()?.uid}) cannot get through "${closed}" ` +
      `to "${path}"; use another folder, or chmod o+x it`,
  );
}
