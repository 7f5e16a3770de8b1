/**
 * The demo's directory: files that only this user can read, held by one process, and gone at its end.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Random } from "../core/random.ts";

/** An open demo directory. */
export interface DemoDirectory {
  /** Writes a file for this user alone; resolves with its path. */
  write(name: string, text: string): Promise<string>;
  /**
   * The path of a folder for the files of a user that is not this one, who can get through to it; what a demo that was
   * killed left there is removed first. It is in the directory, or, where others cannot come there, a temporary one.
   */
  folder(name: string, tools: { readonly clock: Clock; readonly random: Random }): Promise<string>;
  /** Removes every file that was written, and the directory unless somebody put something into it. */
  remove(): Promise<void>;
}

/**
 * Opens the directory at `path` and holds it until it is removed. Throws when another demo holds it, or when it is
 * no directory. What a demo left behind that was killed is taken over.
 */
export async function openDemoDirectory(path: string): Promise<DemoDirectory> {
  try {
    await Deno.mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) {
      throw new Error(`Creating the directory "${path}" failed; run the demo where files may be written`, {
        cause: error,
      });
    }
    // Not followed: a link could lead the tokens elsewhere.
    if (!(await Deno.lstat(path)).isDirectory) {
      throw new Error(`"${path}" is no directory; move it out of the demo's way`);
    }
  }
  const lockPath = `${path}/lock`;
  const lock = await Deno.open(lockPath, { create: true, write: true, mode: 0o600 });
  if (!await lock.tryLock(true)) {
    lock.close();
    throw new Error(
      `Another demo is running here and holds "${path}"; end it, or run this one in another directory`,
    );
  }
  const written = new Set<string>();
  const write = async (name: string, text: string) => {
    const file = `${path}/${name}`;
    await removeFile(file); // of a demo that was killed; its mode may be another
    await Deno.writeTextFile(file, text, { mode: 0o600, createNew: true });
    written.add(file);
    return file;
  };
  return {
    write,
    async folder(name, tools) {
      const { closedOnTheWay, removeLocalFolder } = await import("../providers/local/provider.ts");
      const pointer = `${path}/${name}.path`;
      const earlier = await Deno.readTextFile(pointer).catch(() => undefined);
      if (earlier !== undefined) await removeLocalFolder(earlier.trim(), tools);
      const real = await Deno.realPath(path);
      await Deno.chmod(real, 0o711); // its files are for this user alone all the same
      const reachable = await closedOnTheWay(real) === undefined;
      const folder = reachable ? `${real}/${name}` : await Deno.makeTempDir({ dir: "/tmp", prefix: "demo-" });
      await write(`${name}.path`, `${folder}\n`);
      await Deno.mkdir(folder, { recursive: true });
      await Deno.chmod(folder, 0o711);
      return folder;
    },
    async remove() {
      for (const file of written) await removeFile(file);
      await removeFile(lockPath);
      lock.close();
      for await (const _ of Deno.readDir(path)) return; // somebody else's files stay
      await Deno.remove(path);
    },
  };
}

async function removeFile(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
