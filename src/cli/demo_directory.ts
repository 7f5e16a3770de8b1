/**
 * The demo's directory: files that only this user can read, held by one process, and gone at its end.
 *
 * @module
 */

/** An open demo directory. */
export interface DemoDirectory {
  /** Writes a file for this user alone; resolves with its path. */
  write(name: string, text: string): Promise<string>;
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
  return {
    async write(name, text) {
      const file = `${path}/${name}`;
      await removeFile(file); // of a demo that was killed; its mode may be another
      await Deno.writeTextFile(file, text, { mode: 0o600, createNew: true });
      written.add(file);
      return file;
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
