/** Contract: Tables, as kubectl get asks for them. @module */
import { type Session, TABLE } from "./session.ts";
import type { ContractTests } from "./suite.ts";
import type { Manifest } from "./widget_crd.ts";

const headers = { accept: TABLE };
const columns = (b: Manifest) => b.columnDefinitions.map(({ description: _, ...rest }: Manifest) => rest);
const rows = (b: Manifest) => ({
  ...b,
  columnDefinitions: columns(b),
  rows: b.rows.map((row: Manifest) => [row.cells, row.object?.kind ?? null]),
});

export const tableTests: ContractTests = {
  "A custom resource's columns, with priority and age": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: s.widget("a", { size: 2, color: "red" }) });
    await s.quiet("POST", s.widgets, { body: s.widget("b") });
    const status = {
      state: "Up",
      conditions: [{ type: "Other", status: "False" }, { type: "Ready", status: "True" }],
    };
    await s.quiet("PATCH", `${s.widgets}/b/status`, {
      body: { status },
      type: "application/merge-patch+json",
    });
    await s.call("list", "GET", `${s.widgets}?limit=500`, { headers });
    await s.call("page", "GET", `${s.widgets}?limit=1`, { headers, pick: rows });
    await s.call("one", "GET", `${s.widgets}/b`, { headers, pick: rows });
    await s.call("without objects", "GET", `${s.widgets}/b?includeObject=None`, { headers, pick: rows });
    await s.call("with objects", "GET", `${s.widgets}/b?includeObject=Object`, { headers, pick: rows });
    await s.call("missing", "GET", `${s.widgets}/zz`, { headers });
    await s.call("empty", "GET", `${s.widgets}?labelSelector=x`, { headers, pick: rows });
  },
  "Built-in kinds have the server's columns": async (s: Session) => {
    const core = `/api/v1/namespaces/${s.namespace}`;
    await s.quiet("POST", `${core}/secrets`, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { a: "b", c: "d" } },
    });
    await s.quiet("POST", `${core}/configmaps`, {
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "b" } },
    });
    await s.quiet("POST", `/apis/coordination.k8s.io/v1/namespaces/${s.namespace}/leases`, {
      body: {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "l" },
        spec: { holderIdentity: "me" },
      },
    });
    await s.quiet("POST", `${core}/events`, {
      body: {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "e" },
        involvedObject: { kind: "Widget", name: "p", namespace: s.namespace },
        reason: "R",
        message: " m ",
        type: "Normal",
        source: { component: "comp" },
        count: 4,
      },
    });
    await s.call("secret", "GET", `${core}/secrets/s`, { headers, pick: rows });
    await s.call("config map", "GET", `${core}/configmaps/c`, { headers, pick: rows });
    await s.call("lease", "GET", `/apis/coordination.k8s.io/v1/namespaces/${s.namespace}/leases/l`, {
      headers,
      pick: rows,
    });
    await s.call("event", "GET", `${core}/events/e`, { headers, pick: rows });
    await s.call(
      "event in the new shape",
      "GET",
      `/apis/events.k8s.io/v1/namespaces/${s.namespace}/events/e`,
      { headers, pick: rows },
    );
    await s.call("namespace", "GET", core, { headers, pick: rows });
    await s.call(
      "definition",
      "GET",
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${s.group}`,
      { headers, pick: (b) => [columns(b), b.rows[0].cells.slice(0, 3), b.rows[0].cells.slice(4)] },
    );
  },
};
