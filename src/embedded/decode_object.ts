/**
 * From a request's JSON to an object of a resource: kind and version checked, unknown fields dropped and told.
 *
 * @module
 */
import type { FieldValidation } from "./options.ts";
import { groupVersion, type Resource } from "./resource.ts";
import { applyDefaults, dropNulls, goMismatch, META_SCHEMA, prune } from "./schema/decode.ts";
import { formatFits } from "./schema/formats.ts";
import { badRequest, StatusError } from "./status.ts";
import { isObject, type Json, type JsonObject, type KubeObject, sortedText } from "./types.ts";

/** A decoded object with what is to be told about it. */
export interface Decoded {
  readonly object: KubeObject;
  readonly warnings: string[];
}

/** How a body came, for the wording of refusals. */
export interface DecodeOptions {
  readonly fieldValidation: FieldValidation;
  /** Paths that the body's text has twice. */
  readonly duplicates?: readonly string[];
  /** Set for a patched object: the refusal shows the whole of it. */
  readonly patched?: boolean;
}

/** Decodes a JSON value, changing it in place. Throws 400, or 422 for a strict patch. */
export function decodeObject(resource: Resource, value: Json, options: DecodeOptions): Decoded {
  const gv = groupVersion(resource);
  if (!isObject(value)) {
    throw unrecognised(resource, `json: cannot unmarshal into an object`, JSON.stringify(value));
  }
  checkKind(resource, value, gv, options.patched === true);
  const { kind, version } = resource;
  const strict = options.fieldValidation === "Strict";
  const whole = options.patched === true && strict ? sortedText(value) : "";
  const named = typeof value["kind"] === "string" ? value["kind"] : kind;
  const refuse = (why: string, as = kind) =>
    options.patched === true
      ? patchRefused(whole || sortedText(value), why)
      : badRequest(`${named} in version "${version}" cannot be handled as a ${as}: ${why}`);
  const struct = resource.custom ? undefined : goMismatch(withoutMeta(value), resource.schema, kind);
  const mismatch = struct ?? goMismatch(value["metadata"], META_SCHEMA, "ObjectMeta") ??
    badTime(value["metadata"]) ?? resource.malformed(value);
  if (mismatch !== undefined) throw refuse(mismatch);
  value["metadata"] ??= {};
  const unknown: string[] = [];
  // An object that calls itself of another kind has no schema that says what it may hold.
  if (!resource.custom || value["kind"] === kind) prune(value, resource.schema, "", unknown);
  else prune(value["metadata"], META_SCHEMA, "metadata", unknown);
  const problems = [
    ...(options.duplicates ?? []).map((path) => `duplicate field "${path}"`),
    ...unknown.sort().map((path) => `unknown field "${path}"`),
  ];
  if (problems.length > 0 && strict) {
    throw refuse(`strict decoding error: ${problems.join(", ")}`, named);
  }
  dropNulls(value, resource.schema);
  if (resource.custom) applyDefaults(value, resource.schema);
  const object = value as unknown as KubeObject;
  object.metadata.name ??= "";
  return { object, warnings: options.fieldValidation === "Warn" ? problems : [] };
}

/** What Go's decoder says of a time in the metadata that is none. */
function badTime(meta: Json | undefined): string | undefined {
  if (!isObject(meta)) return undefined;
  for (const key of ["creationTimestamp", "deletionTimestamp"]) {
    const text = meta[key];
    if (typeof text !== "string" || formatFits("date-time", text)) continue;
    return `parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05Z07:00": cannot parse ${
      JSON.stringify(text)
    } as "2006"`;
  }
  return undefined;
}

function withoutMeta(value: JsonObject): JsonObject {
  const { metadata: _, ...rest } = value;
  return rest;
}

/** 422 for a patch whose result cannot be decoded: the refusal shows the whole of it. */
export function patchRefused(patched: string, why: string): StatusError {
  const message = `Invalid value: ${JSON.stringify(patched)}: ${why}`;
  return new StatusError({
    code: 422,
    reason: "Invalid",
    message: ` "" is invalid: patch: ${message}`,
    details: { causes: [{ reason: "FieldValueInvalid", message, field: "patch" }] },
  });
}

/** 400 for a body that is no object of any kind. */
export function unrecognised(resource: Resource, why: string, body: string): StatusError {
  const shown = body === "" ? "<empty>" : body.length > 30 ? `${body.slice(0, 30)} ...` : body;
  return badRequest(
    `the object provided is unrecognized (must be of type ${resource.kind}): ${why} (${shown})`,
  );
}

function checkKind(resource: Resource, value: JsonObject, gv: string, patched: boolean): void {
  const { kind, custom } = resource;
  if (patched) return; // a patch that changes them is refused by validation
  if (custom && (value["kind"] === undefined || value["kind"] === "")) {
    const text = JSON.stringify(value);
    throw unrecognised(resource, `Object 'Kind' is missing in '${text}'`, text);
  }
  const apiVersion = value["apiVersion"] ??= gv;
  const found = value["kind"] ??= kind;
  if (!custom && found !== kind) {
    const [version, internal] = [
      resource.version,
      resource.group === "" ? "core" : resource.group.split(".")[0],
    ];
    throw badRequest(
      `${found} in version "${version}" cannot be handled as a ${kind}: converting (${version}.${found}) to (${internal}.${kind}): unknown conversion`,
    );
  }
  if (apiVersion !== gv) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${gv})`,
    );
  }
}
