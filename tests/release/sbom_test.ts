/** The bill of materials lists all that deno.lock has and nothing else, and is what CycloneDX takes. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { parseGraph } from "../../tools/release/graph.ts";
import { parseLock } from "../../tools/release/lock.ts";
import { purlOf, sbom } from "../../tools/release/sbom.ts";

const text = await Deno.readTextFile(new URL("../../deno.lock", import.meta.url));
const lock = parseLock(text);
const input = {
  version: "1.2.3",
  denoVersion: "2.9.6",
  lock,
  loaded: { keys: new Set(["zod@4.6.7"]) },
  licence: (key: string) =>
    key.startsWith("zod@") ? "MIT" : key.startsWith("pg@") ? "(MIT OR ISC)" : undefined,
};

// deno-lint-ignore no-explicit-any
type Any = any;

Deno.test("every package of deno.lock is in the bill once, with its digest and what it needs, and nothing else is", async () => {
  const raw = JSON.parse(text).npm as Record<string, Any>;
  const bom = JSON.parse(await sbom(input));
  const libraries = bom.components.filter(({ type }: Any) => type === "library");
  assertEquals(libraries.map((c: Any) => c["bom-ref"]).toSorted(), Object.keys(raw).toSorted());
  for (const { "bom-ref": ref, hashes, purl, group, name, version } of libraries) {
    assertEquals(hashes, [{ alg: "SHA-512", content: hashes[0].content }]);
    const bytes = Uint8Array.from(hashes[0].content.match(/../g), (pair: string) => parseInt(pair, 16));
    assertEquals(`sha512-${btoa(String.fromCharCode(...bytes))}`, raw[ref].integrity, ref);
    const full = group === undefined ? name : `${group}/${name}`;
    assert(ref.startsWith(`${full}@${version}`), ref);
    assertEquals(purl, `pkg:npm/${full.replace("@", "%40")}@${version}`);
  }
  const needs = new Map(bom.dependencies.map((d: Any) => [d.ref, d.dependsOn ?? []]));
  for (const [key, { dependencies = [], optionalDependencies = [] }] of Object.entries(raw)) {
    const wanted = [...new Set([...dependencies, ...optionalDependencies])];
    const said = needs.get(key) as string[];
    assertEquals(said.length, wanted.length, key);
    for (const word of wanted) {
      assert(said.some((ref) => ref === word || ref.startsWith(`${word}@`)), `${key}: ${word}`);
    }
  }
  const subject = bom.metadata.component;
  assertEquals([subject.type, subject.version, subject.licenses], [
    ...["application", "1.2.3"],
    [{ license: { id: "Apache-2.0" } }],
  ]);
  const roots = JSON.parse(text).workspace.dependencies.filter((s: string) => s.startsWith("npm:"));
  assertEquals((needs.get(subject["bom-ref"]) as string[]).length, roots.length + 1, "and Deno itself");
});

Deno.test("the bill tells what is released from what is for tests, and takes licences of each form", async () => {
  const bom = JSON.parse(await sbom(input));
  const by = (prefix: string) => bom.components.find((c: Any) => c["bom-ref"].startsWith(prefix));
  assertEquals([by("zod@").scope, by("fast-check@").scope, by("deno@").scope], [
    ...["required", "excluded", "required"],
  ]);
  assertEquals(by("zod@").licenses, [{ license: { id: "MIT" } }]);
  assertEquals(by("pg@").licenses, [{ expression: "(MIT OR ISC)" }]);
  assertEquals(by("fast-check@").licenses, undefined);
});

Deno.test("the same lock makes the same text, another lock another serial number", async () => {
  assertEquals(await sbom(input), await sbom(input));
  const fewer = {
    ...lock,
    packages: lock.packages.filter(({ dependencies }) => dependencies.length === 0),
    roots: [],
  };
  const serial = async (made: Promise<string>) => JSON.parse(await made).serialNumber;
  const [one, other] = [await serial(sbom(input)), await serial(sbom({ ...input, lock: fewer }))];
  assert(one !== other);
  assert(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(one), one);
});

Deno.test("a lock that is not understood is refused, rather than listed in part", () => {
  const one = { integrity: "sha512-AA==" };
  for (
    const [npm, words] of [
      [{ "a@1.0.0": {} }, "has no digest"],
      [{ "a@1.0.0": { ...one, dependencies: ["b"] } }, '"b", which a@1.0.0 needs'],
      [{ "a@1.0.0": { ...one, dependencies: ["b"] }, "b@1.0.0": one, "b@2.0.0": one }, "is not one package"],
      [{ "nonsense": one }, "is not a package's key"],
    ] as const
  ) {
    assertThrows(() => parseLock(JSON.stringify({ version: "5", specifiers: {}, npm })), Error, words);
  }
  assertThrows(() => parseLock('{"version":"6","specifiers":{}}'), Error, "its format is 6");
  const alias = parseLock(JSON.stringify({
    version: "5",
    specifiers: { "npm:@s/a@1": "1.0.0_b@2.0.0" },
    npm: {
      "@s/a@1.0.0_b@2.0.0": { ...one, dependencies: ["b@2.0.0"], optionalDependencies: ["c@npm:b@1.0.0"] },
      "b@1.0.0": one,
      "b@2.0.0": one,
    },
    workspace: { dependencies: ["jsr:@std/assert@1", "npm:@s/a@1"] },
  }));
  assertEquals(alias.roots, ["@s/a@1.0.0_b@2.0.0"]);
  assertEquals(alias.packages[0]?.dependencies, ["b@2.0.0", "b@1.0.0"]);
  assertEquals(purlOf(alias.packages[0]!), "pkg:npm/%40s/a@1.0.0");
});

Deno.test("what main.ts loads is followed through what its packages need", () => {
  const { keys, folders } = parseGraph(JSON.stringify({
    modules: [{ kind: "esm" }, { kind: "npm", npmPackage: "a@1.0.0" }],
    npmPackages: {
      "a@1.0.0": { dependencies: ["b@1.0.0"], localPath: "/cache/a" },
      "b@1.0.0": { dependencies: ["a@1.0.0"] },
      "c@1.0.0": { dependencies: [] },
    },
  }));
  assertEquals([...keys].toSorted(), ["a@1.0.0", "b@1.0.0"]);
  assertEquals([...folders], [["a@1.0.0", "/cache/a"]]);
});

Deno.test("deno.lock holds what deno.json names, what that needs, and the copy of JSR's packages; a tool's own library would be in every image", () => {
  const { specifiers, workspace } = JSON.parse(text) as {
    specifiers: Record<string, string>;
    workspace: { dependencies: string[] };
  };
  const unnamed = Object.keys(specifiers).filter((name) => !workspace.dependencies.includes(name));
  assertEquals(unnamed.filter((name) => !/^npm:deno-std@|^jsr:/.test(name)), []);
  const packages = new Map(lock.packages.map((one) => [one.key, one.dependencies]));
  const needed = new Set<string>();
  const need = (key: string) => {
    if (needed.has(key)) return;
    needed.add(key);
    packages.get(key)?.forEach(need);
  };
  [...lock.roots, ...lock.packages.map(({ key }) => key).filter((key) => key.startsWith("deno-std@"))]
    .forEach(need);
  assertEquals([...packages.keys()].filter((key) => !needed.has(key)), []);
});
