/**
 * What a request asks for beside its object: query parameters, checked as the server checks them.
 *
 * @module
 */
import {
  badRequest,
  type FieldError,
  forbiddenValue,
  internal,
  invalidOptions,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "./status.ts";

/** How unknown and duplicate fields are treated. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** Options of a write. */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  readonly manager: string;
  readonly force: boolean;
}

/** Reads the options of a create, update or patch; `kind` names them in refusals. */
export function writeOptions(
  query: URLSearchParams,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
  userAgent: string,
  apply: boolean,
): WriteOptions {
  const errors: FieldError[] = dryRunErrors(query);
  const validation = query.get("fieldValidation") ?? "";
  const manager = query.get("fieldManager") ?? "";
  const force = query.get("force");
  if (kind === "PatchOptions") {
    if (apply && manager === "") errors.push(requiredValue("fieldManager", "is required for apply patch"));
    if (!apply && force !== null) {
      errors.push(forbiddenValue("force", "may not be specified for non-apply patch"));
    }
  }
  if (manager.length > 128) errors.push(tooLong("fieldManager", 128));
  if (!["", "Ignore", "Strict", "Warn"].includes(validation)) {
    errors.push(unsupportedValue("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]));
  }
  if (errors.length > 0) throw invalidOptions(kind, errors);
  return {
    dryRun: query.getAll("dryRun").length > 0,
    fieldValidation: validation === "" ? "Warn" : validation as FieldValidation,
    manager: manager || userAgent.split("/", 1)[0]!.slice(0, 128) || "unknown",
    force: isTrue(force),
  };
}

function dryRunErrors(query: URLSearchParams): FieldError[] {
  const values = query.getAll("dryRun");
  if (values.every((value) => value === "All")) return [];
  return [unsupportedValue("dryRun", values, ["All"])];
}

/** Options of a delete. */
export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly propagation: "Foreground" | "Background" | "Orphan" | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** Reads the options of a delete from its query and its body. */
export function deleteOptions(query: URLSearchParams, body: Record<string, unknown>): DeleteOptions {
  const errors = dryRunErrors(query);
  const policy = query.get("propagationPolicy") ?? body["propagationPolicy"];
  const known = ["Foreground", "Background", "Orphan"];
  if (policy !== undefined && policy !== null && !known.includes(String(policy))) {
    errors.push(unsupportedValue("propagationPolicy", String(policy), [...known, "nil"]));
  }
  if (errors.length > 0) throw invalidOptions("DeleteOptions", errors);
  const bodyDryRun = body["dryRun"];
  const preconditions = body["preconditions"];
  const wanted = typeof preconditions === "object" && preconditions !== null
    ? preconditions as Record<string, unknown>
    : {};
  const text = (value: unknown) => typeof value === "string" ? value : undefined;
  return {
    dryRun: query.has("dryRun") || (Array.isArray(bodyDryRun) && bodyDryRun.includes("All")),
    propagation: policy === undefined || policy === null
      ? undefined
      : String(policy) as DeleteOptions["propagation"],
    uid: text(wanted["uid"]),
    resourceVersion: text(wanted["resourceVersion"]),
  };
}

/** Options of a list or watch. */
export interface ListOptions {
  readonly watch: boolean;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
  readonly limit: number;
  readonly continueToken: string | undefined;
  /** `undefined`: not given. */
  readonly resourceVersion: number | undefined;
  readonly exact: boolean;
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

/** Reads the options of a list or watch. */
export function listOptions(query: URLSearchParams, forceWatch: boolean): ListOptions {
  const watch = forceWatch || isTrue(query.get("watch"));
  const version = query.get("resourceVersion") || undefined;
  const match = query.get("resourceVersionMatch") || undefined;
  const initial = query.has("sendInitialEvents") ? isTrue(query.get("sendInitialEvents")) : undefined;
  const continueToken = query.get("continue") || undefined;
  const errors = matchErrors({ watch, version, match, initial, continueToken });
  if (errors.length > 0) throw invalidOptions("ListOptions", errors);
  if (continueToken !== undefined && version !== undefined && version !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  return {
    watch,
    labelSelector: query.get("labelSelector") ?? undefined,
    fieldSelector: query.get("fieldSelector") ?? undefined,
    limit: Math.max(0, integer(query.get("limit")) ?? 0),
    continueToken,
    resourceVersion: version === undefined ? undefined : parseVersion(version, watch),
    exact: match === "Exact",
    timeoutSeconds: integer(query.get("timeoutSeconds")),
    bookmarks: isTrue(query.get("allowWatchBookmarks")),
    sendInitialEvents: initial,
  };
}

interface MatchParts {
  readonly watch: boolean;
  readonly version: string | undefined;
  readonly match: string | undefined;
  readonly initial: boolean | undefined;
  readonly continueToken: string | undefined;
}

/** `ValidateListOptions` of apimachinery. */
function matchErrors({ watch, version, match, initial, continueToken }: MatchParts): FieldError[] {
  const field = "resourceVersionMatch";
  if (watch) {
    if (continueToken !== undefined) {
      return [forbiddenValue(field, `${field} is forbidden when continue is provided`)];
    }
    if (match !== undefined && initial === undefined) {
      return [forbiddenValue(field, `${field} is forbidden for watch unless sendInitialEvents is provided`)];
    }
    if (initial !== undefined && match !== "NotOlderThan") {
      return [forbiddenValue(field, `sendInitialEvents requires setting ${field} to NotOlderThan`)];
    }
    return [];
  }
  const errors: FieldError[] = [];
  if (match !== undefined) {
    if (version === undefined) {
      errors.push(forbiddenValue(field, `${field} is forbidden unless resourceVersion is provided`));
    }
    if (continueToken !== undefined) {
      errors.push(forbiddenValue(field, `${field} is forbidden when continue is provided`));
    }
    if (match !== "Exact" && match !== "NotOlderThan") {
      errors.push(unsupportedValue(field, match, ["Exact", "NotOlderThan", ""]));
    }
    if (match === "Exact" && version === "0") {
      errors.push(forbiddenValue(field, `${field} "exact" is forbidden for resourceVersion "0"`));
    }
  }
  if (initial !== undefined) {
    errors.push(forbiddenValue("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  return errors;
}

/** Go's reading of a boolean parameter: present and neither `false` nor `0`. */
function isTrue(value: string | null): boolean {
  return value !== null && value !== "false" && value !== "0";
}

function integer(value: string | null): number | undefined {
  if (value === null || value === "") return undefined;
  if (!/^-?\d+$/.test(value)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  }
  return Number(value);
}

function parseVersion(text: string, watch: boolean): number {
  if (/^\d+$/.test(text)) return Number(text);
  const detail = `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${
    JSON.stringify(text)
  }: invalid syntax`;
  throw watch ? internal(detail) : badRequest(`invalid resource version: ${detail}`);
}
