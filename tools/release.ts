/**
 * Checks and makes what a release is of: `deno task release --check`, `--sbom FILE`, `--image NAME`.
 *
 * @module
 */
import { Command } from "commander";
import { CRD_FILES } from "./crds.ts";
import { exitCodeOf } from "./flags.ts";
import { loadedByMain } from "./release/graph.ts";
import { type Builder, BUILDERS, imageSteps } from "./release/image.ts";
import { type Lock, parseLock } from "./release/lock.ts";
import { sbom } from "./release/sbom.ts";
import { readVersions, type Versions } from "./release/versions.ts";
import { say } from "./say.ts";

const ROOT = new URL("../", import.meta.url);
const read = (file: string) => Deno.readTextFile(new URL(file, ROOT));

interface Flags {
  readonly check?: boolean;
  readonly sbom?: string;
  readonly image?: string;
  readonly dryRun?: boolean;
}

/** The import map that this process runs under, for the Deno that it asks. */
function mapFlags(): string[] {
  const mapped = import.meta.resolve("@std/assert").startsWith("file:");
  return mapped ? [`--import-map=${new URL("npm.import_map.json", ROOT).pathname}`] : [];
}

async function bill(versions: Versions, lock: Lock): Promise<string> {
  const loaded = await loadedByMain(ROOT.pathname, mapFlags());
  const licences = new Map<string, string>();
  for (const [key, folder] of loaded.folders) {
    try {
      const { license } = JSON.parse(await Deno.readTextFile(`${folder}/package.json`));
      if (typeof license === "string") licences.set(key, license);
    } catch (error) {
      // Of tests and tools, and not fetched yet.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  const licence = (key: string) => licences.get(key);
  return await sbom({ version: versions.operator, denoVersion: versions.deno, lock, loaded, licence });
}

/** What is wrong: nothing where a release may be made. */
async function check(versions: Versions, lock: Lock): Promise<string[]> {
  const wrong = [...versions.wrong];
  for (const { file, yaml } of CRD_FILES) {
    if (await Deno.readTextFile(file) !== yaml()) {
      wrong.push(`${file.pathname}: it differs from the schema: run "deno task crds"`);
    }
  }
  const { components } = JSON.parse(await bill(versions, lock)) as {
    readonly components: readonly { readonly "bom-ref": string }[];
  };
  const listed = new Set(components.map((component) => component["bom-ref"]));
  wrong.push(
    ...lock.packages.filter(({ key }) => !listed.has(key)).map(({ key }) => `SBOM: it lacks ${key}`),
  );
  return wrong;
}

async function builder(): Promise<Builder> {
  for (const name of BUILDERS) {
    try {
      const { success } = await new Deno.Command(name, {
        args: ["--version"],
        stdout: "null",
        stderr: "null",
      })
        .output();
      if (success) return name;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new Error(`Building the image failed: none of ${BUILDERS.join(", ")} is on PATH`);
}

async function buildImage(name: string, version: string, dryRun: boolean): Promise<void> {
  const git = await new Deno.Command("git", { args: ["rev-parse", "HEAD"], cwd: ROOT }).output();
  const revision = git.success ? new TextDecoder().decode(git.stdout).trim() : "unknown";
  for (const [command, ...args] of imageSteps(await builder(), { name, version, revision })) {
    say(`$ ${[command, ...args].join(" ")}`);
    if (dryRun) continue;
    const { code } = await new Deno.Command(command, { args, cwd: ROOT, stdin: "null" }).spawn().status;
    if (code !== 0) throw new Error(`Building the image failed: ${command} ${args[0]} ended with ${code}`);
  }
}

async function main(flags: Flags): Promise<number> {
  const [versions, lock] = [await readVersions(read), parseLock(await read("deno.lock"))];
  if (flags.check === true) {
    const wrong = await check(versions, lock);
    for (const line of wrong) say(line);
    if (wrong.length > 0) return 1;
    say(
      `${versions.operator} can be released: versions agree, ${lock.packages.length} npm packages are listed`,
    );
  }
  if (flags.sbom !== undefined) {
    await Deno.writeTextFile(flags.sbom, await bill(versions, lock));
    say(`Wrote ${flags.sbom}`);
  }
  if (flags.image !== undefined) await buildImage(flags.image, versions.operator, flags.dryRun === true);
  return 0;
}

if (import.meta.main) {
  const program = new Command("release").exitOverride()
    .option("--check", "end with 1 unless versions agree and the CRDs and the bill of materials are complete")
    .option("--sbom <file>", "write the bill of materials, CycloneDX as JSON")
    .option("--image <name>", "build the image of that name, tagged with the version")
    .option("--dry-run", "with --image: print its steps alone");
  try {
    program.parse(Deno.args, { from: "user" });
  } catch (error) {
    Deno.exit(exitCodeOf(error));
  }
  if (Object.keys(program.opts()).length === 0) program.help({ error: true });
  Deno.exit(await main(program.opts<Flags>()));
}
