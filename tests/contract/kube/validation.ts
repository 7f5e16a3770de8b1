/** Contract: structural schemas, field validation, names, sizes. @module */
import type { Session } from "./session.ts";
import type { ContractTests } from "./suite.ts";

export const validationTests: ContractTests = {
  "Every kind of wrong value is refused in the server's words": async (s: Session) => {
    const specs: Record<string, unknown>[] = [
      { size: 0 },
      { size: 101 },
      { size: 1.5 },
      { size: "a" },
      { size: null },
      { size: 3_000_000_000 },
      { color: "pink" },
      { color: 5 },
      { color: null },
      { code: "a" },
      { code: "abcdefg" },
      { code: "A1" },
      { code: "éé" },
      { replicas: 1.5 },
      { replicas: "x" },
      { ratio: "y" },
      { ratio: 5 },
      { on: 1 },
      { on: "true" },
      { port: {} },
      { port: 1.5 },
      { port: "http" },
      { port: 80 },
      { nullable: null },
      { when: "x" },
      { when: "2020-01-01T00:00:00Z" },
      { mult: 4 },
      { excl: 1 },
      { excl: 9 },
      { free: 5 },
      { free: { a: { b: 1 } } },
      { labels: { a: 1 } },
      { labels: { a: null } },
      { labels: { a: "a", b: "b", c: "c", d: "d" } },
      { tags: [] },
      { tags: ["a", "a"] },
      { tags: ["a", "b", "c", "d"] },
      { tags: "x" },
      { tags: ["a", null] },
      { parts: {} },
      { parts: ["a"] },
      { parts: [{ count: 1 }] },
      { parts: [{ name: null }] },
      { parts: [{ name: "q" }, { name: "q" }] },
      { nested: "x" },
      { nested: null, replicas: null },
      { engine: "" },
    ]; // deno-fmt-ignore-line
    for (const spec of specs) {
      const pick = (b: { spec?: unknown }) => b.spec ?? b;
      await s.call(JSON.stringify(spec), "POST", `${s.widgets}?dryRun=All`, { body: s.widget("v", { size: 2, ...spec }), pick });
    }
    await s.call("no spec", "POST", s.widgets, { body: { ...s.widget("v"), spec: undefined } });
    await s.call("spec of another type", "POST", s.widgets, { body: s.widget("v", "x") });
    await s.call("several at once", "POST", s.widgets, {
      body: s.widget("v", { size: 0, color: "pink", on: 1 }),
    });
  },
  "Unknown and duplicate fields are refused, told or ignored as asked": async (s: Session) => {
    const body = s.widget("a", { size: 2, unknown: 1, nested: { bad: 2 } }, { foo: 1 });
    for (const mode of ["Strict", "Warn", "Ignore", "Bad"]) {
      await s.call(mode, "POST", `${s.widgets}?dryRun=All&fieldValidation=${mode}`, { body });
    }
    const twice = JSON.stringify(s.widget("a")).replace('"size":2', '"size":1,"size":2');
    await s.call("duplicate, strict", "POST", `${s.widgets}?dryRun=All&fieldValidation=Strict`, {
      body: twice,
    });
    await s.call("duplicate, warned", "POST", `${s.widgets}?dryRun=All`, { body: twice });
    await s.quiet("POST", s.widgets, { body: s.widget("b") });
    const patch = { body: { spec: { foo: 1 } }, type: "application/merge-patch+json" };
    await s.call("strict patch", "PATCH", `${s.widgets}/b?fieldValidation=Strict`, patch);
    await s.call("warned patch", "PATCH", `${s.widgets}/b`, patch);
    await s.call("strict status", "PATCH", `${s.widgets}/b/status`, {
      body: { status: { bogus: 1, state: "x" } },
      type: "application/merge-patch+json",
    });
  },
  "Names, labels, annotations, finalizers and owners are checked": async (s: Session) => {
    const post = (step: string, metadata: object, name = "v") =>
      s.call(step, "POST", `${s.widgets}?dryRun=All`, { body: s.widget(name, { size: 2 }, metadata) });
    await post("upper case", {}, "B_b");
    await post("empty", {}, "");
    await post("long", {}, "a".repeat(254));
    await post("longest", {}, "a".repeat(253));
    await post("label key", { labels: { "-a": "ok" } });
    await post("label value", { labels: { b: "bad value!" } });
    await post("label value too long", { labels: { b: "b".repeat(64) } });
    await post("label key too long", { labels: { [`${"p".repeat(254)}/${"k".repeat(64)}`]: "ok" } });
    await post("label key with two slashes", { labels: { "a/b/c": "ok" } });
    await post("annotation key", { annotations: { "-a": "ok" } });
    await post("annotations too large", { annotations: { a: "x".repeat(262_145) } });
    await post("finalizer", { finalizers: ["x.y/z", "bad value"] });
    await post("owner", { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "" }] });
    await s.call("label type", "POST", s.widgets, { body: s.widget("v", { size: 2 }, { labels: { a: 1 } }) });
    await s.call("name type", "POST", s.widgets, { body: s.widget(5 as unknown as string) });
    await s.call("namespace with a dot", "POST", "/api/v1/namespaces", {
      body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "t.n" } },
    });
    await s.call("namespace in upper case", "POST", "/api/v1/namespaces", {
      body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "T" } },
    });
  },
  "What random resources showed to differ once": async (s: Session) => {
    const at = `${s.widgets}?dryRun=All`;
    const post = (step: string, body: unknown, query = "") => s.call(step, "POST", at + query, { body });
    const parts = ["q", "q", "q", "r"].map((name) => ({ name }));
    await post("a key three times", s.widget("v", { size: 2, parts }));
    await post("a value three times", s.widget("v", { size: 2, tags: ["a", "a", "a"] }));
    await post("an integer beyond 64 bits", s.widget("v", { size: 1e21 }));
    await post("misnamed, and a rule is broken", {
      ...s.widget("A", { size: 1, period: "90s" }),
      kind: "widget",
    });
    await post(
      "misnamed, and a field is unknown",
      { ...s.widget("A", { size: 2, x: 1 }), kind: "widget" },
      "&fieldValidation=Strict",
    );
    await post(
      "misnamed, and its metadata too",
      { ...s.widget("A", { size: 2 }, { x: 1 }), kind: "widget" },
      "&fieldValidation=Strict",
    );
    await post("a list where an object belongs", s.widget("v", [{ a: 0 }]), "&fieldValidation=Strict");
    await post("a time that is none", s.widget("v", { size: 2 }, { creationTimestamp: "yesterday" }));
    await post("a version and a wrong value", s.widget("v", { size: 0 }, { resourceVersion: "1" }));
    await post("a version", s.widget("v", { size: 2 }, { resourceVersion: "1" }));
    await s.quiet("POST", s.widgets, { body: s.widget("a") });
    const merge = "application/merge-patch+json";
    await s.call("__proto__", "PATCH", `${s.widgets}/a`, {
      body: '{"metadata":{"annotations":{"__proto__":"x"}}}',
      type: merge,
    });
    for (const status of [{ locked: 1 }, { conditions: [{ type: "R" }] }, "x", { conditions: "x" }]) {
      await s.call(`status ${JSON.stringify(status)}`, "PATCH", `${s.widgets}/a/status`, {
        body: { status },
        type: merge,
      });
    }
  },
  "Objects and bodies that are too large are refused": async (s: Session) => {
    const free = { text: "x".repeat(2_000_000) };
    await s.call("2 MB object", "POST", s.widgets, { body: s.widget("big", { size: 2, free }) });
    await s.quiet("POST", s.widgets, { body: s.widget("a") });
    await s.call("2 MB status", "PATCH", `${s.widgets}/a/status`, {
      body: { status: { state: "x".repeat(2_000_000) } },
      type: "application/merge-patch+json",
    });
    await s.call("4 MB body", "POST", s.widgets, {
      body: s.widget("huge", { size: 2, free: { text: "x".repeat(4_000_000) } }),
    });
  },
  "A definition that is not structural is refused": async (s: Session) => {
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const names = { kind: "Foo", plural: "foos" };
    const crd = (schema: unknown, name = "foos.bar.example.com", extra: object = {}) => ({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name },
      spec: {
        group: "bar.example.com",
        scope: "Namespaced",
        names,
        ...extra,
        versions: [{
          name: "v1",
          served: true,
          storage: true,
          ...(schema === undefined ? {} : { schema: { openAPIV3Schema: schema } }),
        }],
      },
    }); // deno-fmt-ignore-line
    const post = (step: string, body: unknown, query = "") => s.call(step, "POST", crds + query, { body });
    await post("field without type", crd({ type: "object", properties: { a: {} } }, "foo.bar.example.com"));
    await post("no schema", crd(undefined));
    await post("no spec", {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "foos.bar.example.com" },
    });
    await post(
      "additionalProperties",
      crd({ type: "object", additionalProperties: false, properties: { a: { type: "string" } } }),
    );
    await post(
      "unknown fields",
      crd({ type: "object", zzz: 1 }, undefined, { foo: 1 }),
      "?fieldValidation=Strict",
    );
    await post("exists", {
      ...crd({ type: "object" }),
      metadata: { name: `widgets.${s.group}` },
      spec: { ...crd({ type: "object" }).spec, group: s.group, names: { kind: "Widget", plural: "widgets" } },
    });
  },
};
