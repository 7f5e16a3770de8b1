/** Contract: Events in their two shapes. @module */
import { PATCH, type Session } from "./session.ts";
import type { ContractTests } from "./suite.ts";
import type { Manifest } from "./widget_crd.ts";

const TIME = "2026-11-29T10:00:00.000000Z";

function event(s: Session, name: string, extra: object = {}): Manifest {
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name },
    eventTime: TIME,
    reportingController: "op",
    reportingInstance: "op-1",
    action: "Create",
    reason: "Created",
    regarding: { apiVersion: `${s.group}/v1`, kind: "Widget", name: "p", namespace: s.namespace, uid: "u-1" },
    note: "made it",
    type: "Normal",
    ...extra,
  };
}

const paths = (s: Session) =>
  [
    `/api/v1/namespaces/${s.namespace}/events`,
    `/apis/events.k8s.io/v1/namespaces/${s.namespace}/events`,
  ] as const;

export const eventTests: ContractTests = {
  "What is written in one shape is read in the other": async (s: Session) => {
    const [core, v1] = paths(s);
    await s.call("new", "POST", v1, { body: event(s, "e1"), managed: true });
    await s.call("read as core", "GET", `${core}/e1`);
    await s.call("series", "PATCH", `${v1}/e1`, {
      body: { series: { count: 3, lastObservedTime: "2026-11-29T10:05:00.000000Z" } },
      type: PATCH.merge,
    });
    await s.call("series as core", "GET", `${core}/e1`);
    await s.call("series without fraction", "PATCH", `${v1}/e1`, {
      body: { series: { count: 4, lastObservedTime: "2026-11-29T10:05:00Z" } },
      type: PATCH.merge,
    });
    await s.call("changed", "PATCH", `${v1}/e1`, { body: { note: "other" }, type: PATCH.merge });
    const involvedObject = {
      apiVersion: `${s.group}/v1`,
      kind: "Widget",
      name: "p",
      namespace: s.namespace,
      uid: "u-1",
    };
    const old = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "c1" },
      involvedObject,
      reason: "R",
      message: "m",
      type: "Normal",
      source: { component: "comp", host: "h" },
      firstTimestamp: "2026-11-29T09:00:00Z",
      lastTimestamp: "2026-11-29T10:00:00Z",
      count: 4,
    };
    await s.call("core", "POST", core, { body: old, managed: true });
    await s.call("core as new", "GET", `${v1}/c1`);
    await s.call("deleted", "DELETE", `${v1}/c1`);
    await s.call("gone", "GET", `${core}/c1`);
  },
  "Times have six digits and required fields are required": async (s: Session) => {
    const [, v1] = paths(s);
    for (
      const eventTime of [
        "2026-11-29T10:00:00Z",
        "2026-11-29T10:00:00.123Z",
        "2026-11-29T10:00:00.123456+01:00",
      ]
    ) {
      await s.call(eventTime, "POST", `${v1}?dryRun=All`, {
        body: event(s, "t", { eventTime }),
        pick: (b) => b.message ?? b.kind,
      });
    }
    const bare = { apiVersion: "events.k8s.io/v1", kind: "Event", metadata: { name: "e2" } };
    await s.call("nothing", "POST", v1, { body: bare });
    await s.call("time alone", "POST", v1, { body: { ...bare, eventTime: TIME } });
    await s.call("long note", "POST", v1, { body: event(s, "e2", { note: "x".repeat(1025) }) });
    await s.call("longest note", "POST", `${v1}?dryRun=All`, {
      body: event(s, "e2", { note: "x".repeat(1024) }),
      pick: (b) => b.kind,
    });
    await s.call("type", "POST", v1, { body: event(s, "e2", { type: "Foo" }) });
    const about = (namespace?: string) => ({
      regarding: { kind: "Widget", name: "p", ...(namespace === undefined ? {} : { namespace }) },
    });
    await s.call("about no namespace", "POST", v1, { body: event(s, "e2", about()) });
    await s.call("about another namespace", "POST", v1, { body: event(s, "e2", about("kube-system")) });
    const [core] = paths(s);
    const old = { apiVersion: "v1", kind: "Event", metadata: { name: "e2" }, reason: "R", message: "m" };
    await s.call("core about no namespace", "POST", core, {
      body: { ...old, involvedObject: { kind: "Widget", name: "p" } },
    });
    await s.call("core about another namespace", "POST", core, {
      body: { ...old, involvedObject: { kind: "Widget", name: "p", namespace: "kube-system" } },
    });
    await s.call("deprecated", "POST", v1, { body: event(s, "e2", { deprecatedCount: 1 }) });
  },
  "Events are selected by what they are about": async (s: Session) => {
    const [core, v1] = paths(s);
    await s.quiet("POST", v1, { body: event(s, "e1") });
    await s.quiet("POST", v1, { body: event(s, "e2", { reason: "Other", type: "Warning" }) });
    const names = (b: Manifest) => b.items?.map((item: Manifest) => item.metadata.name) ?? b;
    const about =
      `involvedObject.name=p,involvedObject.namespace=${s.namespace},involvedObject.kind=Widget,involvedObject.uid=u-1`;
    for (
      const selector of [
        about,
        "involvedObject.uid=zz",
        "type=Warning",
        "reason=Other,type=Normal",
        "reportingComponent=op",
        "source=op",
        "regarding.name=p",
        "regarding.name=zz",
        "foo=bar",
      ]
    ) {
      await s.call(selector, "GET", `${core}?fieldSelector=${encodeURIComponent(selector)}`, { pick: names });
    }
    for (
      const selector of [
        "regarding.name=p,regarding.kind=Widget",
        "regarding.uid=x",
        "reason=Other",
        "reportingController=op",
        "involvedObject.name=p",
      ]
    ) {
      await s.call(selector, "GET", `${v1}?fieldSelector=${encodeURIComponent(selector)}`, { pick: names });
    }
  },
};
