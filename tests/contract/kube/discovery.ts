/** Contract: discovery and what kubectl reads of OpenAPI. @module */
import { assert, assertEquals } from "@std/assert";
import type { Session } from "./session.ts";
import type { ContractTests } from "./suite.ts";
import type { Manifest } from "./widget_crd.ts";

const AGGREGATED =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/** Resources that both servers have, without what only one of them knows. */
function shared(list: Manifest): unknown {
  const names = ["namespaces", "configmaps", "secrets", "events"];
  return list.resources.filter((item: Manifest) => names.includes(item.name))
    .map(({ storageVersionHash: _h, categories: _c, ...rest }: Manifest) => rest)
    .sort((a: Manifest, b: Manifest) => a.name < b.name ? -1 : 1);
}

export const discoveryTests: ContractTests = {
  "Groups, versions and resources are told": async (s: Session) => {
    await s.call("versions of the core", "GET", "/api", {
      pick: (b) => ({ kind: b.kind, versions: b.versions }),
    });
    await s.call("core resources", "GET", "/api/v1", { pick: shared });
    await s.call("group", "GET", `/apis/${s.group}`);
    await s.call("group version", "GET", `/apis/${s.group}/v1`, {
      pick: (b) => ({
        ...b,
        resources: b.resources.map(({ storageVersionHash: _, ...rest }: Manifest) => rest),
      }),
    });
    await s.call("unknown group", "GET", "/apis/none.example.com/v1");
    await s.call("unknown group alone", "GET", "/apis/none.example.com");
    await s.call("unknown resource", "GET", `/apis/${s.group}/v1/gadgets`);
    await s.call("unknown core resource", "GET", "/api/v1/gadgets");
    await s.call("unknown path", "GET", "/nothing");
    await s.call("ready", "GET", "/readyz");
  },
  "Aggregated discovery is given when asked for": async (s: Session) => {
    const headers = { accept: AGGREGATED };
    await s.call("groups", "GET", "/apis", {
      headers,
      pick: (b) => ({ ...b, items: b.items.filter((item: Manifest) => item.metadata.name === s.group) }),
    });
    const core = await s.quiet("GET", "/api", { headers });
    assertEquals(core.body.kind, "APIGroupDiscoveryList");
    assertEquals(
      core.headers.get("content-type"),
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    );
  },
  "OpenAPI names kinds and says that fields are validated by the server": async (s: Session) => {
    const index = await s.until("/openapi/v3", ({ body }) => body.paths[`apis/${s.group}/v1`] !== undefined);
    const at = index.body.paths[`apis/${s.group}/v1`].serverRelativeURL;
    assert(typeof at === "string", "the group version has no document");
    const { body } = await s.quiet("GET", at);
    const patch = body.paths[`/apis/${s.group}/v1/namespaces/{namespace}/widgets/{name}`].patch;
    assertEquals(patch["x-kubernetes-group-version-kind"], { group: s.group, version: "v1", kind: "Widget" });
    assert(patch.parameters.some((item: Manifest) => item.name === "fieldValidation" && item.in === "query"));
    const schema: Manifest = Object.values(body.components.schemas).find((item: Manifest) =>
      item["x-kubernetes-group-version-kind"]?.[0]?.kind === "Widget"
    );
    assertEquals(schema.properties.spec.properties.size.description, "How big.");
  },
};
