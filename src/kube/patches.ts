/**
 * Builds the JSON patches that the operator sends; pure.
 *
 * Promised: every patch tests `/metadata/uid` first, so that it can never land on a namesake (rule 6: the API server
 * does not check a UID in a merge patch). A failed test answers 422, as a bad path does: the caller re-reads and decides.
 *
 * @module
 */
import { FINALIZER } from "../api/constants.ts";
import type { ExternalDatabase, ExternalDatabaseStatus } from "../api/schema.ts";
import type { JsonPatchOperation } from "./port.ts";

/** What identifies an object and its version: an {@linkcode ExternalDatabase}'s metadata. */
type Metadata = Pick<
  ExternalDatabase["metadata"],
  "uid" | "resourceVersion" | "finalizers" | "deletionTimestamp"
>;

/** The test that every patch begins with. */
export function testUid(uid: string): JsonPatchOperation {
  return { op: "test", path: "/metadata/uid", value: uid };
}

/**
 * Adds our finalizer under the object's `resourceVersion` (rule 2), keeping all others. `undefined` when it is there
 * already.
 */
export function addFinalizer(metadata: Metadata, finalizer = FINALIZER): JsonPatchOperation[] | undefined {
  const present = metadata.finalizers ?? [];
  if (present.includes(finalizer)) return undefined;
  return [
    testUid(metadata.uid),
    testVersion(metadata.resourceVersion),
    // Where there is no array, `/-` would be refused; the resourceVersion guards against one that came meanwhile.
    present.length === 0
      ? { op: "add", path: "/metadata/finalizers", value: [finalizer] }
      : { op: "add", path: "/metadata/finalizers/-", value: finalizer },
  ];
}

/** Sets an annotation, or removes it where `value` is empty; to be sent under the object's `resourceVersion`. */
export function annotate(
  { annotations }: Pick<ExternalDatabase["metadata"], "annotations">,
  key: string,
  value: string,
): JsonPatchOperation[] {
  const path = `/metadata/annotations/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const present = annotations?.[key];
  if (value === "") return present === undefined ? [] : [{ op: "remove", path }];
  if (present === value) return [];
  return annotations === undefined
    ? [{ op: "add", path: "/metadata/annotations", value: { [key]: value } }]
    : [{ op: "add", path, value }];
}

/**
 * Removes our finalizer and no other (D6): by its index, which a test of the value at that index guards, so that a
 * list that changed meanwhile answers 422. `undefined` when it is not there.
 */
export function removeFinalizer(metadata: Metadata, finalizer = FINALIZER): JsonPatchOperation[] | undefined {
  const index = (metadata.finalizers ?? []).indexOf(finalizer);
  if (index < 0) return undefined;
  const path = `/metadata/finalizers/${index}`;
  const { deletionTimestamp } = metadata;
  return [
    testUid(metadata.uid),
    // A restored cluster may show it alive again (S4).
    ...(deletionTimestamp === undefined
      ? []
      : [{ op: "test" as const, path: "/metadata/deletionTimestamp", value: deletionTimestamp }]),
    { op: "test", path, value: finalizer },
    { op: "remove", path },
  ];
}

/** Fields of status to be set; `undefined` removes a field. */
export type StatusChange = {
  readonly [K in keyof ExternalDatabaseStatus]?: ExternalDatabaseStatus[K] | undefined;
};

/** What a status patch is guarded by, beside the UID. */
export interface StatusGuard {
  /**
   * Test the `providerId` that was last seen (rule 6). The `resourceVersion` is tested too where an API server cannot
   * compare it, and where another one is recorded than was seen, or a first one. @default true
   */
  readonly providerId?: boolean;
  /** Test the `incarnation` that was last seen, where there was one (rule 6). @default true */
  readonly incarnation?: boolean;
  /** Test the object's `resourceVersion` (rule 7: raising the incarnation). @default false */
  readonly resourceVersion?: boolean;
}

/**
 * Sets and removes fields of status on the object last seen, for the status subresource; `undefined` when nothing
 * would change (S5). `add` is used for every field that is set: it also replaces, and works on a field that was
 * absent. An object without status works too, for the CRD gives `status` the default `{}`, also after `status: null`.
 */
export function patchStatus(
  object: Pick<ExternalDatabase, "metadata" | "status">,
  change: StatusChange,
  guard: StatusGuard = {},
): JsonPatchOperation[] | undefined {
  const status = (object.status ?? {}) as Readonly<Record<string, unknown>>;
  const writes: JsonPatchOperation[] = [];
  for (const [field, value] of Object.entries(change)) {
    const path = `/status/${escapePointer(field)}`;
    if (value === undefined || value === null) {
      if (status[field] !== undefined) writes.push({ op: "remove", path });
    } else if (!sameJson(status[field], value)) {
      writes.push({ op: "add", path, value });
    }
  }
  if (writes.length === 0) return undefined;
  const tests: JsonPatchOperation[] = [];
  // Rule 6: where no id was seen there is none to test, and one recorded since must not be written over. One in place of
  // another may land late, when what it names is being deleted already (rule 7).
  const named = change.providerId !== undefined && guard.providerId !== false &&
    status.providerId !== change.providerId;
  let version = guard.resourceVersion === true || named;
  for (const field of ["providerId", "incarnation"] as const) {
    const value = status[field];
    if (guard[field] === false || value === undefined) continue;
    if (isTestable(value)) tests.push({ op: "test", path: `/status/${field}`, value });
    else version = true; // guards against more: at worst the patch is refused and made anew from a fresh read
  }
  return [
    testUid(object.metadata.uid),
    ...(version ? [testVersion(object.metadata.resourceVersion)] : []),
    ...tests,
    ...writes,
  ];
}

/**
 * Whether a `test` of this value can succeed. The API server compares bytes, not values: Go writes `&`, `<`, `>`,
 * U+2028 and U+2029 as escapes and the patch brings them plain, so they never match (measured on a kube-apiserver).
 * Control characters are left out too, as there are several ways to write them.
 */
function isTestable(value: unknown): boolean {
  return typeof value !== "string" || !/[&<>\u2028\u2029\p{C}]/u.test(value);
}

/** The test that nothing at all has changed meanwhile. */
export function testVersion(resourceVersion: string): JsonPatchOperation {
  return { op: "test", path: "/metadata/resourceVersion", value: resourceVersion };
}

/** Escapes one member name for a JSON pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Whether two JSON values are equal, whatever the order of members; a member that is `undefined` is absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = a as Record<string, unknown>, right = b as Record<string, unknown>;
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  for (const key of keys) if (!sameJson(left[key], right[key])) return false;
  return true;
}
