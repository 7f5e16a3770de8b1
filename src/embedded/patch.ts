/**
 * The three ways to patch besides server-side apply: JSON patch, merge patch, strategic merge patch.
 *
 * @module
 */
import fastJsonPatch, { type Operation } from "fast-json-patch";
import { cloneJson, setMember } from "./schema/decode.ts";
import { itemElement } from "./fieldset.ts";
import { badRequest, StatusError } from "./status.ts";
import { isObject, type Json, jsonEqual, type JsonObject, type KubeObject, type Schema } from "./types.ts";

/** Content types of patches, in the order in which the server names them. */
export const PATCH_TYPE = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** What the server says of every JSON patch that cannot be carried out, a failed `test` among them. */
function rejected(): StatusError {
  return new StatusError({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: {},
  });
}

function parsePatch(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw badRequest("invalid JSON patch");
  }
}

/** Applies a JSON patch (RFC 6902). The server's library lets `replace` add what is missing. */
export function applyJsonPatch(object: KubeObject, text: string): KubeObject {
  const patch = parsePatch(text);
  if (!Array.isArray(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${
        goName(patch)
      } into Go value of type []handlers.jsonPatchOp`,
    );
  }
  let document: unknown = cloneJson(object);
  for (const item of patch) {
    if (!isObject(item)) throw rejected();
    try {
      if (item["op"] === "test") {
        // The server's library takes what is not there for null.
        const found = read(document as Json, String(item["path"])) ?? null;
        if (!jsonEqual(found, item["value"] ?? null)) throw rejected();
        continue;
      }
      const lenient = item["op"] === "replace" && read(document as Json, String(item["path"])) === undefined;
      const operation = lenient ? { ...item, op: "add" } : item;
      document =
        fastJsonPatch.applyOperation(document, operation as unknown as Operation, true, true).newDocument;
    } catch {
      throw rejected(); // whatever went wrong, the server tells only this
    }
  }
  return document as KubeObject;
}

/** The value at a JSON pointer; `undefined` where there is none. */
function read(document: Json, pointer: string): Json | undefined {
  let value: Json | undefined = document;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = value[Number(key)];
    else if (isObject(value)) value = value[key];
    else return undefined;
  }
  return value;
}

function goName(value: Json): string {
  return Array.isArray(value)
    ? "array"
    : isObject(value)
    ? "object"
    : typeof value === "boolean"
    ? "bool"
    : typeof value;
}

function parseObjectPatch(text: string): JsonObject {
  const patch = parsePatch(text);
  if (isObject(patch)) return patch;
  throw badRequest(
    `error decoding patch: json: cannot unmarshal ${
      goName(patch)
    } into Go value of type map[string]interface {}`,
  );
}

/** Applies a merge patch (RFC 7386). */
export function applyMergePatch(object: KubeObject, text: string): KubeObject {
  return merged(object, parseObjectPatch(text)) as unknown as KubeObject;
}

/** RFC 7386, section 2. */
function merged(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return cloneJson(patch);
  const out: JsonObject = isObject(target) ? cloneJson(target) : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete out[key];
    else setMember(out, key, merged(Object.hasOwn(out, key) ? out[key] : undefined, value));
  }
  return out;
}

/** Applies a strategic merge patch: lists that have keys are merged, `$patch` and `$retainKeys` are obeyed. */
export function applyStrategicPatch(object: KubeObject, text: string, schema: Schema): KubeObject {
  return strategic(cloneJson(object), parseObjectPatch(text), schema) as KubeObject;
}

function strategic(target: Json | undefined, patch: JsonObject, schema: Schema | undefined): JsonObject {
  if (patch["$patch"] === "replace") return withoutDirectives(patch);
  const out: JsonObject = isObject(target) ? { ...target } : {};
  const retain = patch["$retainKeys"];
  if (Array.isArray(retain)) {
    for (const key of Object.keys(out)) {
      if (!retain.includes(key)) delete out[key];
    }
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith("$deleteFromPrimitiveList/")) {
      const name = key.slice("$deleteFromPrimitiveList/".length);
      const list = out[name];
      if (Array.isArray(list) && Array.isArray(value)) {
        out[name] = list.filter((item) => !value.some((gone) => jsonEqual(gone, item)));
      }
    }
    if (key.startsWith("$")) continue;
    const own = schema?.properties?.[key] ??
      (isObject(schema?.additionalProperties) ? schema.additionalProperties as Schema : undefined);
    if (value === null || value === undefined) delete out[key];
    else if (isObject(value) && value["$patch"] === "delete") delete out[key];
    else if (isObject(value)) out[key] = strategic(out[key], value, own);
    else if (Array.isArray(value) && own !== undefined) out[key] = strategicList(out[key], value, own);
    else out[key] = value;
  }
  return out;
}

function strategicList(target: Json | undefined, patch: Json[], schema: Schema): Json[] {
  const type = schema["x-kubernetes-list-type"];
  if ((type !== "map" && type !== "set") || !Array.isArray(target)) return patch;
  const out = [...target];
  for (const item of patch) {
    const index = out.findIndex((other) => itemElement(other, schema) === itemElement(item, schema));
    if (isObject(item) && item["$patch"] === "delete") {
      if (index >= 0) out.splice(index, 1);
    } else if (index < 0) out.push(item);
    else if (isObject(item)) out[index] = strategic(out[index], item, schema.items);
  }
  return out;
}

function withoutDirectives(patch: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith("$")));
}
