/** Contract: finalizers, preconditions, collections, namespaces, definitions, owners. @module */
import { assertEquals } from "@std/assert";
import { PATCH, type Session } from "./session.ts";
import type { ContractTests } from "./suite.ts";
import { type Manifest, widgetCrd } from "./widget_crd.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export const deletionTests: ContractTests = {
  "Without finalizers an object goes at once; with them it terminates": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: s.widget("a") });
    await s.call("plain", "DELETE", `${s.widgets}/a`);
    await s.quiet("POST", s.widgets, { body: s.widget("b", { size: 2 }, { finalizers: ["x.y/z"] }) });
    const at = `${s.widgets}/b`;
    const patch = (step: string, body: unknown, path = at) =>
      s.call(step, "PATCH", path, { body, type: PATCH.merge });
    await s.call("held", "DELETE", at);
    await s.call("again", "DELETE", at);
    await s.call("create while terminating", "POST", s.widgets, { body: s.widget("b") });
    await s.call("new finalizer", "PATCH", at, {
      body: [{ op: "add", path: "/metadata/finalizers/-", value: "q.r/s" }],
      type: PATCH.json,
    });
    await patch("label", { metadata: { labels: { a: "b" } } });
    await patch("spec", { spec: { size: 4 } });
    await patch("status", { status: { state: "D" } }, `${at}/status`);
    await patch("no undoing", { metadata: { deletionTimestamp: null } });
    await s.call("last finalizer", "PATCH", at, {
      body: [{ op: "test", path: "/metadata/finalizers/0", value: "x.y/z" }, {
        op: "remove",
        path: "/metadata/finalizers/0",
      }],
      type: PATCH.json,
    });
    await s.call("gone", "GET", at);
  },
  "Preconditions and policies": async (s: Session) => {
    const at = `${s.widgets}/a`;
    await s.quiet("POST", s.widgets, { body: s.widget("a", { size: 2 }, { finalizers: ["x.y/z"] }) });
    const remove = (step: string, preconditions: object) =>
      s.call(step, "DELETE", at, { body: { kind: "DeleteOptions", apiVersion: "v1", preconditions } });
    await remove("foreign UID", { uid: "zzz" });
    await remove("old version", { resourceVersion: "1" });
    await s.call("unknown policy", "DELETE", `${at}?propagationPolicy=Nope`);
    await s.call("no JSON", "DELETE", at, { body: "{x", pick: (b) => [b.code, b.reason] });
    const uid = (await s.quiet("GET", at)).body.metadata.uid;
    await remove("its UID", { uid });
  },
  "A collection is deleted by selector": async (s: Session) => {
    for (const name of ["a", "b", "c"]) {
      await s.quiet("POST", s.widgets, { body: s.widget(name, { size: 2 }, { labels: { n: name } }) });
    }
    const names = (b: Manifest) => ({
      kind: b.kind,
      names: b.items.map((item: Manifest) => item.metadata.name),
    });
    await s.call("none", "DELETE", `${s.widgets}?labelSelector=n%3Dz`, { pick: names });
    await s.call("one", "DELETE", `${s.widgets}?labelSelector=n%3Db`, { pick: names });
    await s.call("left", "GET", s.widgets, { pick: names });
    await s.call("all", "DELETE", s.widgets, { pick: names });
    await s.call("nothing left", "GET", s.widgets, { pick: names });
  },
  "A terminating namespace takes nothing new and goes when it is empty": async (s: Session) => {
    const name = `x${s.namespace}`;
    const at = `/api/v1/namespaces/${name}`;
    const inside = `/apis/${s.group}/v1/namespaces/${name}/widgets`;
    await s.call("create", "POST", "/api/v1/namespaces", {
      body: { apiVersion: "v1", kind: "Namespace", metadata: { name } },
    });
    await s.quiet("POST", inside, { body: s.widget("h", { size: 2 }, { finalizers: ["x.y/z"] }) });
    await s.quiet("POST", `${at}/secrets`, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } },
    });
    await s.call("delete", "DELETE", at);
    await s.call("delete again", "DELETE", at, { pick: (b) => b.status.phase });
    await s.until(`${inside}/h`, ({ body }) => body.metadata.deletionTimestamp !== undefined);
    await s.call("create in it", "POST", inside, { body: s.widget("h2") });
    await s.call("secret in it", "POST", `${at}/secrets`, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "s2" } },
    });
    await s.call("apply in it", "PATCH", `${inside}/h3?fieldManager=q`, {
      body: s.widget("h3"),
      type: PATCH.apply,
    });
    await s.call("patch in it", "PATCH", `${inside}/h`, {
      body: { spec: { size: 3 } },
      type: PATCH.merge,
      pick: (b) => b.spec.size,
    });
    const { body } = await s.until(
      at,
      ({ body }) =>
        (body.status.conditions ?? []).some((item: Manifest) =>
          item.type === "NamespaceFinalizersRemaining" && item.status === "True"
        ),
    );
    const kinds = ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"];
    s.note("conditions", {
      list: body.status.conditions.filter((item: Manifest) => kinds.includes(item.type)),
    });
    await s.quiet("PATCH", `${inside}/h`, { body: { metadata: { finalizers: null } }, type: PATCH.merge });
    await s.until(at, ({ status }) => status === 404);
    await s.call("gone", "GET", at);
    await s.call("create in what is gone", "POST", inside, { body: s.widget("h2") });
    await s.call("default", "DELETE", "/api/v1/namespaces/default?dryRun=All");
    await s.call("kube-system", "DELETE", "/api/v1/namespaces/kube-system?dryRun=All");
  },
  "A deleted definition deletes its objects and goes with the last": async (s: Session) => {
    const group = `gone.${s.group}`;
    const at = `${CRDS}/widgets.${group}`;
    const inside = `/apis/${group}/v1/namespaces/${s.namespace}/widgets`;
    const own = (name: string, finalizers: string[]) => ({
      ...s.widget(name, { size: 2 }, { finalizers }),
      apiVersion: `${group}/v1`,
    });
    assertEquals((await s.quiet("POST", CRDS, { body: widgetCrd(group) })).status, 201);
    await s.until(inside, ({ status }) => status === 200);
    await s.until(
      at,
      ({ body }) =>
        body.status?.conditions?.some((item: Manifest) =>
          item.type === "Established" && item.status === "True"
        ),
    );
    await s.call("established", "GET", at, {
      pick: (b) => ({ metadata: { ...b.metadata, managedFields: undefined }, status: b.status }),
    });
    await s.quiet("POST", inside, { body: own("a", []) });
    await s.quiet("POST", inside, { body: own("b", ["x.y/z"]) });
    await s.call("delete", "DELETE", at, {
      pick: (b) => ({
        finalizers: b.metadata.finalizers,
        generation: b.metadata.generation,
        deleting: b.metadata.deletionTimestamp !== undefined,
        conditions: b.status.conditions.map((c: Manifest) => [c.type, c.status, c.reason, c.message]),
      }),
    });
    await s.until(`${inside}/b`, ({ body }) => body.metadata?.deletionTimestamp !== undefined);
    await s.until(`${inside}/a`, ({ status }) => status === 404);
    await s.call("create in it", "POST", inside, { body: own("c", []), pick: (b) => [b.code, b.reason] });
    await s.call("patch in it", "PATCH", `${inside}/b`, {
      body: { metadata: { labels: { f: "f" } } },
      type: PATCH.merge,
      pick: (b) => b.metadata.labels,
    });
    await s.quiet("PATCH", `${inside}/b`, { body: { metadata: { finalizers: null } }, type: PATCH.merge });
    await s.until(at, ({ status }) => status === 404);
    await s.until(inside, ({ status }) => status === 404);
    await s.call("list of what is gone", "GET", inside);
  },
  "What an object owns is collected": async (s: Session) => {
    const { body: owner } = await s.quiet("POST", s.widgets, { body: s.widget("owner") });
    const secrets = `/api/v1/namespaces/${s.namespace}/secrets`;
    const ownerReferences = [{
      apiVersion: `${s.group}/v1`,
      kind: "Widget",
      name: "owner",
      uid: owner.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    }];
    await s.call("owned", "POST", secrets, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "s", ownerReferences } },
    });
    await s.quiet("POST", secrets, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "free" } },
    });
    // The real collector must have seen the kind before it acts on it.
    await s.quiet("DELETE", `${s.widgets}/owner?propagationPolicy=Foreground`);
    await s.until(`${s.widgets}/owner`, ({ status }) => status === 404);
    await s.until(`${secrets}/s`, ({ status }) => status === 404);
    await s.call("not owned", "GET", `${secrets}/free`, { pick: (b) => b.metadata.name });
  },
};
