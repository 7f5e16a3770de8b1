/**
 * Checks a stored spec again. The API server has checked what it accepted, but an object may have been stored under an
 * older schema, or with the CRD's schema loosened; such an object must be reported, not crash its actor.
 *
 * @module
 */
import { escapeUnsafe } from "../core/text.ts";
import { parseDuration } from "./duration.ts";
import { type ExternalDatabaseSpec, POLL_INTERVAL_MS, specSchema } from "./schema.ts";

/** A usable spec, or one readable line that names the field at fault. */
export type SpecValidation =
  | { readonly ok: true; readonly spec: ExternalDatabaseSpec }
  | { readonly ok: false; readonly message: string };

/** The same bounds as the CEL rule of `spec.pollInterval`. */
const POLL_INTERVAL = /^(?:\d{1,5}[smh])+$/;

/** Checks a spec as stored. Never throws. Fields that the schema does not know are dropped from the result. */
export function validateSpec(value: unknown): SpecValidation {
  const parsed = specSchema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const path = issue?.path ?? [];
    return refused(path.map(String), valueAt(value, path), issue?.message ?? "it is not valid");
  }
  const { pollInterval, managementPolicy, providerId } = parsed.data;
  if (managementPolicy === "ObserveOnly" && providerId === undefined) {
    return { ok: false, message: "spec.providerId is missing, and managementPolicy ObserveOnly needs it" };
  }
  if (pollInterval !== undefined && !isPollInterval(pollInterval)) {
    return refused(
      ["pollInterval"],
      pollInterval,
      "must be a duration from 10s to 24h, such as 30s, 5m or 1h30m",
    );
  }
  return { ok: true, spec: parsed.data };
}

function isPollInterval(text: string): boolean {
  if (!POLL_INTERVAL.test(text)) return false;
  const ms = parseDuration(text);
  return ms >= POLL_INTERVAL_MS.min && ms <= POLL_INTERVAL_MS.max;
}

function refused(path: readonly string[], value: unknown, why: string): SpecValidation {
  const field = ["spec", ...path].join(".");
  if (value === undefined) return { ok: false, message: `${field} is missing` };
  const quoted = escapeUnsafe(JSON.stringify(value) ?? String(value));
  const short = quoted.length > 80 ? `${quoted.slice(0, 77)}…` : quoted;
  return {
    ok: false,
    message: `${field} is ${short}: ${why.replace(/^Invalid (input|string|option): /, "")}`,
  };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
}
