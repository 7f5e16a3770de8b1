/** Contract: ConfigMaps, Secrets, Leases and Namespaces. @module */
import { PATCH, type Session } from "./session.ts";
import type { ContractTests } from "./suite.ts";

export const kindTests: ContractTests = {
  "ConfigMaps": async (s: Session) => {
    const at = `/api/v1/namespaces/${s.namespace}/configmaps`;
    const map = (name: string, rest: object = {}) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      ...rest,
    });
    await s.call("create", "POST", at, { body: map("c", { data: { a: "b" } }), managed: true });
    await s.call("without kind", "POST", at, { body: { metadata: { name: "ck" }, data: { a: "b" } } });
    await s.call("wrong type", "POST", at, { body: map("cb", { data: { a: 1 } }) });
    await s.call("bad key", "POST", at, { body: map("cb", { data: { "a b": "1" } }) });
    await s.call("unknown, strict", "POST", `${at}?fieldValidation=Strict`, { body: map("cb", { foo: 1 }) });
    await s.call("unknown, warned", "POST", `${at}?dryRun=All`, { body: map("cb", { foo: 1 }) });
    await s.call("wrong kind", "POST", at, { body: { ...map("cb"), kind: "Secret" } });
    await s.call("strategic patch", "PATCH", `${at}/c`, {
      body: { data: { c: "d", a: null } },
      type: PATCH.strategic,
      managed: true,
    });
    await s.call("merge patch", "PATCH", `${at}/c`, { body: { data: { e: "f" } }, type: PATCH.merge });
    await s.call("replace without version", "PUT", `${at}/c`, { body: map("c", { data: { z: "z" } }) });
    await s.call("replace nothing", "PUT", `${at}/none`, { body: map("none") });
    await s.call("delete", "DELETE", `${at}/c`);
  },
  "Secrets": async (s: Session) => {
    const at = `/api/v1/namespaces/${s.namespace}/secrets`;
    const secret = (name: string, rest: object = {}) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name },
      ...rest,
    });
    await s.call("create", "POST", at, {
      body: secret("s", { stringData: { a: "b" }, data: { k: "aGk=" } }),
      managed: true,
    });
    await s.call("no base64", "POST", at, { body: secret("sb", { data: { k: "!!" } }) });
    await s.call("another type", "PATCH", `${at}/s`, { body: { type: "Foo" }, type: PATCH.merge });
    await s.call("string data", "PATCH", `${at}/s`, {
      body: { stringData: { a: "c" } },
      type: PATCH.strategic,
    });
    await s.call("immutable", "PATCH", `${at}/s`, { body: { immutable: true }, type: PATCH.merge });
    await s.call("change of an immutable one", "PATCH", `${at}/s`, {
      body: { data: { a: "eg==" } },
      type: PATCH.merge,
    });
    await s.call("mutable again", "PATCH", `${at}/s`, { body: { immutable: false }, type: PATCH.merge });
    await s.call("apply", "PATCH", `${at}/sa?fieldManager=q`, {
      body: secret("sa", { stringData: { x: "y" } }),
      type: PATCH.apply,
      managed: true,
    });
    await s.call("apply over it", "PATCH", `${at}/sa?fieldManager=r`, {
      body: secret("sa", { data: { z: "eg==" } }),
      type: PATCH.apply,
      managed: true,
    });
    await s.call("JSON patch with a test", "PATCH", `${at}/sa`, {
      body: [{ op: "test", path: "/data/x", value: "bad" }],
      type: PATCH.json,
    });
  },
  "Leases": async (s: Session) => {
    const at = `/apis/coordination.k8s.io/v1/namespaces/${s.namespace}/leases`;
    const time = "2026-11-29T10:00:00.000000Z";
    const lease = (name: string, spec: object, metadata: object = {}) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, ...metadata },
      spec,
    });
    const spec = {
      holderIdentity: "me",
      leaseDurationSeconds: 15,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 0,
    };
    const { body } = await s.call("create", "POST", at, { body: lease("l", spec), managed: true });
    await s.call("again", "POST", at, { body: lease("l", spec) });
    await s.call("time without fraction", "POST", at, {
      body: lease("l2", { renewTime: "2026-11-29T10:00:00Z" }),
    });
    await s.call("bad numbers", "POST", at, {
      body: lease("l2", { leaseDurationSeconds: 0, leaseTransitions: -1 }),
    });
    await s.call("renew", "PUT", `${at}/l`, {
      body: { ...body, spec: { ...spec, renewTime: "2026-11-29T10:00:02.000000Z" } },
    });
    await s.call("stale", "PUT", `${at}/l`, { body });
    await s.call("without version", "PUT", `${at}/l`, { body: lease("l", spec) });
    await s.call("merge", "PATCH", `${at}/l`, { body: { spec: { holderIdentity: "" } }, type: PATCH.merge });
    await s.call("put creates", "PUT", `${at}/lput`, { body: lease("lput", { holderIdentity: "x" }) });
  },
  "Namespaces": async (s: Session) => {
    const at = `/api/v1/namespaces/${s.namespace}`;
    await s.call("read", "GET", at, { managed: true });
    await s.call("label", "PATCH", at, { body: { metadata: { labels: { x: "y" } } }, type: PATCH.strategic });
    await s.call("exists", "POST", "/api/v1/namespaces", {
      body: { apiVersion: "v1", kind: "Namespace", metadata: { name: s.namespace } },
    });
    await s.call("finalize is no read", "GET", `${at}/finalize`);
    await s.call("status", "GET", `${at}/status`);
    const system = await s.quiet("GET", "/api/v1/namespaces/kube-system");
    s.note("the cluster's identity", { uid: system.body.metadata.uid, phase: system.body.status.phase });
    await s.call("may I", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { verb: "get", resource: "widgets", group: s.group } },
      },
      pick: (b) => [b.kind, b.spec, b.status.allowed],
    });
  },
};
