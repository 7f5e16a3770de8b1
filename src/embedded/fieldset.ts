/**
 * Sets of field paths, as `metadata.managedFields` holds them (structured-merge-diff's FieldsV1).
 *
 * A path is its elements joined by {@linkcode SEP}: `f:spec`, `k:{"name":"a"}`, `v:"x"`.
 *
 * @module
 */
import { isObject, type Json, jsonEqual, type JsonObject, type Schema } from "./types.ts";

/** A set of paths. */
export type FieldSet = Set<string>;

/** Joins the elements of a path. */
export const SEP = "\u0000";

function join(path: string, element: string): string {
  return path === "" ? element : path + SEP + element;
}

/** How an object's or list's members are told apart. */
function isAtomic(value: Json, schema: Schema | undefined): boolean {
  if (Array.isArray(value)) {
    const type = schema?.["x-kubernetes-list-type"];
    return type !== "map" && type !== "set";
  }
  return schema?.["x-kubernetes-map-type"] === "atomic";
}

/** The schema of an object's member. */
export function memberSchema(schema: Schema | undefined, key: string): Schema | undefined {
  const property = schema?.properties?.[key];
  if (property !== undefined) return property;
  return isObject(schema?.additionalProperties) ? schema.additionalProperties as Schema : undefined;
}

/** The path element of a list item. */
export function itemElement(item: Json, schema: Schema): string {
  if (schema["x-kubernetes-list-type"] === "set") return `v:${JSON.stringify(item)}`;
  const keys: JsonObject = {};
  for (const key of [...schema["x-kubernetes-list-map-keys"] ?? []].sort()) {
    const value = isObject(item) ? item[key] ?? schema.items?.properties?.[key]?.default : undefined;
    if (value !== undefined) keys[key] = value;
  }
  return `k:${JSON.stringify(keys)}`;
}

/** Every leaf of a value: what a manager that applies it owns. */
export function leaves(
  value: Json | undefined,
  schema: Schema | undefined,
  path = "",
  out: FieldSet = new Set(),
): FieldSet {
  if (value === undefined) return out;
  if (Array.isArray(value) && value.length > 0 && !isAtomic(value, schema)) {
    for (const item of value) {
      const at = join(path, itemElement(item, schema!));
      out.add(at);
      if (isObject(item)) leaves(item, schema!.items, at, out);
    }
  } else if (isObject(value) && Object.keys(value).length > 0 && !isAtomic(value, schema)) {
    for (const [key, item] of Object.entries(value)) {
      leaves(item, memberSchema(schema, key), join(path, `f:${key}`), out);
    }
  } else if (path !== "") out.add(path);
  return out;
}

/** What differs between two values. */
export interface Difference {
  /** Paths that came or changed. */
  readonly changed: FieldSet;
  /** Paths that went. */
  readonly removed: FieldSet;
}

/** Compares two values path by path. */
export function difference(
  old: Json | undefined,
  next: Json | undefined,
  schema: Schema | undefined,
): Difference {
  const out: Difference = { changed: new Set(), removed: new Set() };
  compare(old, next, schema, "", out);
  return out;
}

function compare(
  old: Json | undefined,
  next: Json | undefined,
  schema: Schema | undefined,
  path: string,
  out: Difference,
): void {
  if (old === undefined && next === undefined) return;
  if (next === undefined) return void everything(old!, schema, path, out.removed);
  if (old === undefined) return void everything(next, schema, path, out.changed);
  if (isObject(old) && isObject(next) && !isAtomic(next, schema)) {
    for (const key of Object.keys(old)) {
      compare(old[key], next[key], memberSchema(schema, key), join(path, `f:${key}`), out);
    }
    for (const key of Object.keys(next)) {
      if (old[key] === undefined) {
        compare(undefined, next[key], memberSchema(schema, key), join(path, `f:${key}`), out);
      }
    }
    return;
  }
  if (Array.isArray(old) && Array.isArray(next) && !isAtomic(next, schema)) {
    const before = new Map(old.map((item) => [itemElement(item, schema!), item]));
    const after = new Map(next.map((item) => [itemElement(item, schema!), item]));
    for (const [element, item] of before) {
      compare(item, after.get(element), schema!.items, join(path, element), out);
    }
    for (const [element, item] of after) {
      if (!before.has(element)) compare(undefined, item, schema!.items, join(path, element), out);
    }
    return;
  }
  if (!jsonEqual(old, next)) out.changed.add(path);
}

/** A value's path and every path below it. */
function everything(value: Json, schema: Schema | undefined, path: string, out: FieldSet): void {
  if (path !== "") out.add(path);
  if (isAtomic(value, schema)) return;
  if (Array.isArray(value)) {
    for (const item of value) everything(item, schema!.items, join(path, itemElement(item, schema!)), out);
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (item !== undefined) everything(item, memberSchema(schema, key), join(path, `f:${key}`), out);
    }
  }
}

/** The set in the form of `fieldsV1`. */
export function toFieldsV1(set: FieldSet): JsonObject {
  const root: JsonObject = {};
  for (const path of [...set].sort()) {
    let node = root;
    for (const element of path.split(SEP)) {
      const next = node[element];
      node = isObject(next) ? next : (node[element] = {});
    }
    node["."] = {};
  }
  return tidy(root);
}

/** A node whose only member is "." is written as `{}`. */
function tidy(node: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const key of Object.keys(node).sort()) {
    const child = node[key];
    if (key === ".") out["."] = {};
    else if (isObject(child)) {
      const keys = Object.keys(child);
      out[key] = keys.length === 1 && keys[0] === "." ? {} : tidy(child);
    }
  }
  return out;
}

/** Reads `fieldsV1`. */
export function fromFieldsV1(fields: JsonObject, path = "", out: FieldSet = new Set()): FieldSet {
  for (const [key, child] of Object.entries(fields)) {
    if (key === ".") out.add(path);
    else if (isObject(child)) {
      const at = join(path, key);
      if (Object.keys(child).length === 0) out.add(at);
      else fromFieldsV1(child, at, out);
    }
  }
  return out;
}

/** The path as conflicts name it: `.spec.parts[name="a"].count`. */
export function showPath(path: string): string {
  return path.split(SEP).map((element) => {
    const text = element.slice(2);
    if (element.startsWith("f:")) return `.${text}`;
    if (element.startsWith("v:")) return `[=${text}]`;
    const keys = Object.entries(JSON.parse(text) as JsonObject).map(([key, value]) =>
      `${key}=${JSON.stringify(value)}`
    );
    return `[${keys.join(",")}]`;
  }).join("");
}
