/**
 * Validation of an object that is about to be stored: metadata, schema, rules, the kind's own checks.
 *
 * @module
 */
import { metaErrors, metaUpdateErrors } from "./names.ts";
import { groupVersion, type Resource } from "./resource.ts";
import { runRules } from "./schema/cel.ts";
import { blocks, RULES_SKIPPED, validate } from "./schema/validate.ts";
import { type FieldError, invalid, invalidValue, StatusError } from "./status.ts";
import type { KubeObject } from "./types.ts";

/** Validates an object; returns warnings, throws 422. */
export function check(resource: Resource, next: KubeObject, old: KubeObject | undefined): string[] {
  const warnings: string[] = [];
  const errors: FieldError[] = [];
  if (resource.custom) {
    const gv = groupVersion(resource);
    if (next.kind !== resource.kind) errors.push(invalidValue("kind", next.kind, `must be ${resource.kind}`));
    if (next.apiVersion !== gv) errors.push(invalidValue("apiVersion", next.apiVersion, `must be ${gv}`));
    if (errors.length > 0) throw invalid(groupOf(next.apiVersion), next.kind, next.metadata.name, errors);
  }
  errors.push(...metaErrors(next.metadata, resource.nameErrors));
  if (old !== undefined) {
    const update = metaUpdateErrors(next.metadata, old.metadata);
    errors.push(...update);
    if (resource.custom) errors.push(...update); // the server checks a custom resource's metadata twice
  }
  if (resource.custom) {
    errors.push(...validate(next, resource.schema, "", old));
    if (blocks(errors)) errors.push(RULES_SKIPPED);
    else {
      const rules = runRules(next, old, resource.schema);
      errors.push(...rules.errors);
      warnings.push(...rules.warnings);
    }
  } else errors.push(...resource.validate(next, old));
  if (errors.length > 0) {
    const refusal = invalid(resource.errorGroup, resource.kind, next.metadata.name, errors);
    throw warnings.length === 0
      ? refusal
      : new StatusError({ ...refusal.parts, headers: { warning: warningHeader(warnings) } });
  }
  return warnings;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.split("/")[0]! : "";
}

/** Warnings as the header carries them (RFC 7234, code 299). */
export function warningHeader(warnings: readonly string[]): string {
  return warnings.map((text) => `299 - "${text.replace(/[\\"]/g, "\\$&")}"`).join(", ");
}
