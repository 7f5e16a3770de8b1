/**
 * Who set which field: `metadata.managedFields` for updates, and server-side apply.
 *
 * @module
 */
import {
  difference,
  type FieldSet,
  fromFieldsV1,
  itemElement,
  leaves,
  memberSchema,
  SEP,
  showPath,
  toFieldsV1,
} from "./fieldset.ts";
import type { Resource } from "./resource.ts";
import { StatusError } from "./status.ts";
import {
  isObject,
  type Json,
  jsonEqual,
  type JsonObject,
  type KubeObject,
  type ManagedFields,
  type Schema,
} from "./types.ts";

/** Who writes, and how. */
export interface Writer {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339 to the second. */
  readonly time: string;
}

interface Owned {
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
function ownable(set: FieldSet, writer: Writer, hasStatus: boolean): FieldSet {
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

function read(object: KubeObject | undefined): Owned[] {
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

function entryOf(writer: Writer, operation: ManagedFields["operation"]): Omit<ManagedFields, "fieldsV1"> {
  return {
    manager: writer.manager,
    operation,
    apiVersion: writer.apiVersion,
    time: writer.time,
    fieldsType: "FieldsV1",
    ...(writer.subresource === "" ? {} : { subresource: writer.subresource }),
  };
}

function isSame(
  entry: Omit<ManagedFields, "fieldsV1">,
  writer: Writer,
  operation: ManagedFields["operation"],
): boolean {
  return entry.manager === writer.manager && entry.operation === operation &&
    (entry.subresource ?? "") === writer.subresource;
}

function finish(object: KubeObject, owned: readonly Owned[], live: KubeObject | undefined): KubeObject {
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

/** What server-side apply works on. */
export interface ApplyRequest {
  readonly config: KubeObject;
  readonly live: KubeObject | undefined;
  readonly schema: Schema;
  readonly writer: Writer;
  readonly force: boolean;
  readonly hasStatus: boolean;
}

/** Merges an applied configuration into the live object; throws 409 with one cause per field owned by another. */
export function applyConfig({ config, live, schema, writer, force, hasStatus }: ApplyRequest): {
  /** The merged object, before defaults and the kind's own changes. */
  merged: KubeObject;
  /** Writes the managers onto the object that is to be stored. */
  record(next: KubeObject): KubeObject;
} {
  const set = ownable(leaves(config, schema), writer, hasStatus);
  const managers = read(live);
  const last = managers.find(({ entry }) => isSame(entry, writer, "Apply"))?.set ?? new Set<string>();
  const others = managers.filter(({ entry }) => !isSame(entry, writer, "Apply"));
  let merged = mergeValue(live, config, schema) as KubeObject;
  const gone = [...last].filter((path) => !set.has(path) && !others.some((other) => ownsAt(other.set, path)));
  if (gone.length > 0) merged = removePaths(merged, gone, schema, set);
  const { changed } = difference(live ?? {}, merged, schema);
  const contested = others.map((other) => ({
    other,
    paths: [...other.set].filter((path) => set.has(path) && changed.has(path)),
  })).filter(({ paths }) => paths.length > 0);
  if (contested.length > 0 && !force) {
    throw applyConflict(contested.map(({ other, paths }) => ({ entry: other.entry, paths })));
  }
  return {
    merged,
    record(next) {
      const owned = others.map(({ entry, set: theirs }) => {
        const lost = new Set(contested.find(({ other }) => other.entry === entry)?.paths ?? []);
        const now = difference(live ?? {}, next, schema).removed;
        return { entry, set: new Set([...theirs].filter((path) => !lost.has(path) && !now.has(path))) };
      });
      const same = last.size === set.size && [...set].every((path) => last.has(path));
      const mine = managers.find(({ entry }) => isSame(entry, writer, "Apply"))?.entry;
      owned.push({
        entry: same && mine !== undefined && changed.size === 0 ? mine : entryOf(writer, "Apply"),
        set,
      });
      return finish(next, owned, live);
    },
  };
}

function ownsAt(set: FieldSet, path: string): boolean {
  if (set.has(path)) return true;
  for (const other of set) if (other.startsWith(path + SEP)) return true;
  return false;
}

function applyConflict(
  contested: readonly { entry: Omit<ManagedFields, "fieldsV1">; paths: string[] }[],
): StatusError {
  const groups = contested.map(({ entry, paths }) => {
    const sub = entry.subresource === undefined ? "" : ` with subresource "${entry.subresource}"`;
    const using = entry.operation === "Update" ? ` using ${entry.apiVersion}` : "";
    return { who: `"${entry.manager}"${sub}${using}`, paths: paths.map(showPath) };
  });
  const causes = groups.flatMap(({ who, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${who}`, field }))
  );
  const text = causes.length === 1
    ? `1 conflict: ${causes[0]!.message}: ${causes[0]!.field}`
    : `${causes.length} conflicts: ` +
      groups.flatMap(({ who, paths }) => [`conflicts with ${who}:`, ...paths.map((path) => `- ${path}`)])
        .join("\n");
  return new StatusError({
    code: 409,
    reason: "Conflict",
    message: `Apply failed with ${text}`,
    details: { causes },
  });
}

/** Lays a configuration over the live value. */
function mergeValue(
  live: Json | undefined,
  config: Json | undefined,
  schema: Schema | undefined,
): Json | undefined {
  if (config === undefined) return live;
  if (isObject(live) && isObject(config) && schema?.["x-kubernetes-map-type"] !== "atomic") {
    const out: JsonObject = { ...live };
    for (const [key, value] of Object.entries(config)) {
      const merged = mergeValue(live[key], value, memberSchema(schema, key));
      if (merged !== undefined) out[key] = merged;
    }
    return out;
  }
  const listType = schema?.["x-kubernetes-list-type"];
  if (Array.isArray(live) && Array.isArray(config) && (listType === "map" || listType === "set")) {
    const wanted = new Map(config.map((item) => [itemElement(item, schema!), item]));
    const seen = new Set(live.map((item) => itemElement(item, schema!)));
    const kept = live.map((item) => mergeValue(item, wanted.get(itemElement(item, schema!)), schema!.items)!);
    return [...kept, ...[...wanted].filter(([element]) => !seen.has(element)).map(([, item]) => item)];
  }
  return config;
}

/** Takes paths away; an object or list that this empties goes too. */
function removePaths(
  object: KubeObject,
  paths: readonly string[],
  schema: Schema,
  keep: FieldSet,
): KubeObject {
  let out: Json | undefined = object;
  const whole = paths.filter((path) => !ownsAt(keep, path)); // never what is applied now
  for (const path of whole.sort((a, b) => a.length - b.length)) {
    out = removePath(out, path.split(SEP), schema);
  }
  return out as KubeObject;
}

function removePath(
  value: Json | undefined,
  path: readonly string[],
  schema: Schema | undefined,
): Json | undefined {
  const [element, ...rest] = path;
  if (element === undefined || value === undefined) return undefined;
  if (isObject(value) && element.startsWith("f:")) {
    const key = element.slice(2);
    if (value[key] === undefined) return value;
    const { [key]: child, ...others } = value;
    const left = rest.length === 0 ? undefined : removePath(child, rest, memberSchema(schema, key));
    if (left !== undefined) return { ...others, [key]: left };
    return Object.keys(others).length > 0 ? others : undefined;
  }
  if (Array.isArray(value) && schema !== undefined) {
    const left = value.flatMap((item) => {
      if (itemElement(item, schema) !== element) return [item];
      const kept = rest.length === 0 ? undefined : removePath(item, rest, schema.items);
      return kept === undefined ? [] : [kept];
    });
    return left.length > 0 ? left : undefined;
  }
  return value;
}
