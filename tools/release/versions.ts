/**
 * The places that name the version of the operator, or of Deno, and whether they agree.
 *
 * @module
 */

/** A file that names a version. */
interface Place {
  readonly file: string;
  /** Its first group is the version; it must match somewhere, and every match counts. */
  readonly pattern: RegExp;
}

/** Where the operator's version is beside `deno.json`. */
const OPERATOR: readonly Place[] = [
  { file: "deploy/helm/externaldatabase-operator/Chart.yaml", pattern: /^version: (\S+)$/gm },
  { file: "deploy/helm/externaldatabase-operator/Chart.yaml", pattern: /^appVersion: (\S+)$/gm },
  { file: "deploy/base/kustomization.yaml", pattern: /^ {4}newTag: (\S+)$/gm },
  { file: "deploy/README.md", pattern: /externaldatabase-operator:(\d[\w.-]*\w)/g },
  { file: "docs/install.md", pattern: /externaldatabase-operator:(\d[\w.-]*\w)/g },
  // What is new in it, and what an upgrade to it needs.
  { file: "docs/upgrade.md", pattern: /^## To (\d\S*)/gm },
];

/** Where the version of Deno is beside the Dockerfile. */
const DENO: readonly Place[] = [
  { file: ".ci/run", pattern: /^deno_version=(\S+)$/gm },
  { file: "README.md", pattern: /deno@(\d[\d.]*\d)/g },
  { file: "CONTRIBUTING.md", pattern: /deno@(\d[\d.]*\d)/g },
];

/** The versions, and what is wrong with them: empty where all agree. */
export interface Versions {
  readonly operator: string;
  readonly deno: string;
  readonly wrong: readonly string[];
}

/** Compares them. `read` gives a file's text, by its path from the root. */
export async function readVersions(read: (file: string) => Promise<string>): Promise<Versions> {
  const { version } = JSON.parse(await read("deno.json")) as { readonly version: string };
  const deno = /^ARG DENO_VERSION=(\S+)$/m.exec(await read("Dockerfile"))?.[1] ?? "";
  const wrong: string[] = [];
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) {
    wrong.push(`deno.json: the version "${version}" is not one of semver.org`);
  }
  if (deno === "") wrong.push("Dockerfile: it has no ARG DENO_VERSION");
  for (const [places, wanted] of [[OPERATOR, version], [DENO, deno]] as const) {
    for (const { file, pattern } of places) {
      const said = [...(await read(file)).matchAll(pattern)].map((match) => match[1]!);
      // Notes of older releases stay below those of this one.
      const counted = file === "docs/upgrade.md" ? said.slice(0, 1) : said;
      if (counted.length === 0) wrong.push(`${file}: it names no version where ${wanted} is expected`);
      for (const other of counted.filter((one) => one !== wanted)) {
        wrong.push(`${file}: it says ${other}, and ${wanted} is expected`);
      }
    }
  }
  return { operator: version, deno, wrong };
}
