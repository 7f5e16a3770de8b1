/**
 * Deletes: of one object, of a collection, with finalizers, preconditions and propagation.
 *
 * @module
 */
import { CRD_FINALIZER, CRD_STORAGE, crdCondition } from "./builtin/crd.ts";
import type { Context } from "./context.ts";
import type { DeleteOptions } from "./options.ts";
import type { Resource } from "./resource.ts";
import { conflict, forbidden, notFound } from "./status.ts";
import { keyOf } from "./store.ts";
import { isFree } from "./write.ts";
import { isObject, jsonEqual, type JsonObject, type KubeObject } from "./types.ts";

const PROPAGATION_FINALIZER = { Foreground: "foregroundDeletion", Orphan: "orphan" } as const;

/** What a DELETE answers: the object while it terminates, a `Success` Status once it is gone. */
export function deleteObject(
  context: Context,
  resource: Resource,
  namespace: string | undefined,
  name: string,
  options: DeleteOptions,
): KubeObject | JsonObject {
  const key = keyOf(namespace, name);
  const live = context.store.get(resource.storage, key);
  if (live === undefined) throw notFound(resource, name);
  checkPreconditions(resource, live, options);
  if (resource.storage === "/namespaces" && ["default", "kube-system", "kube-public"].includes(name)) {
    throw forbidden(resource, name, "this namespace may not be deleted");
  }
  const next = terminating(context, resource, live, options);
  if (isFree(next, resource)) {
    if (!options.dryRun) context.store.remove(resource.storage, key);
    return resource.returnsDeleted ? resource.fromStore(next) : success(resource, live);
  }
  if (jsonEqual(next, live)) return resource.fromStore(live);
  return resource.fromStore(options.dryRun ? next : context.store.put(resource.storage, next));
}

function checkPreconditions(resource: Resource, live: KubeObject, options: DeleteOptions): void {
  const { uid, resourceVersion, name } = live.metadata;
  if (options.uid !== undefined && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). ` +
      "The object might have been deleted and then recreated";
    throw conflict(resource.group, resource.kind, name, why);
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ` +
      `ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw conflict(resource.group, resource.kind, name, why);
  }
}

/** The object with its deletion begun. */
function terminating(
  context: Context,
  resource: Resource,
  live: KubeObject,
  options: DeleteOptions,
): KubeObject {
  const meta = { ...live.metadata };
  const first = meta.deletionTimestamp === undefined;
  if (first) {
    meta.deletionTimestamp = context.now();
    if (resource.storage !== "/namespaces" && resource.storage !== CRD_STORAGE) {
      meta.deletionGracePeriodSeconds = 0;
      if ((meta.generation ?? 0) > 0) meta.generation = meta.generation! + 1;
    }
  }
  if (resource.storage === "/namespaces") {
    return {
      ...live,
      metadata: meta,
      status: { ...(isObject(live["status"]) ? live["status"] : {}), phase: "Terminating" },
    };
  }
  if (resource.storage === CRD_STORAGE) {
    if (!first) return live;
    meta.finalizers = [...new Set([...meta.finalizers ?? [], CRD_FINALIZER])];
    const status = isObject(live["status"]) ? live["status"] : {};
    const conditions = Array.isArray(status["conditions"]) ? status["conditions"] : [];
    const condition = crdCondition(
      "Terminating",
      "True",
      context.now(),
      "InstanceDeletionPending",
      "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    );
    return { ...live, metadata: meta, status: { ...status, conditions: [...conditions, condition] } };
  }
  if (options.propagation !== undefined) {
    const known: string[] = Object.values(PROPAGATION_FINALIZER);
    const others = (meta.finalizers ?? []).filter((item) => !known.includes(item));
    const own = options.propagation === "Background" ? [] : [PROPAGATION_FINALIZER[options.propagation]];
    meta.finalizers = [...others, ...own];
  }
  if ((meta.finalizers ?? []).length === 0) delete meta.finalizers;
  return { ...live, metadata: meta };
}

function success(resource: Resource, object: KubeObject): JsonObject {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: object.metadata.name,
      ...(resource.group === "" ? {} : { group: resource.group }),
      kind: resource.plural,
      uid: object.metadata.uid,
    },
  };
}
