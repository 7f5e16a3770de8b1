/** Contract: create, read, replace, conflicts, generation, the status subresource, dry runs. @module */
import type { Session } from "./session.ts";
import type { ContractTests } from "./suite.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export const objectTests: ContractTests = {
  "A new object gets identity, defaults and managers; unknown fields are dropped with a warning": async (
    s: Session,
  ) => {
    const spec = { size: 2, color: "red", parts: [{ name: "x" }], unknown: 1 };
    await s.call("create", "POST", s.widgets, {
      body: s.widget("a", spec, { labels: { a: "b" } }),
      managed: true,
    });
    await s.call("read", "GET", `${s.widgets}/a`, { managed: true });
    await s.call("again", "POST", s.widgets, { body: s.widget("a") });
    await s.call("generated name", "POST", s.widgets, {
      body: s.widget("", { size: 2 }, { generateName: "gen-" }),
      pick: (b) => b.metadata.name,
    });
    await s.call("status is not taken", "POST", s.widgets, {
      body: s.widget("b", { size: 2 }, {}, { status: { state: "Old" } }),
      pick: (b) => b.status,
    });
    const own = { uid: "abc", generation: 7, creationTimestamp: "2020-01-01T00:00:00Z", selfLink: "x" };
    await s.call("identity is not taken", "POST", s.widgets, { body: s.widget("c", { size: 2 }, own) });
    await s.call("resourceVersion is refused", "POST", s.widgets, {
      body: s.widget("d", { size: 2 }, { resourceVersion: "5" }),
    });
    const yaml = `apiVersion: ${s.group}/v1\nkind: Widget\nmetadata: {name: yaml}\nspec: {size: 3}\n`;
    await s.call("yaml", "POST", s.widgets, { body: yaml, type: "application/yaml" });
  },
  "What is not there answers 404 in its own words": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: s.widget("a") });
    await s.call("object", "GET", `${s.widgets}/zz`);
    await s.call("subresource", "GET", `${s.widgets}/a/foo`);
    await s.call("scale", "GET", `${s.widgets}/a/scale`);
    await s.call("namespace of a create", "POST", `/apis/${s.group}/v1/namespaces/nope/widgets`, {
      body: s.widget("b"),
    });
    await s.call("create without namespace", "POST", `/apis/${s.group}/v1/widgets`, { body: s.widget("b") });
    await s.call("patch", "PATCH", `${s.widgets}/zz`, { body: {}, type: "application/merge-patch+json" });
    await s.call("delete", "DELETE", `${s.widgets}/zz`);
    await s.call("replace", "PUT", `${s.widgets}/zz`, { body: s.widget("zz") });
    await s.call("secret", "GET", `/api/v1/namespaces/${s.namespace}/secrets/zz`);
    await s.call("definition", "GET", `${CRDS}/none.example.com`);
  },
  "Methods and media types that are not served are refused": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: s.widget("a") });
    await s.call("create on status", "POST", `${s.widgets}/a/status`, { body: s.widget("a") });
    await s.call("delete on status", "DELETE", `${s.widgets}/a/status`);
    await s.call("replace a collection", "PUT", s.widgets, { body: s.widget("a") });
    await s.call("patch a collection", "PATCH", s.widgets, {
      body: {},
      type: "application/merge-patch+json",
    });
    await s.call("text", "POST", s.widgets, { body: "x", type: "text/plain" });
    await s.call("html", "GET", `${s.widgets}/a`, { headers: { accept: "text/html" } });
    await s.call("no body", "POST", s.widgets, { body: "" });
    await s.call("metadata alone", "GET", `${s.widgets}/a`, {
      headers: { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" },
    });
  },
  "The name and namespace of the body are those of the URL": async (s: Session) => {
    await s.call("namespace", "POST", s.widgets, {
      body: s.widget("b", { size: 2 }, { namespace: "other" }),
    });
    const { body } = await s.quiet("POST", s.widgets, { body: s.widget("a") });
    await s.call("replace under another name", "PUT", `${s.widgets}/a`, {
      body: { ...body, metadata: { ...body.metadata, name: "b" } },
    });
    await s.call("kind", "POST", s.widgets, { body: { ...s.widget("b"), kind: "Foo" } });
    await s.call("version", "POST", s.widgets, { body: { ...s.widget("b"), apiVersion: "v1" } });
    await s.call("no kind", "POST", s.widgets, { body: { metadata: { name: "b" }, spec: { size: 2 } } });
  },
  "Replacing obeys resourceVersion and UID, and raises the generation for the spec alone": async (
    s: Session,
  ) => {
    const at = `${s.widgets}/a`;
    const old = (await s.quiet("POST", s.widgets, { body: s.widget("a") })).body;
    await s.call("spec", "PUT", at, {
      body: { ...old, spec: { ...old.spec, color: "green" }, status: { state: "ignored" } },
    });
    await s.call("stale", "PUT", at, { body: old });
    await s.call("without version", "PUT", at, { body: s.widget("a") });
    const now = (await s.quiet("GET", at)).body;
    await s.call("foreign UID", "PUT", at, {
      body: { ...now, metadata: { ...now.metadata, uid: "zzz" } },
      pick: (b) => ({ ...b, message: b.message.replace(/Key: \S+/, "Key") }),
    });
    await s.call("foreign UID on status", "PUT", `${at}/status`, {
      body: { ...now, metadata: { ...now.metadata, uid: "zzz" }, status: { state: "Z" } },
      pick: (b) => b.code,
    });
    await s.call("status", "PUT", `${at}/status`, {
      body: { ...now, status: { state: "P" }, spec: { size: 99 } },
    });
    await s.call("no status", "PUT", `${at}/status`, {
      body: { ...(await s.quiet("GET", at)).body, status: undefined },
    });
    await s.call("read status", "GET", `${at}/status`);
    await s.call("label", "PATCH", at, {
      body: { metadata: { labels: { a: "b" } } },
      type: "application/merge-patch+json",
    });
  },
  "A dry run answers and stores nothing": async (s: Session) => {
    await s.call("create", "POST", `${s.widgets}?dryRun=All`, { body: s.widget("a") });
    await s.call("not stored", "GET", `${s.widgets}/a`);
    await s.call("bad value", "POST", `${s.widgets}?dryRun=Some`, { body: s.widget("a") });
    const made = await s.quiet("POST", s.widgets, { body: s.widget("b") });
    await s.call("patch", "PATCH", `${s.widgets}/b?dryRun=All`, {
      body: { spec: { size: 9 } },
      type: "application/merge-patch+json",
    });
    await s.call("delete", "DELETE", `${s.widgets}/b?dryRun=All`);
    const after = await s.quiet("GET", `${s.widgets}/b`);
    s.note("unchanged", { same: made.body.metadata.resourceVersion === after.body.metadata.resourceVersion });
  },
};
