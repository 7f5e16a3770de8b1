/**
 * The bill of materials of a release: CycloneDX 1.6 as JSON, every npm package of `deno.lock` with its digest, and Deno
 * itself. The same lock makes the same text: it holds no time and no random number.
 *
 * @module
 */
import { Enums, Models, Serialize, SPDX, Spec } from "@cyclonedx/cyclonedx-library";
import type { Loaded } from "./graph.ts";
import type { Lock, LockedPackage } from "./lock.ts";

/** What a bill is made from. */
export interface SbomInput {
  readonly version: string;
  readonly denoVersion: string;
  readonly lock: Lock;
  readonly loaded: Pick<Loaded, "keys">;
  /** The `license` of a package's own package.json, where it is known. */
  readonly licence: (key: string) => string | undefined;
}

/** Package URL of an npm package (https://github.com/package-url/purl-spec). */
export function purlOf({ name, version }: Pick<LockedPackage, "name" | "version">): string {
  const path = name.split("/").map(encodeURIComponent).join("/");
  return `pkg:npm/${path}@${encodeURIComponent(version)}`;
}

/** An identifier of SPDX, an expression of such, or whatever words a package has for it. */
function licenceOf(text: string): Models.License {
  if (SPDX.isSupportedSpdxId(text)) return new Models.SpdxLicense(text);
  return / (?:AND|OR|WITH) /.test(text) ? new Models.LicenseExpression(text) : new Models.NamedLicense(text);
}

function component(locked: LockedPackage, input: SbomInput): Models.Component {
  const { key, name, version, integrity } = locked;
  const [, group, plain] = /^(?:(@[^/]+)\/)?(.+)$/.exec(name) ?? [];
  const [algorithm, digest] = integrity.split("-", 2) as [string, string];
  if (algorithm !== "sha512") {
    throw new Error(`"${key}" has a digest of ${algorithm}, which is not known here`);
  }
  const licence = input.licence(key);
  return new Models.Component(Enums.ComponentType.Library, plain ?? name, {
    ...(group === undefined ? {} : { group }),
    version,
    bomRef: key,
    purl: purlOf(locked),
    hashes: new Models.HashDictionary([[
      Enums.HashAlgorithm["SHA-512"],
      hex(Uint8Array.from(atob(digest), (c) => c.charCodeAt(0))),
    ]]),
    // Excluded: of tests and tools, and not in what is released.
    scope: input.loaded.keys.has(key) ? Enums.ComponentScope.Required : Enums.ComponentScope.Excluded,
    ...(licence === undefined ? {} : { licenses: new Models.LicenseRepository([licenceOf(licence)]) }),
  });
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The text of the bill. Throws an Error where a digest is of a kind that it does not know. */
export async function sbom(input: SbomInput): Promise<string> {
  const { version, denoVersion, lock } = input;
  const made = new Map(lock.packages.map((locked) => [locked.key, component(locked, input)]));
  const runtime = new Models.Component(Enums.ComponentType.Platform, "deno", {
    version: denoVersion,
    bomRef: `deno@${denoVersion}`,
    purl: `pkg:github/denoland/deno@v${denoVersion}`,
    scope: Enums.ComponentScope.Required,
  });
  for (const { key, dependencies } of lock.packages) {
    for (const needed of dependencies) made.get(key)!.dependencies.add(made.get(needed)!.bomRef);
  }
  const subject = new Models.Component(Enums.ComponentType.Application, "externaldatabase-operator", {
    version,
    bomRef: `externaldatabase-operator@${version}`,
    licenses: new Models.LicenseRepository([licenceOf("Apache-2.0")]),
  });
  for (const root of lock.roots) subject.dependencies.add(made.get(root)!.bomRef);
  subject.dependencies.add(runtime.bomRef);
  const bom = new Models.Bom({
    serialNumber: `urn:uuid:${await uuidOf(`${version} ${denoVersion} ${JSON.stringify(lock)}`)}`,
    metadata: new Models.Metadata({ component: subject }),
    components: new Models.ComponentRepository([runtime, ...made.values()]),
  });
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

/** A UUID of version 8 that a text decides (RFC 9562). */
async function uuidOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const digest = new Uint8Array(hash, 0, 16);
  digest[6] = digest[6]! & 0x0f | 0x80;
  digest[8] = digest[8]! & 0x3f | 0x80;
  return hex(digest).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
