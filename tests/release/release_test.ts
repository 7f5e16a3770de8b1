/** The release check: the project can be released as it stands, and each version that strays is named. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Ajv } from "ajv";
import { loadedByMain } from "../../tools/release/graph.ts";
import { imageSteps } from "../../tools/release/image.ts";
import { readVersions } from "../../tools/release/versions.ts";
import { cleanEnv, mapFlags } from "../cli/support.ts";

const ROOT = new URL("../../", import.meta.url);
const read = (file: string) => Deno.readTextFile(new URL(file, ROOT));

Deno.test("the versions of deno.json, chart, manifests, image and documents agree", async () => {
  assertEquals((await readVersions(read)).wrong, []);
});

for (
  const [file, from, to] of [
    ["deploy/helm/externaldatabase-operator/Chart.yaml", /^version: .*/m, "version: 9.9.9"],
    ["deploy/helm/externaldatabase-operator/Chart.yaml", /^appVersion: .*/m, "appVersion: 9.9.9"],
    ["deploy/base/kustomization.yaml", /newTag: .*/, "newTag: 9.9.9"],
    ["docs/install.md", /externaldatabase-operator:\d[\w.-]*\w/, "externaldatabase-operator:9.9.9"],
    ["docs/upgrade.md", /^## To .*/m, "## To 9.9.9"],
    [".ci/run", /^deno_version=.*/m, "deno_version=9.9.9"],
  ] as const
) {
  Deno.test(`another version in ${file} (${to}) is named`, async () => {
    const { wrong } = await readVersions(async (name) => {
      const text = await read(name);
      return name === file ? text.replace(from, to) : text;
    });
    assertEquals(wrong.length, 1, wrong.join("\n"));
    assertStringIncludes(wrong[0]!, `${file}: it says 9.9.9`);
  });
}

/** What CycloneDX's own schema, which its library ships, finds wrong with a bill. */
async function faults(bill: unknown): Promise<readonly unknown[]> {
  const { folders } = await loadedByMain(ROOT.pathname, mapFlags());
  const [, folder] = [...folders].find(([key]) => key.startsWith("@cyclonedx/cyclonedx-library@"))!;
  const load = async (name: string) =>
    JSON.parse(await Deno.readTextFile(`${folder}/res/schema/${name}.SNAPSHOT.schema.json`));
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  for (const name of ["spdx", "jsf-0.82"]) {
    // By the name that the other refers to it with.
    ajv.addSchema({ ...await load(name), $id: `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json` });
  }
  const validate = ajv.compile(await load("bom-1.6"));
  validate(bill);
  return validate.errors ?? [];
}

Deno.test("deno task release --check ends well, and --sbom writes a bill of what the operator loads", async () => {
  const file = await Deno.makeTempFile({ suffix: ".json" });
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", ...mapFlags(), "tools/release.ts", "--check", "--sbom", file],
      cwd: ROOT,
      env: cleanEnv(),
      clearEnv: true,
      stdin: "null",
    }).output();
    const text = new TextDecoder();
    assertEquals(code, 0, text.decode(stdout) + text.decode(stderr));
    assertStringIncludes(text.decode(stdout), "can be released");
    const bill = JSON.parse(await Deno.readTextFile(file));
    assertEquals(await faults(bill), []);
    assert((await faults({ ...bill, components: [{ name: "without a type" }] })).length > 0);
    const { components } = bill as {
      readonly components: readonly Readonly<Record<string, unknown>>[];
    };
    const scope = (name: string) =>
      components.find((c) => c["name"] === name || `${c["group"]}/${c["name"]}` === name)?.["scope"];
    for (const name of ["xstate", "@kubernetes/client-node", "pg", "@aws-sdk/client-rds", "zod"]) {
      assertEquals(scope(name), "required", name);
    }
    for (const name of ["fast-check", "@cyclonedx/cyclonedx-library"]) {
      assertEquals(scope(name), "excluded", name);
    }
    const released = components.filter((c) => c["scope"] === "required" && c["type"] === "library");
    assertEquals(released.filter((c) => c["licenses"] === undefined).map((c) => c["name"]), []);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("the image's steps build from this folder with version and commit as labels, and ask the image for its version", () => {
  const plan = { name: "registry.example/edb", version: "1.2.3", revision: "abc" };
  for (const builder of ["docker", "podman"] as const) {
    const [build, ask, ...more] = imageSteps(builder, plan);
    assertEquals([build?.slice(0, 2), build?.at(-1), more], [[builder, "build"], ".", []]);
    assert(build?.includes("org.opencontainers.image.version=1.2.3"));
    assert(build?.includes("org.opencontainers.image.revision=abc"));
    assertEquals(ask?.slice(-2), ["registry.example/edb:1.2.3", "--version"]);
  }
  assertEquals(imageSteps("buildah", plan).map(([command, verb]) => `${command} ${verb}`), ["buildah bud"]);
});

Deno.test("what the Dockerfile runs finds its modules among the files that .dockerignore lets in", async () => {
  const allowed = (await read(".dockerignore")).split("\n").filter((line) => line.startsWith("!"))
    .map((line) => line.slice(1));
  const dockerfile = await read("Dockerfile");
  const programs = [...new Set(dockerfile.match(/\b(?:tools\/)?[a-z]+\.ts\b/g))];
  assertEquals(programs.toSorted(), ["main.ts", "tools/page.ts", "tools/std.ts"]);
  for (const program of programs) {
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", `--import-map=npm.import_map.json`, program],
      cwd: ROOT,
    }).output();
    assert(success);
    const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as { modules: { specifier: string }[] };
    const local = modules.map(({ specifier }) => specifier).filter((each) => each.startsWith(ROOT.href))
      .map((each) => each.slice(ROOT.href.length));
    assert(local.includes(program));
    assertEquals(
      local.filter((path) => !allowed.some((entry) => path === entry || path.startsWith(`${entry}/`))),
      [],
      `${program} needs files that the image's build does not have`,
    );
  }
});
