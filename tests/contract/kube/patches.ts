/** Contract: merge, JSON and server-side apply patches, and who manages which field. @module */
import { PATCH, type Session } from "./session.ts";
import type { ContractTests } from "./suite.ts";
import type { Manifest } from "./widget_crd.ts";

function managers(body: Manifest): unknown {
  if (body.kind === "Status") return body;
  const list = (body.metadata.managedFields ?? []).map(({ time: _t, fieldsType: _f, ...rest }: Manifest) =>
    rest
  );
  return { generation: body.metadata.generation, spec: body.spec, status: body.status, managedFields: list };
}

export const patchTests: ContractTests = {
  "A merge patch changes what it names; without effect it keeps the version": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: s.widget("a", { size: 5, code: "abc" }) });
    const at = `${s.widgets}/a`;
    const patch = (step: string, body: unknown, path = at) =>
      s.call(step, "PATCH", path, { body, type: PATCH.merge, managed: true });
    const first = await patch("label", { metadata: { labels: { a: "b" } } });
    const second = await patch("the same", { metadata: { labels: { a: "b" } } });
    s.note("no effect", {
      same: first.body.metadata.resourceVersion === second.body.metadata.resourceVersion,
    });
    await patch("spec", { spec: { size: 6, code: null } });
    await patch("status through the object", { status: { state: "X" } });
    await patch("status, and more that is not taken", {
      status: { state: "X" },
      spec: { size: 9 },
      metadata: { labels: { z: "y" }, finalizers: ["a.b/c"] },
    }, `${at}/status`);
    await patch("a foreign UID on status is not looked at", {
      metadata: { uid: "nope" },
      status: { state: "Y" },
    }, `${at}/status`);
    await patch("a foreign UID", { metadata: { uid: "nope" }, spec: { size: 7 } });
    await patch("an old version", { metadata: { resourceVersion: "1" }, spec: { size: 7 } });
    await patch("no version at all", { metadata: { resourceVersion: "abc" }, spec: { size: 7 } });
    await patch("status null", { status: null }, `${at}/status`);
    await patch("another name", { metadata: { name: "q" } });
    await patch("another kind", { kind: "Foo" });
    await patch("another version", { apiVersion: "v1" });
    await patch("a deletion time", { metadata: { deletionTimestamp: "2020-01-01T00:00:00Z" } });
    await patch("what only the server sets", { metadata: { generation: 99, creationTimestamp: null } });
    await patch("no JSON", "{");
    await patch("an array", "[]");
    await patch("a label of another type", { metadata: { labels: { a: 1 } } });
  },
  "A JSON patch is carried out whole or refused with 422": async (s: Session) => {
    const { body } = await s.quiet("POST", s.widgets, { body: s.widget("a", { size: 5 }) });
    const at = `${s.widgets}/a`;
    const patch = (step: string, operations: unknown, path = at) =>
      s.call(step, "PATCH", path, { body: operations, type: PATCH.json });
    await patch("test of a foreign UID", [{ op: "test", path: "/metadata/uid", value: "zzz" }, {
      op: "add",
      path: "/status/providerId",
      value: "x",
    }], `${at}/status`);
    await patch("test of the UID", [{ op: "test", path: "/metadata/uid", value: body.metadata.uid }, {
      op: "add",
      path: "/status/providerId",
      value: "x",
    }], `${at}/status`);
    await patch("test of a status value", [{ op: "test", path: "/status/providerId", value: "x" }, {
      op: "remove",
      path: "/status/providerId",
    }], `${at}/status`);
    await patch(
      "test of what is not there",
      [{ op: "test", path: "/status/providerId", value: "x" }],
      `${at}/status`,
    );
    await patch("test of what is not there for null", [{
      op: "test",
      path: "/status/providerId",
      value: null,
    }], `${at}/status`);
    await patch("below nothing", [{ op: "add", path: "/spec/none/x", value: 1 }]);
    await patch("remove nothing", [{ op: "remove", path: "/spec/none" }]);
    await patch("replace nothing", [{ op: "replace", path: "/spec/color", value: "red" }]);
    await patch("finalizers", [{ op: "add", path: "/metadata/finalizers", value: ["x.y/z"] }]);
    await patch("one more", [{ op: "add", path: "/metadata/finalizers/-", value: "x.y/w" }]);
    await patch("beyond the end", [{ op: "add", path: "/metadata/finalizers/9", value: "x.y/v" }]);
    await patch("guarded removal", [{ op: "test", path: "/metadata/finalizers/0", value: "x.y/z" }, {
      op: "remove",
      path: "/metadata/finalizers/0",
    }]);
    await patch("move", [{ op: "move", from: "/spec/color", path: "/spec/code" }]);
    await patch("escaped", [{ op: "add", path: "/metadata/annotations", value: {} }, {
      op: "add",
      path: "/metadata/annotations/a.b~1c",
      value: "d",
    }]);
    await patch("unknown operation", [{ op: "nope", path: "/x" }]);
    await patch("no array", {});
    await patch("no JSON", "{");
  },
  "Other kinds of patches are refused for custom resources": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: s.widget("a") });
    await s.call("strategic", "PATCH", `${s.widgets}/a`, { body: {}, type: PATCH.strategic });
    await s.call("plain JSON", "PATCH", `${s.widgets}/a`, { body: {} });
    await s.call("force", "PATCH", `${s.widgets}/a?force=true`, { body: {}, type: PATCH.merge });
    await s.call("long manager", "PATCH", `${s.widgets}/a?fieldManager=${"a".repeat(129)}`, {
      body: {},
      type: PATCH.merge,
    });
  },
  "Server-side apply merges, owns, gives up and conflicts": async (s: Session) => {
    const at = `${s.widgets}/a`;
    const apply = (step: string, query: string, config: unknown, path = at) =>
      s.call(step, "PATCH", `${path}${query}`, { body: config, type: PATCH.apply, pick: managers });
    const status = (value: unknown) => ({
      apiVersion: `${s.group}/v1`,
      kind: "Widget",
      metadata: { name: "a" },
      status: value,
    });
    await apply("without manager", "", s.widget("a", { size: 3 }));
    await apply(
      "new",
      "?fieldManager=m1",
      s.widget("a", { size: 3, color: "red", labels: {}, parts: [{ name: "a" }] }),
    );
    await apply("conflict", "?fieldManager=m2", s.widget("a", { size: 4, code: "abc" }));
    await apply("two conflicts", "?fieldManager=m2", s.widget("a", { size: 4, color: "blue" }));
    await apply(
      "forced",
      "?fieldManager=m2&force=true",
      s.widget("a", { size: 4, code: "abc", parts: [{ name: "b", count: 4 }] }),
    );
    await apply("given up", "?fieldManager=m1", s.widget("a", { size: 4 }));
    const first = await apply("the same value", "?fieldManager=m3", s.widget("a", { size: 4 }));
    const second = await apply("again", "?fieldManager=m3", s.widget("a", { size: 4 }));
    s.note("no effect", {
      same: first.body.metadata.resourceVersion === second.body.metadata.resourceVersion,
    });
    await apply(
      "status",
      "?fieldManager=m3",
      status({ state: "S", conditions: [{ type: "Ready", status: "True" }] }),
      `${at}/status`,
    );
    await apply(
      "status of another",
      "?fieldManager=m4",
      status({ conditions: [{ type: "Synced", status: "True" }] }),
      `${at}/status`,
    );
    await apply(
      "status conflict",
      "?fieldManager=m4",
      status({ conditions: [{ type: "Ready", status: "False" }] }),
      `${at}/status`,
    );
    await apply(
      "status of nothing",
      "?fieldManager=m4",
      { ...status({}), metadata: { name: "none" } },
      `${s.widgets}/none/status`,
    );
    await s.call("an update takes over", "PATCH", `${at}?fieldManager=m5`, {
      body: { spec: { size: 8 } },
      type: PATCH.merge,
      pick: managers,
    });
    await apply("conflict with an update", "?fieldManager=m3", s.widget("a", { size: 4 }));
    await apply("foreign UID", "?fieldManager=m3", s.widget("a", { size: 8 }, { uid: "z" }));
    await apply("old version", "?fieldManager=m3", s.widget("a", { size: 8 }, { resourceVersion: "1" }));
    await apply("without kind", "?fieldManager=m3", { metadata: { name: "a" } });
    await apply("unknown field", "?fieldManager=m3", s.widget("a", { size: 8, foo: 1 }));
    await apply(
      "managedFields",
      "?fieldManager=m3",
      s.widget("a", { size: 8 }, { managedFields: [{ manager: "q" }] }),
    );
    await apply("metadata", "?fieldManager=m6", {
      ...s.widget("a"),
      spec: undefined,
      metadata: { name: "a", labels: { x: "y" }, finalizers: ["q.r/s"] },
    });
  },
};
