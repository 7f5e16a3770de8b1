/**
 * Server-side apply: a configuration laid over the live object, with conflicts and what is given up.
 *
 * @module
 */
import { difference, type FieldSet, itemElement, leaves, memberSchema, SEP, showPath } from "./fieldset.ts";
import { lastAppliedFields, refreshLastApplied } from "./last_applied.ts";
import { entryOf, finish, isSame, ownable, read, type Writer } from "./managed.ts";
import { StatusError } from "./status.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  type KubeObject,
  type ManagedFields,
  type Schema,
} from "./types.ts";

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
  const eased = lastAppliedFields(live, writer.manager, schema);
  const contested = others.map((other) => ({
    other,
    paths: [...other.set].filter((path) => set.has(path) && changed.has(path)),
  })).filter(({ paths }) => paths.length > 0);
  const refused = contested.filter(({ paths }) => paths.some((path) => !eased.has(path)));
  if (refused.length > 0 && !force) {
    throw applyConflict(contested.map(({ other, paths }) => ({ entry: other.entry, paths })));
  }
  merged = { ...merged, metadata: { ...merged.metadata } };
  refreshLastApplied(merged, config, writer.manager);
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
