/**
 * Creates and updates: what happens between a decoded object and the store.
 *
 * @module
 */
import { check } from "./check.ts";
import type { Context } from "./context.ts";
import type { WriteOptions } from "./options.ts";
import { recordUpdate, type Writer } from "./managed.ts";
import { desired, groupVersion, type Resource } from "./resource.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  internal,
  invalid,
  invalidValue,
  MODIFIED,
  notFound,
} from "./status.ts";
import { keyOf } from "./store.ts";
import { jsonEqual, type KubeObject, member, type Meta } from "./types.ts";
import { byteLength } from "./names.ts";

/** The longest object that is stored, in bytes of JSON (etcd's request limit). */
export const OBJECT_LIMIT = 1_572_864;

/** Where a write goes. */
export interface Target {
  readonly resource: Resource;
  /** `undefined` for cluster-scoped kinds. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource: string;
}

/** A stored object in the shape of the request's version. */
export interface Written {
  readonly object: KubeObject;
  readonly warnings: readonly string[];
}

/** Sets the managers of an object that is about to be stored. */
export type RecordManagers = (next: KubeObject) => KubeObject;

function writer(context: Context, target: Target, options: WriteOptions): Writer {
  return {
    manager: options.manager,
    apiVersion: groupVersion(target.resource),
    subresource: target.subresource,
    time: context.now(),
  };
}

/** Refuses a namespace or name in the object that is not the URL's, and fills them in, in place. */
export function placeObject(object: KubeObject, target: Target): void {
  const meta = object.metadata;
  if (target.namespace === undefined) delete meta.namespace;
  else {
    if (meta.namespace !== undefined && meta.namespace !== "" && meta.namespace !== target.namespace) {
      throw badRequest(
        "the namespace of the provided object does not match the namespace sent on the request",
      );
    }
    meta.namespace = target.namespace;
  }
}

/** Refuses a create in a namespace that is missing (404) or terminating (403). */
function admitNamespace(context: Context, target: Target, name: string): void {
  const { namespace, resource } = target;
  if (namespace === undefined) return;
  const object = context.store.get("/namespaces", keyOf(undefined, namespace));
  if (object === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace);
  if (object.metadata.deletionTimestamp === undefined) return;
  throw forbidden(
    resource,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  );
}

/** Stores a new object. `record` replaces the usual bookkeeping of managers (server-side apply). */
export function createObject(
  context: Context,
  target: Target,
  object: KubeObject,
  options: WriteOptions,
  record?: RecordManagers,
): Written {
  const { resource } = target;
  placeObject(object, target);
  const given = object.metadata;
  if ((given.name ?? "") === "" && (given.generateName ?? "") !== "") {
    given.name = given.generateName + context.suffix();
  }
  admitNamespace(context, target, given.name ?? "");
  if (resource.custom && crdTerminating(context, resource)) {
    throw forbidden(
      resource,
      given.name,
      "create not allowed while custom resource definition is terminating",
    );
  }
  const kept = [
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
  ] as const; // deno-fmt-ignore-line
  const meta = { uid: context.uuid(), resourceVersion: "", creationTimestamp: context.now() } as Meta;
  if (resource.hasGeneration) meta.generation = 1;
  for (const key of kept) if (isFilled(given[key])) copy(meta, given, key);
  meta.name ??= "";
  let next: KubeObject = { ...object, metadata: meta };
  if (resource.hasStatus) next = withStatus(next, undefined, resource);
  resource.prepare(next, undefined, { now: context.now() });
  const warnings = check(resource, next, undefined);
  const versioned = !["", "0", undefined].includes(given.resourceVersion);
  if (versioned) {
    // The storage says so, which a dry run does not ask.
    if (!options.dryRun) throw internal("resourceVersion should not be set on objects to be created");
    copy(meta, given, "resourceVersion");
  }
  const existing = context.store.get(resource.storage, keyOf(target.namespace, meta.name));
  if (existing !== undefined) {
    throw alreadyExists(resource, meta.name, existing.metadata.deletionTimestamp !== undefined);
  }
  next = record === undefined
    ? recordUpdate(next, undefined, resource, writer(context, target, options))
    : record(next);
  return { object: save(context, resource, next, options.dryRun), warnings };
}

function copy<K extends keyof Meta>(to: Meta, from: Meta, key: K): void {
  to[key] = from[key];
}

function isFilled(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** The status that a write of the main resource stores: the old one, or what the schema says for a new object. */
function withStatus(next: KubeObject, old: KubeObject | undefined, resource: Resource): KubeObject {
  const { status: _, ...rest } = next;
  const fallback = resource.schema.properties?.["status"]?.default;
  const status = old === undefined
    ? (resource.custom ? structuredClone(fallback) : undefined)
    : old["status"];
  return (status === undefined ? rest : { ...rest, status }) as KubeObject;
}

function crdTerminating(context: Context, resource: Resource): boolean {
  const crd = context.store.get(
    "apiextensions.k8s.io/customresourcedefinitions",
    keyOf(undefined, `${resource.plural}.${resource.group}`),
  );
  return crd?.metadata.deletionTimestamp !== undefined;
}

/** What an update makes of the live object. */
export interface Update {
  readonly next: KubeObject;
  readonly warnings: readonly string[];
  readonly record?: RecordManagers | undefined;
  /** Whether it is a PUT, whose UID and resourceVersion are preconditions. */
  readonly put: boolean;
}

/** Stores a changed object; throws 404, 409, 422. */
export function updateObject(
  context: Context,
  target: Target,
  options: WriteOptions,
  change: (live: KubeObject) => Update,
): Written {
  const { resource, name } = target;
  const key = keyOf(target.namespace, name);
  const stored = context.store.get(resource.storage, key);
  if (stored === undefined) throw notFound(resource, name);
  const live = resource.fromStore(stored);
  const { next: wanted, warnings, record, put } = change(live);
  if (wanted.metadata.name !== name) {
    throw badRequest(
      `the name of the object (${wanted.metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  placeObject(wanted, target);
  checkPreconditions(target, wanted, live, put);
  let next: KubeObject = { ...wanted, metadata: keptMeta(wanted.metadata, live.metadata) };
  const status = target.subresource === "status";
  if (status) next = statusOf(next, live);
  else if (resource.hasStatus) next = withStatus(next, live, resource);
  resource.prepare(next, live, { now: context.now() });
  if (resource.hasGeneration && !jsonEqual(desired(next), desired(live))) {
    next.metadata.generation = (live.metadata.generation ?? 0) + 1;
  }
  const told = [...warnings, ...check(resource, next, live, target.subresource)];
  next = record === undefined
    ? recordUpdate(next, live, resource, writer(context, target, options))
    : record(next);
  if (jsonEqual(next, live)) return { object: live, warnings: told };
  if (live.metadata.deletionTimestamp !== undefined && isFree(next, resource)) {
    if (!options.dryRun) context.store.remove(resource.storage, key);
    return { object: next, warnings: told };
  }
  return { object: save(context, resource, next, options.dryRun), warnings: told };
}

/** Whether nothing holds a terminating object any more. */
export function isFree(object: KubeObject, resource: Resource): boolean {
  if ((object.metadata.finalizers ?? []).length > 0) return false;
  const own = resource.storage === "/namespaces" ? member(object["spec"], "finalizers") : undefined;
  return !(Array.isArray(own) && own.length > 0);
}

function statusOf(next: KubeObject, live: KubeObject): KubeObject {
  const { status: _, ...rest } = live;
  const managedFields = next.metadata.managedFields;
  const metadata = managedFields === undefined ? live.metadata : { ...live.metadata, managedFields };
  const merged = {
    ...rest,
    metadata: { ...metadata },
    apiVersion: next.apiVersion,
    kind: next.kind,
  } as KubeObject;
  if (next["status"] !== undefined) merged["status"] = next["status"];
  return merged;
}

/** Metadata of an update: what the client may not set is the live object's. */
function keptMeta(next: Meta, live: Meta): Meta {
  const meta: Meta = { ...next, resourceVersion: live.resourceVersion };
  const set = (key: "generation" | "managedFields") => {
    if (live[key] === undefined) delete meta[key];
    else copy(meta, live, key);
  };
  const reset = Array.isArray(next.managedFields) && next.managedFields.length === 0;
  set("generation");
  if (!reset) set("managedFields");
  delete meta["selfLink"];
  for (
    const key of ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const
  ) {
    const given: unknown = meta[key];
    if ((given === undefined || given === null || given === "") && live[key] !== undefined) {
      copy(
        meta,
        live,
        key,
      );
    }
  }
  for (const key of ["labels", "annotations", "finalizers", "ownerReferences"] as const) {
    if (!isFilled(meta[key])) delete meta[key];
  }
  return meta;
}

function checkPreconditions(target: Target, wanted: KubeObject, live: KubeObject, put: boolean): void {
  const { resource, name } = target;
  const { uid, resourceVersion } = wanted.metadata;
  if (put && uid !== undefined && uid !== "" && uid !== live.metadata.uid) {
    const storageKey = `/registry/${resource.group}/${resource.plural}/${keyOf(target.namespace, name)}`;
    const why = `StorageError: invalid object, Code: 4, Key: ${storageKey}, ResourceVersion: 0, ` +
      `AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid}`;
    throw conflict(resource.group, resource.plural, name, why);
  }
  if (resourceVersion === undefined || resourceVersion === "" || resourceVersion === "0") {
    if (!put || resource.unconditionalUpdate) return;
    throw invalid(resource.group, resource.plural, name, [
      invalidValue("metadata.resourceVersion", 0, "must be specified for an update"),
    ]);
  }
  if (!/^\d+$/.test(resourceVersion)) {
    throw internal(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
  }
  if (resourceVersion !== live.metadata.resourceVersion) {
    throw conflict(resource.group, resource.plural, name, MODIFIED);
  }
}

function save(context: Context, resource: Resource, next: KubeObject, dryRun: boolean): KubeObject {
  const stored = resource.toStore(next);
  if (byteLength(JSON.stringify(stored)) > OBJECT_LIMIT) throw internal("etcdserver: request is too large");
  if (!dryRun) return resource.fromStore(context.store.put(resource.storage, stored));
  const { resourceVersion, ...meta } = next.metadata;
  return { ...next, metadata: (resourceVersion === "" ? meta : next.metadata) as Meta };
}
