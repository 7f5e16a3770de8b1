/**
 * What kube-controller-manager does in a real cluster and the tests and the demo need: namespaces and definitions
 * that are being deleted lose their contents, and objects without an owner are collected.
 *
 * @module
 */
import { CRD_FINALIZER, CRD_STORAGE, crdCondition } from "./builtin/crd.ts";
import type { Context } from "./context.ts";
import { startCollector } from "./collector.ts";
import { deleteObject } from "./remove.ts";
import type { Resource } from "./resource.ts";
import { keyOf } from "./store.ts";
import { isObject, jsonEqual, type JsonObject, type KubeObject, member } from "./types.ts";

const IN_BACKGROUND = {
  dryRun: false,
  propagation: undefined,
  uid: undefined,
  resourceVersion: undefined,
} as const;

/** Starts the controllers; they work in the clock's next turn and end with the context. */
export function startControllers(context: Context): void {
  startCollector(context);
  const pending = new Map<string, () => void>();
  let scheduled = false;
  const schedule = (key: string, work: () => void) => {
    pending.set(key, work);
    if (scheduled) return;
    scheduled = true;
    context.later(0, () => {
      scheduled = false;
      const turn = [...pending.values()];
      pending.clear();
      for (const job of turn) job();
    });
  };
  context.store.subscribe((event) => {
    const { object, storage, type } = event;
    const namespace = object.metadata.namespace;
    if (storage === "/namespaces" && type !== "DELETED" && object.metadata.deletionTimestamp !== undefined) {
      schedule(`ns ${object.metadata.name}`, () => emptyNamespace(context, object.metadata.name));
    } else if (namespace !== undefined && isTerminating(context, namespace)) {
      schedule(`ns ${namespace}`, () => emptyNamespace(context, namespace));
    }
    if (storage === CRD_STORAGE && type !== "DELETED" && object.metadata.deletionTimestamp !== undefined) {
      schedule(`crd ${object.metadata.name}`, () => emptyDefinition(context, object.metadata.name));
    } else if (type === "DELETED") {
      const resource = context.registry.ofStorage(storage);
      if (resource?.custom === true) {
        const name = `${resource.plural}.${resource.group}`;
        schedule(`crd ${name}`, () => emptyDefinition(context, name));
      }
    }
  });
}

function isTerminating(context: Context, namespace: string): boolean {
  const object = context.store.get("/namespaces", keyOf(undefined, namespace));
  return object?.metadata.deletionTimestamp !== undefined;
}

/** Deletes what a terminating namespace holds; the namespace goes with the last of it. */
function emptyNamespace(context: Context, name: string): void {
  const namespace = context.store.get("/namespaces", keyOf(undefined, name));
  if (namespace?.metadata.deletionTimestamp === undefined) return;
  const left: [Resource, KubeObject][] = [];
  for (const resource of storedResources(context)) {
    if (!resource.namespaced) continue;
    for (const object of context.store.list(resource.storage, name)) {
      if (object.metadata.deletionTimestamp === undefined) {
        deleteObject(context, resource, name, object.metadata.name, IN_BACKGROUND);
      }
      const after = context.store.get(resource.storage, keyOf(name, object.metadata.name));
      if (after !== undefined) left.push([resource, after]);
    }
  }
  if (left.length === 0) {
    context.store.remove("/namespaces", keyOf(undefined, name));
    return;
  }
  const status = {
    ...(isObject(namespace["status"]) ? namespace["status"] : {}),
    conditions: conditions(context, left),
  };
  const before = member(namespace["status"], "conditions");
  if (JSON.stringify(untimed(before)) === JSON.stringify(untimed(status.conditions))) return;
  context.store.put("/namespaces", { ...namespace, status });
}

function untimed(value: unknown): unknown {
  return Array.isArray(value) ? value.map(({ lastTransitionTime: _, ...rest }) => rest) : value;
}

/** The conditions by which `kubectl describe namespace` says what is still there. */
function conditions(context: Context, left: readonly [Resource, KubeObject][]) {
  const time = context.now();
  const condition = (type: string, status: boolean, reason: string, message: string) => ({
    type,
    status: status ? "True" : "False",
    lastTransitionTime: time,
    reason,
    message,
  });
  const count = (names: readonly string[]) => {
    const counts = new Map<string, number>();
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].sort();
  };
  const kinds = count(
    left.map(([resource]) =>
      resource.group === "" ? `${resource.plural}.` : `${resource.plural}.${resource.group}`
    ),
  );
  const finalizers = count(left.flatMap(([, object]) => object.metadata.finalizers ?? []));
  return [
    condition(
      "NamespaceDeletionDiscoveryFailure",
      false,
      "ResourcesDiscovered",
      "All resources successfully discovered",
    ),
    condition(
      "NamespaceDeletionGroupVersionParsingFailure",
      false,
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    condition(
      "NamespaceDeletionContentFailure",
      false,
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization",
    ),
    condition(
      "NamespaceContentRemaining",
      true,
      "SomeResourcesRemain",
      `Some resources are remaining: ${
        kinds.map(([name, n]) => `${name} has ${n} resource instances`).join(", ")
      }`,
    ),
    condition(
      "NamespaceFinalizersRemaining",
      finalizers.length > 0,
      finalizers.length > 0 ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
      finalizers.length > 0
        ? `Some content in the namespace has finalizers remaining: ${
          finalizers.map(([name, n]) => `${name} in ${n} resource instances`).join(", ")
        }`
        : "All content-preserving finalizers finished",
    ),
  ]; // deno-fmt-ignore-line
}

/** One resource per storage. */
function storedResources(context: Context): Resource[] {
  return [...new Map(context.registry.all().map((resource) => [resource.storage, resource])).values()];
}

/** Deletes the instances of a terminating definition; the definition goes with the last of them. */
function emptyDefinition(context: Context, name: string): void {
  const key = keyOf(undefined, name);
  const crd = context.store.get(CRD_STORAGE, key);
  if (
    crd?.metadata.deletionTimestamp === undefined || !(crd.metadata.finalizers ?? []).includes(CRD_FINALIZER)
  ) return;
  const spec = crd["spec"];
  const storage = `${member(spec, "group")}/${member(member(spec, "names"), "plural")}`;
  const resource = context.registry.ofStorage(storage);
  if (resource !== undefined) {
    for (const object of context.store.list(storage)) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      deleteObject(context, resource, object.metadata.namespace, object.metadata.name, IN_BACKGROUND);
    }
  }
  if (context.store.count(storage) > 0) return void showProgress(context, crd);
  const finalizers = crd.metadata.finalizers!.filter((item) => item !== CRD_FINALIZER);
  if (finalizers.length === 0) context.store.remove(CRD_STORAGE, key);
  else context.store.put(CRD_STORAGE, { ...crd, metadata: { ...crd.metadata, finalizers } });
}

function showProgress(context: Context, crd: KubeObject): void {
  const list = member(crd["status"], "conditions");
  if (!Array.isArray(list)) return;
  const conditions = list.map((item) =>
    member(item, "reason") === "InstanceDeletionPending"
      ? crdCondition(
        "Terminating",
        "True",
        context.now(),
        "InstanceDeletionInProgress",
        "CustomResource deletion is in progress",
      )
      : item
  );
  if (jsonEqual(list, conditions)) return;
  context.store.put(CRD_STORAGE, { ...crd, status: { ...(crd["status"] as JsonObject), conditions } });
}
