/**
 * Validation of an object that is about to be stored: metadata, schema, rules, the kind's own checks.
 *
 * @module
 */
import { attributeErrors, metaErrors, metaUpdateErrors } from "./names.ts";
import { groupVersion, type Resource } from "./resource.ts";
import { runRules } from "./schema/cel.ts";
import { blocks, listErrors, RULES_SKIPPED, validate } from "./schema/validate.ts";
import { type FieldError, invalid, invalidValue, StatusError } from "./status.ts";
import type { Json, KubeObject } from "./types.ts";

/** Validates an object, of which an update of `subresource` changes that part alone; returns warnings, throws 422. */
export function check(
  resource: Resource,
  next: KubeObject,
  old: KubeObject | undefined,
  subresource = "",
): string[] {
  const warnings: string[] = [];
  const errors: FieldError[] = [];
  const gv = groupVersion(resource);
  const misnamed = resource.custom && (next.kind !== resource.kind || next.apiVersion !== gv);
  if (misnamed) {
    if (next.kind !== resource.kind) errors.push(invalidValue("kind", next.kind, `must be ${resource.kind}`));
    if (next.apiVersion !== gv) errors.push(invalidValue("apiVersion", next.apiVersion, `must be ${gv}`));
  } else {
    errors.push(...metaErrors(next.metadata, resource.nameErrors));
    if (old !== undefined) {
      const update = metaUpdateErrors(next.metadata, old.metadata);
      errors.push(...update);
      if (resource.custom) {
        // The server checks a custom resource's metadata twice more, each time with what it bears.
        const borne = attributeErrors(next.metadata);
        errors.push(...borne, ...update, ...borne);
      }
    }
  }
  if (resource.custom) {
    const { schema } = resource;
    if (!misnamed) {
      errors.push(
        ...subresource === "status" ? statusErrors(resource, next, old) : validate(next, schema, "", old),
      );
    }
    if (old === undefined || listErrors(old as unknown as Json, schema, "").length === 0) {
      errors.push(...listErrors(next as unknown as Json, schema, ""));
    }
    if (blocks(errors)) errors.push(RULES_SKIPPED);
    else {
      const rules = runRules(next, old, resource.schema);
      errors.push(...rules.errors);
      warnings.push(...rules.warnings);
    }
  } else errors.push(...resource.validate(next, old));
  if (errors.length > 0) {
    const refusal = misnamed
      ? invalid(groupOf(next.apiVersion), next.kind, next.metadata.name, errors)
      : invalid(resource.errorGroup, resource.kind, next.metadata.name, errors);
    throw warnings.length === 0
      ? refusal
      : new StatusError({ ...refusal.parts, headers: { warning: warningHeader(warnings) } });
  }
  return warnings;
}

/** A status is validated as a whole of its own: messages name fields from there, and `field` from the root. */
function statusErrors(resource: Resource, next: KubeObject, old: KubeObject | undefined): FieldError[] {
  const schema = resource.schema.properties?.["status"];
  if (schema === undefined || next["status"] === undefined) return [];
  return validate(next["status"], schema, "", old?.["status"]).map((error) => ({
    ...error,
    field: error.field === "<nil>" ? "status" : `status.${error.field}`,
  }));
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.split("/")[0]! : "";
}

/** Warnings as the header carries them (RFC 7234, code 299). */
export function warningHeader(warnings: readonly string[]): string {
  return warnings.map((text) => `299 - "${text.replace(/[\\"]/g, "\\$&")}"`).join(", ");
}
