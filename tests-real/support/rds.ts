/**
 * An RDS of this machine for tests: `tests-real/rds/server.py` on moto, in a virtual environment of Python that is made
 * on first use (about a minute, 300 MB) under the user's cache folder. Ended by pid.
 *
 * @module
 */
import { backgroundPid, endBackground, guard, must, run, startBackground } from "./process.ts";

const MOTO = "5.2.5";
const INSTALL_MS = 600_000;
const START_MS = 180_000;

/** An instance as the server knows it. */
export interface RdsInstance {
  readonly identifier: string;
  readonly resourceId: string;
  readonly status: string;
  readonly engineVersion: string;
  readonly allocatedStorage: number;
  readonly username: string;
  readonly password: string | null;
  readonly deletionProtection: boolean;
  readonly encrypted: boolean;
  readonly tags: Readonly<Record<string, string>>;
}

/** A running server. */
export interface RdsServer {
  /** Of the APIs of RDS and STS. */
  readonly url: string;
  readonly port: number;
  /** All instances, of every region. */
  instances(): Promise<RdsInstance[]>;
  /** Manual snapshots. */
  snapshots(): Promise<{ readonly name: string; readonly resourceId: string; readonly status: string }[]>;
  /** Sets attributes of an instance, by moto's names, as if somebody or RDS itself had. */
  set(identifier: string, attributes: Readonly<Record<string, unknown>>): Promise<void>;
  /** An instance is gone at once. */
  vanish(identifier: string): Promise<void>;
  /** Nothing is there any more. */
  clear(): Promise<void>;
  /** Seconds that operations take: create, modify, begin, optimise, delete. */
  timing(seconds: Readonly<Record<string, number>>): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server. */
export async function startRds(timing: Readonly<Record<string, number>> = {}): Promise<RdsServer> {
  const python = await pythonWithMoto();
  const dir = await Deno.makeTempDir({ prefix: "rds-" });
  await guard(dir);
  try {
    await startBackground({
      name: "rds",
      dir,
      command: "env",
      args: [
        "PYTHONDONTWRITEBYTECODE=1",
        `RDS_TIMING=${JSON.stringify(timing)}`,
        python,
        new URL("../rds/server.py", import.meta.url).pathname,
      ],
    });
    const { api, admin } = await ready(dir);
    const ask = async <T>(path: string, body?: unknown): Promise<T> => {
      const response = await fetch(`http://127.0.0.1:${admin}${path}`, {
        signal: AbortSignal.timeout(10_000),
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`Asking the test's RDS for ${path}: HTTP status ${response.status}`);
      return await response.json();
    };
    return {
      url: `http://127.0.0.1:${api}`,
      port: api,
      instances: () => ask("/instances"),
      snapshots: () => ask("/snapshots"),
      set: (identifier, attributes) => ask("/set", { identifier, ...attributes }),
      vanish: (identifier) => ask("/vanish", { identifier }),
      clear: () => ask("/clear", {}),
      timing: (seconds) => ask("/timing", seconds),
      async stop() {
        await endBackground(dir, "rds");
        await Deno.remove(dir, { recursive: true });
      },
    };
  } catch (error) {
    await endBackground(dir, "rds").catch(() => {});
    await Deno.remove(dir, { recursive: true });
    throw error;
  }
}

async function ready(dir: string): Promise<{ readonly api: number; readonly admin: number }> {
  const end = performance.now() + START_MS;
  for (;;) {
    const text = await Deno.readTextFile(`${dir}/rds.log`).catch(() => "");
    const line = text.split("\n").find((each) => each.startsWith("READY {") && each.endsWith("}"));
    if (line !== undefined) return JSON.parse(line.slice("READY ".length));
    const ended = await backgroundPid(dir, "rds").then((pid) => pid === undefined || /Traceback/.test(text));
    if (ended || performance.now() > end) {
      throw new Error(`Starting the test's RDS failed: ${text.slice(-1_000) || "it said nothing"}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The path of a Python that has moto; installs it where it is missing. */
async function pythonWithMoto(): Promise<string> {
  const home = Deno.env.get("XDG_CACHE_HOME") || `${Deno.env.get("HOME") || "/tmp"}/.cache`;
  const parent = `${home}/externaldatabase-operator`;
  const target = `${parent}/moto-${MOTO}`;
  const works = async (dir: string) => {
    const version = await run(`${dir}/bin/python`, ["-c", "import moto; print(moto.__version__)"], {
      timeoutMs: START_MS,
    })
      .catch(() => undefined);
    return version?.stdout.trim() === MOTO;
  };
  if (await works(target)) return `${target}/bin/python`;
  await Deno.mkdir(parent, { recursive: true });
  // Made beside and moved: whoever finds it there finds it whole.
  const made = await Deno.makeTempDir({ dir: parent, prefix: "moto-" });
  try {
    await must("python3", ["-m", "venv", made], { timeoutMs: INSTALL_MS });
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `moto[server]==${MOTO}`];
    await must(`${made}/bin/python`, pip, { timeoutMs: INSTALL_MS });
    await Deno.rename(made, target).catch(async (error: unknown) => {
      if (!await works(target)) throw error; // else another was quicker
    });
  } finally {
    await Deno.remove(made, { recursive: true }).catch((error: unknown) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // it was moved
    });
  }
  return `${target}/bin/python`;
}
