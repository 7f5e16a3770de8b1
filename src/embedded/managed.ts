/**
 * Who set which field: `metadata.managedFields`, read, written, and kept through updates.
 *
 * @module
 */
import { difference, type FieldSet, fromFieldsV1, SEP, toFieldsV1 } from "./fieldset.ts";
import type { Resource } from "./resource.ts";
import { type Json, jsonEqual, type KubeObject, type ManagedFields } from "./types.ts";

/** Who writes, and how. */
export interface Writer {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339 to the second. */
  readonly time: string;
}

/** One manager and what it owns. */
export interface Owned {
  readonly entry: Omit<ManagedFields, "fieldsV1">;
  readonly set: FieldSet;
}

/** Paths that nobody owns. */
const NOT_OWNED = ["apiVersion", "kind"].map((key) => `f:${key}`);
const META_NOT_OWNED = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "selfLink",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
].map((key) => ["f:metadata", `f:${key}`].join(SEP)); // deno-fmt-ignore-line

/** Drops what nobody owns and what this way of writing does not set. */
export function ownable(set: FieldSet, writer: Writer, hasStatus: boolean): FieldSet {
  const out: FieldSet = new Set();
  for (const path of set) {
    const top = path.split(SEP, 1)[0]!;
    if (path === "f:metadata" || NOT_OWNED.includes(path)) continue;
    if (top === "f:metadata" && META_NOT_OWNED.some((not) => path === not || path.startsWith(not + SEP))) continue;
    if (hasStatus && (writer.subresource === "status") !== (top === "f:status")) continue;
    out.add(path);
  }
  return out;
}

/** The managers of an object. */
export function read(object: KubeObject | undefined): Owned[] {
  return (object?.metadata.managedFields ?? []).map(({ fieldsV1, ...entry }) => ({
    entry,
    set: fromFieldsV1(fieldsV1),
  }));
}

function write(owned: readonly Owned[]): ManagedFields[] {
  const list = owned.filter(({ set }) => set.size > 0).map(({ entry, set }) => ({
    ...entry,
    fieldsV1: toFieldsV1(set),
  }));
  return list.sort((a, b) =>
    order(a.operation, b.operation) || order(a.time, b.time) || order(a.manager, b.manager) ||
    order(a.subresource ?? "", b.subresource ?? "")
  );
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A manager's entry without its fields. */
export function entryOf(
  writer: Writer,
  operation: ManagedFields["operation"],
): Omit<ManagedFields, "fieldsV1"> {
  return {
    manager: writer.manager,
    operation,
    apiVersion: writer.apiVersion,
    time: writer.time,
    fieldsType: "FieldsV1",
    ...(writer.subresource === "" ? {} : { subresource: writer.subresource }),
  };
}

/** Whether an entry is the writer's own. */
export function isSame(
  entry: Omit<ManagedFields, "fieldsV1">,
  writer: Writer,
  operation: ManagedFields["operation"],
): boolean {
  return entry.manager === writer.manager && entry.operation === operation &&
    (entry.subresource ?? "") === writer.subresource;
}

/** The object with its managers written onto it. */
export function finish(
  object: KubeObject,
  owned: readonly Owned[],
  live: KubeObject | undefined,
): KubeObject {
  let fields = write(owned);
  const before = live?.metadata.managedFields;
  // Times alone are no change, so that a write without effect keeps its resourceVersion.
  if (before !== undefined && jsonEqual(untimed(before), untimed(fields))) {
    const { managedFields: _a, ...oldMeta } = live!.metadata;
    const { managedFields: _b, ...newMeta } = object.metadata;
    if (jsonEqual(oldMeta, newMeta) && jsonEqual({ ...live!, metadata: {} }, { ...object, metadata: {} })) {
      fields = before;
    }
  }
  const { managedFields: _, ...meta } = object.metadata;
  return {
    ...object,
    metadata: (fields.length > 0 ? { ...meta, managedFields: fields } : meta) as KubeObject["metadata"],
  };
}

function untimed(list: readonly ManagedFields[]): Json {
  return list.map(({ time: _, ...rest }) => rest) as Json;
}

/** The object after an update or create with `managedFields` kept: the writer owns what it changed. */
export function recordUpdate(
  next: KubeObject,
  live: KubeObject | undefined,
  { schema, hasStatus, skeleton }: Pick<Resource, "schema" | "hasStatus" | "skeleton">,
  writer: Writer,
): KubeObject {
  const reset = next.metadata.managedFields?.length === 0;
  const { changed, removed } = difference(live ?? skeleton, next, schema);
  const mine = ownable(changed, writer, hasStatus);
  const owned: Owned[] = [];
  let found = false;
  for (const { entry, set } of reset ? [] : read(live)) {
    const kept = new Set([...set].filter((path) => !removed.has(path)));
    if (isSame(entry, writer, "Update")) {
      found = true;
      for (const path of mine) kept.add(path);
      owned.push({
        entry: mine.size > 0 || kept.size < set.size ? { ...entry, time: writer.time } : entry,
        set: kept,
      });
    } else {
      for (const path of mine) kept.delete(path);
      owned.push({ entry, set: kept });
    }
  }
  if (!found && mine.size > 0) owned.push({ entry: entryOf(writer, "Update"), set: mine });
  return finish(next, owned, live);
}
