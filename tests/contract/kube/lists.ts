/** Contract: pages, selectors, versions of lists. @module */
import { assertEquals } from "@std/assert";
import type { Session } from "./session.ts";
import type { ContractTests } from "./suite.ts";
import type { Manifest } from "./widget_crd.ts";

const names = (body: Manifest) =>
  body.items === undefined ? body : {
    kind: body.kind,
    names: body.items.map((item: Manifest) => item.metadata.name),
    metadata: body.metadata,
  }; // deno-fmt-ignore-line

async function fill(s: Session): Promise<void> {
  for (const name of ["l1", "l2", "l3", "l4", "l5"]) {
    const labels = { n: name, ...(name === "l5" ? { extra: "1" } : {}), num: name.slice(1) };
    await s.quiet("POST", s.widgets, { body: s.widget(name, { size: 2, color: name === "l1" ? "red" : "blue" }, { labels }) });
  }
}

export const listTests: ContractTests = {
  "A list is told in pages, each as the collection was at the first": async (s: Session) => {
    await fill(s);
    const list = (step: string, query: string) =>
      s.call(step, "GET", `${s.widgets}?${query}`, { pick: names });
    const first = await list("first page", "limit=2");
    await s.quiet("POST", s.widgets, { body: s.widget("l0") });
    await s.quiet("DELETE", `${s.widgets}/l4`);
    await s.quiet("PATCH", `${s.widgets}/l3`, {
      body: { spec: { size: 9 } },
      type: "application/merge-patch+json",
    });
    const next = `limit=2&continue=${encodeURIComponent(first.body.metadata.continue)}`;
    const second = await list("second page", next);
    assertEquals(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
    s.note("as it was", { size: second.body.items[0].spec.size });
    await list("last page", `limit=2&continue=${encodeURIComponent(second.body.metadata.continue)}`);
    await list("with a version", `${next}&resourceVersion=1`);
    await list("selected page", "limit=2&labelSelector=extra!%3D2");
    await list("page that is just full", "limit=5");
    await list("no limit", "limit=0");
    await list("negative", "limit=-1");
    await list("no number", "limit=x");
    await s.call("no token", "GET", `${s.widgets}?limit=2&continue=zzz`, {
      pick: (b) => [b.code, b.reason, b.message.replace(/valid: .*/, "valid")],
    });
  },
  "Label selectors": async (s: Session) => {
    await fill(s);
    for (
      const selector of [
        "n=l1",
        "n==l1",
        "n!=l1",
        "n in (l1,l2)",
        "n notin (l1, l2)",
        "extra",
        "!extra",
        "n,extra",
        "n=l1,n=l2",
        "num>3",
        "num<2",
        "n in ()",
        "n=",
        "",
        "n in (l1",
        "=x",
        "a b",
        "n=bad value",
        "n=l1,",
        "n in l1",
      ]
    ) {
      await s.call(selector, "GET", `${s.widgets}?labelSelector=${encodeURIComponent(selector)}`, {
        pick: names,
      });
    }
  },
  "Field selectors": async (s: Session) => {
    await fill(s);
    for (
      const selector of [
        "metadata.name=l1",
        "metadata.name==l1",
        "metadata.name!=l1",
        `metadata.namespace=${s.namespace}`,
        "metadata.namespace=x",
        "spec.color=blue",
        "spec.color!=blue",
        "metadata.name=l1,spec.color=red",
        "metadata.name=l1,spec.color=blue",
        "spec.size=2",
        "metadata.uid=x",
        "metadata.name",
      ]
    ) {
      await s.call(selector, "GET", `${s.widgets}?fieldSelector=${encodeURIComponent(selector)}`, {
        pick: names,
      });
    }
    await s.call("secrets", "GET", `/api/v1/namespaces/${s.namespace}/secrets?fieldSelector=type%3DOpaque`, {
      pick: names,
    });
    await s.call("namespaces", "GET", `/api/v1/namespaces?fieldSelector=metadata.name%3D${s.namespace}`, {
      pick: names,
    });
  },
  "Versions of lists and reads": async (s: Session) => {
    await fill(s);
    const before = (await s.quiet("GET", s.widgets)).body.metadata.resourceVersion;
    await s.quiet("DELETE", `${s.widgets}/l1`);
    // What a list of any version is served from learns of it a moment later.
    await s.until(`${s.widgets}?resourceVersion=0`, ({ body }) => body.items.length === 4);
    const list = (step: string, query: string) =>
      s.call(step, "GET", `${s.widgets}?${query}`, { pick: names });
    await list("any", "resourceVersion=0");
    await list("not older", `resourceVersion=${before}&resourceVersionMatch=NotOlderThan`);
    await list("exact", `resourceVersion=${before}&resourceVersionMatch=Exact`);
    await list("exact page", `resourceVersion=${before}&resourceVersionMatch=Exact&limit=2`);
    await list("exact any", "resourceVersion=0&resourceVersionMatch=Exact");
    await list("match without version", "resourceVersionMatch=Exact");
    await list("unknown match", `resourceVersion=${before}&resourceVersionMatch=Foo`);
    await list("no version", "resourceVersion=abc");
    await list("future", "resourceVersion=999999999");
    await list("all namespaces", `labelSelector=n%3Dl2`);
    await s.call("missing namespace", "GET", `/apis/${s.group}/v1/namespaces/nope/widgets`, { pick: names });
    await s.call("object, any version", "GET", `${s.widgets}/l2?resourceVersion=0`);
    await s.call("object, future", "GET", `${s.widgets}/l2?resourceVersion=999999999`);
  },
};
