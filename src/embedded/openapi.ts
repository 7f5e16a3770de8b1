/**
 * OpenAPI v3, as far as kubectl reads it: `explain`, and whether the server validates fields by itself.
 *
 * @module
 */
import type { Registry } from "./context.ts";
import { groupVersion, type Resource } from "./resource.ts";
import { isObject, type Json, type JsonObject } from "./types.ts";

/** `/openapi/v3`: where each group version's document is. */
export function openApiIndex(registry: Registry): JsonObject {
  const paths: JsonObject = {};
  for (const resource of registry.all()) {
    const at = base(resource).slice(1);
    paths[at] = { serverRelativeURL: `/openapi/v3/${at}` };
  }
  return { paths };
}

function base(resource: Resource): string {
  return resource.group === "" ? "/api/v1" : `/apis/${groupVersion(resource)}`;
}

function schemaName(resource: Resource): string {
  const reversed = resource.group === "" ? "io.k8s.api.core" : resource.group.split(".").reverse().join(".");
  return `${reversed}.${resource.version}.${resource.kind}`;
}

const META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const TEXT = { type: "string" };
const TEXTS = { type: "object", additionalProperties: TEXT };

const META_SCHEMA: JsonObject = {
  type: "object",
  description:
    "ObjectMeta is metadata that all persisted resources must have, which includes all objects users must create.",
  properties: {
    annotations: {
      ...TEXTS,
      description: "Annotations is an unstructured key value map stored with a resource.",
    },
    creationTimestamp: { ...TEXT, format: "date-time", description: "When this object was created." },
    deletionGracePeriodSeconds: { type: "integer", format: "int64" },
    deletionTimestamp: { ...TEXT, format: "date-time", description: "When this object will be deleted." },
    finalizers: { type: "array", items: TEXT, description: "Must be empty before the object is deleted." },
    generateName: { ...TEXT, description: "An optional prefix used to generate a unique name." },
    generation: { type: "integer", format: "int64", description: "A sequence number of the desired state." },
    labels: { ...TEXTS, description: "Map of string keys and values by which objects are selected." },
    managedFields: { type: "array", items: { type: "object" } },
    name: { ...TEXT, description: "Name must be unique within a namespace." },
    namespace: { ...TEXT, description: "The space within which each name must be unique." },
    ownerReferences: { type: "array", items: { type: "object" } },
    resourceVersion: { ...TEXT, description: "The internal version of this object." },
    selfLink: TEXT,
    uid: { ...TEXT, description: "The unique in time and space value for this object." },
  },
};

/** A copy without cycles: a schema inside itself is any object. */
function acyclic(value: Json | undefined, around: readonly unknown[] = []): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => acyclic(item, around)!);
  if (!isObject(value)) return value;
  if (around.includes(value)) return { type: "object" };
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, acyclic(item, [...around, value])]),
  );
}

function kindSchema(resource: Resource): JsonObject {
  const { group, version, kind, schema } = resource;
  const { properties = {}, ...rest } = acyclic(schema as JsonObject) as JsonObject & {
    properties?: JsonObject;
  };
  return {
    ...rest,
    type: "object",
    properties: {
      ...properties,
      apiVersion: {
        ...TEXT,
        description: "APIVersion defines the versioned schema of this representation of an object.",
      },
      kind: {
        ...TEXT,
        description: "Kind is a string value representing the REST resource this object represents.",
      },
      metadata: {
        description: "Standard object's metadata.",
        allOf: [{ $ref: `#/components/schemas/${META}` }],
        default: {},
      },
    },
    "x-kubernetes-group-version-kind": [{ group, version, kind }],
  };
}

function parameter(name: string): Json {
  return { name, in: "query", schema: { type: "string", uniqueItems: true } };
}

function operation(resource: Resource, action: string, types: readonly string[]): JsonObject {
  const { group, version, kind } = resource;
  const write = action === "post" || action === "put" || action === "patch";
  const schema = { $ref: `#/components/schemas/${schemaName(resource)}` };
  const content = Object.fromEntries(types.map((type) => [type, { schema }]));
  return {
    parameters: write ? ["dryRun", "fieldManager", "fieldValidation"].map(parameter) : [],
    ...(write ? { requestBody: { content, required: true } } : {}),
    responses: { "200": { description: "OK", content: { "application/json": { schema } } } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group, version, kind },
  };
}

function pathItems(resource: Resource): JsonObject {
  const root = `${base(resource)}/${resource.namespaced ? "namespaces/{namespace}/" : ""}${resource.plural}`;
  const json = ["application/json"];
  const patches = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    ...(resource.custom ? [] : ["application/strategic-merge-patch+json"]),
  ];
  return {
    [root]: { get: operation(resource, "list", json), post: operation(resource, "post", json) },
    [`${root}/{name}`]: {
      get: operation(resource, "get", json),
      put: operation(resource, "put", json),
      patch: operation(resource, "patch", patches),
      delete: operation(resource, "delete", json),
    },
  };
}

/** The document of one group version, such as `v1` or `apps/v1`. */
export function openApiDocument(registry: Registry, gv: string): JsonObject {
  const resources = registry.all().filter((resource) => groupVersion(resource) === gv);
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "v1.37.2" },
    paths: Object.assign({}, ...resources.map(pathItems)) as JsonObject,
    components: {
      schemas: {
        [META]: META_SCHEMA,
        ...Object.fromEntries(resources.map((resource) => [schemaName(resource), kindSchema(resource)])),
      },
    },
  };
}
