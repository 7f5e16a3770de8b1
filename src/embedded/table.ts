/**
 * Answers in the three forms that clients ask for: the object, a Table, its metadata alone.
 *
 * @module
 */
import { groupVersion, type Resource } from "./resource.ts";
import { notAcceptable } from "./status.ts";
import { isObject, type Json, type JsonObject, type KubeObject } from "./types.ts";

/** How a client wants an answer. */
export interface Form {
  readonly as: "object" | "table" | "partial";
  readonly yaml: boolean;
  /** What a Table's rows hold beside their cells. */
  readonly include: "Metadata" | "Object" | "None";
}

/** Picks the first form of an `Accept` header that can be made; throws 406. */
export function negotiate(accept: string | null, include: string | null): Form {
  const rows = include === "Object" || include === "None" ? include : "Metadata";
  for (const part of (accept ?? "").split(",")) {
    const [type, ...rest] = part.split(";").map((text) => text.trim());
    const params = Object.fromEntries(rest.map((text) => text.split("=", 2))) as Record<
      string,
      string | undefined
    >;
    const yaml = type === "application/yaml";
    if (!["", "*/*", "application/*", "application/json", "application/yaml"].includes(type ?? "")) continue;
    const as = params["as"];
    if (as === undefined) return { as: "object", yaml, include: rows };
    if (params["g"] !== "meta.k8s.io" || params["v"] !== "v1") continue;
    if (as === "Table") return { as: "table", yaml, include: rows };
    if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") {
      return { as: "partial", yaml, include: rows };
    }
  }
  throw notAcceptable();
}

const texts = new WeakMap<KubeObject, string>();

/** An object as JSON, made once per stored version. */
export function objectText(object: KubeObject): string {
  let text = texts.get(object);
  if (text === undefined) texts.set(object, text = JSON.stringify(object));
  return text;
}

/** The metadata alone. */
export function partial(object: JsonObject): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object["metadata"] ?? {} };
}

/** A Table without rows. */
export function tableHead(resource: Resource, metadata: JsonObject, columns = true): JsonObject {
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata,
    columnDefinitions: columns
      ? resource.columns.map(({ name, type, format = "", description = "", priority = 0 }) => ({
        name,
        type,
        format,
        description,
        priority,
      }))
      : null,
  };
}

/** One row. */
export function tableRow(resource: Resource, object: KubeObject, form: Form, nowMs: number): JsonObject {
  const shown: Json = form.include === "None"
    ? null
    : form.include === "Object"
    ? resource.fromStore(object)
    : partial(object);
  return { cells: resource.row(object, nowMs), object: shown };
}

/** One object in the form asked for, as JSON. */
export function formatObject(resource: Resource, object: KubeObject, form: Form, nowMs: number): string {
  if (form.as === "object") return objectText(resource.fromStore(object));
  if (form.as === "partial") return JSON.stringify(partial(object));
  const head = tableHead(resource, { resourceVersion: object.metadata.resourceVersion });
  return JSON.stringify({ ...head, rows: [tableRow(resource, object, form, nowMs)] });
}

/** A list in the form asked for, as JSON. */
export function formatList(
  resource: Resource,
  objects: readonly KubeObject[],
  metadata: JsonObject,
  form: Form,
  nowMs: number,
): string {
  if (form.as === "table") {
    const rows = objects.map((object) => tableRow(resource, object, form, nowMs));
    return JSON.stringify({ ...tableHead(resource, tidy(metadata)), rows });
  }
  if (form.as === "partial") {
    return JSON.stringify({
      kind: "PartialObjectMetadataList",
      apiVersion: "meta.k8s.io/v1",
      metadata: tidy(metadata),
      items: objects.map(partial),
    });
  }
  const items = objects.map((object) => objectText(resource.fromStore(object))).join(",");
  const head = `{"apiVersion":${JSON.stringify(groupVersion(resource))},"items":[`;
  const shown = resource.custom ? { continue: "", ...metadata } : tidy(metadata);
  return `${head}${items}],"kind":${JSON.stringify(resource.listKind)},"metadata":${JSON.stringify(shown)}}`;
}

function tidy(metadata: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => value !== "" && value !== undefined),
  );
}

/** Whether an answer is a stored object rather than a Status. */
export function isStoredObject(value: JsonObject): value is KubeObject {
  return isObject(value["metadata"]) && value["kind"] !== "Status";
}
