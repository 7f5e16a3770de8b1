/**
 * Discovery: which groups, versions and resources there are, in the plain and the aggregated form.
 *
 * @module
 */
import type { Registry } from "./context.ts";
import { groupVersion, type Resource } from "./resource.ts";
import type { JsonObject } from "./types.ts";

/** What `/version` answers: the version that the answers are modelled on. */
export const VERSION: JsonObject = {
  major: "1",
  minor: "37",
  gitVersion: "v1.37.2+embedded",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "embedded",
};

/** Media type of aggregated discovery. */
export const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const BUILT_IN_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const STATUS_VERBS = ["get", "patch", "update"];

function verbsOf(resource: Resource): string[] {
  if (resource.custom) return CUSTOM_VERBS;
  return resource.storage === "/namespaces"
    ? BUILT_IN_VERBS.filter((verb) => verb !== "deletecollection")
    : BUILT_IN_VERBS;
}

/** Whether an `Accept` header asks for the aggregated form. */
export function wantsAggregated(accept: string | null): boolean {
  return /as=APIGroupDiscoveryList/.test(accept ?? "") && /v=v2(?!\w)/.test(accept ?? "");
}

/** Named groups in the order in which they came, each with its versions. */
function groups(registry: Registry): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { group, version } of registry.all()) {
    if (group === "") continue;
    const versions = found.get(group) ?? [];
    if (!versions.includes(version)) versions.push(version);
    found.set(group, versions);
  }
  return found;
}

function groupBody(name: string, versions: readonly string[]): JsonObject {
  const list = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: list, preferredVersion: list[0]! };
}

/** `/api`. */
export function coreVersions(address: string): JsonObject {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
  };
}

/** `/apis`. */
export function groupList(registry: Registry): JsonObject {
  const list = [...groups(registry)].map(([name, versions]) => groupBody(name, versions));
  return { kind: "APIGroupList", apiVersion: "v1", groups: list };
}

/** `/apis/GROUP`; `undefined` where there is none. */
export function oneGroup(registry: Registry, name: string): JsonObject | undefined {
  const versions = groups(registry).get(name);
  return versions && { kind: "APIGroup", apiVersion: "v1", ...groupBody(name, versions) };
}

/** `/api/v1`, `/apis/GROUP/VERSION`. */
export function resourceList(registry: Registry, gv: string): JsonObject {
  const resources = registry.all().filter((resource) => groupVersion(resource) === gv).flatMap((resource) => {
    const own: JsonObject = {
      name: resource.plural,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: verbsOf(resource),
      ...(resource.shortNames.length > 0 ? { shortNames: [...resource.shortNames] } : {}),
      ...(resource.categories.length > 0 ? { categories: [...resource.categories] } : {}),
    };
    const status: JsonObject = {
      name: `${resource.plural}/status`,
      singularName: "",
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: STATUS_VERBS,
    };
    return resource.hasStatus ? [own, status] : [own];
  });
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion: gv, resources };
}

function aggregatedResource(resource: Resource): JsonObject {
  const { group, version, kind } = resource;
  const responseKind = { group, version, kind };
  return {
    resource: resource.plural,
    responseKind,
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: resource.singular,
    verbs: verbsOf(resource),
    ...(resource.shortNames.length > 0 ? { shortNames: [...resource.shortNames] } : {}),
    ...(resource.categories.length > 0 ? { categories: [...resource.categories] } : {}),
    ...(resource.hasStatus
      ? { subresources: [{ subresource: "status", responseKind, verbs: STATUS_VERBS }] }
      : {}),
  };
}

/** Aggregated discovery of `/api` (`core`) or `/apis`. */
export function aggregated(registry: Registry, core: boolean): JsonObject {
  const names: [string, string[]][] = core ? [["", ["v1"]]] : [...groups(registry)];
  const items = names.map(([name, versions]) => ({
    metadata: name === "" ? {} : { name },
    versions: versions.map((version) => ({
      version,
      resources: registry.all().filter((resource) => resource.group === name && resource.version === version)
        .map(aggregatedResource),
      freshness: "Current",
    })),
  }));
  return { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
}
