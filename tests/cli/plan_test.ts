/** `plan` over a whole cluster: each kind of thing that an operator would do, and that nothing is done. @module */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  ANNOTATION,
  API_VERSION,
  CLASS_KIND,
  CLASS_PLURAL,
  GROUP,
  TAG,
  VERSION,
} from "../../src/api/constants.ts";
import { classResourceDefinition } from "../../src/api/crd.ts";
import { systemClock } from "../../src/core/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { readOnlyCluster, readOnlyProvider } from "../../src/plan/read_only.ts";
import { finalSnapshotName } from "../../src/statechart/snapshot.ts";
import { onStage } from "./plan_support.ts";

const actions = (resource: { readonly actions: readonly { readonly action: string }[] }) =>
  resource.actions.map((a) => a.action);

Deno.test("An empty cluster is an empty plan, and ends with 0", () =>
  onStage(async (stage) => {
    const { code, text } = await stage.plan();
    assertEquals(code, 0);
    assertStringIncludes(
      text,
      "Plan: 0 to create, 0 to adopt, 0 to change, 0 to delete, 0 to retain, 0 unchanged.",
    );
  }));

Deno.test("A resource in step is left as it is, and ends with 0", () =>
  onStage(async (stage) => {
    await stage.put("orders", { database: {} });
    const { code, outcome, actions, reason } = await stage.of("orders");
    assertEquals([code, outcome, actions, reason], [0, "nothing", [], "Available"]);
    assertMatch(
      (await stage.plan()).text,
      /^= nothing {2}default\/orders {2}The database is as the spec asks/m,
    );
  }));

Deno.test("A new resource is created, and ends with 2", () =>
  onStage(async (stage) => {
    await stage.put("orders", { spec: { sizeGb: 40 } });
    const { code, outcome, actions: [first] } = await stage.of("orders");
    assertEquals([code, outcome], [2, "change"]);
    assertEquals(first, {
      action: "create",
      id: null,
      engine: "postgres",
      version: "14.2",
      sizeGb: 40,
      why: "no database carries the resource's UID",
    });
    assertMatch(
      (await stage.plan()).text,
      /^\+ create {2}default\/orders {2}postgres 14.2, 40 GiB {2}\(no database/m,
    );
  }));

Deno.test("C3: what an earlier create has brought is found by its tags, and no second one is planned", () =>
  onStage(async (stage) => {
    await stage.put("orders", { status: {} });
    const { metadata } = await stage.api(
      "GET",
      "/apis/crd.my.domain/v1/namespaces/default/externaldatabases/orders",
    );
    stage.cloud.insert({ name: "orders", tags: stage.tags("orders", metadata.uid) });
    assertEquals(actions(await stage.of("orders")), []);
  }));

Deno.test("An edit is a change, drift is too, and each says which it is", () =>
  onStage(async (stage) => {
    await stage.put("edited", { database: {} });
    await stage.edit("edited", { sizeGb: 40 });
    await stage.put("drifted", { database: { sizeGb: 10 } });
    await stage.put("upgraded", { database: {} });
    await stage.edit("upgraded", { version: "15" });
    await stage.put("reported", { database: { sizeGb: 10 }, spec: { driftPolicy: "Report" } });
    const { code, plan } = await stage.json();
    assertEquals(code, 2);
    const [drifted, edited, reported, upgraded] = plan.resources;
    assertEquals(drifted?.actions.map((a) => "changes" in a ? [a.changes, a.why] : a), [
      [[{ field: "sizeGb", from: 10, to: 20 }], "the database has drifted from the spec"],
    ]);
    assertEquals(edited?.actions.map((a) => "changes" in a ? [a.changes, a.why] : a), [
      [[{ field: "sizeGb", from: 20, to: 40 }], "the spec was changed"],
    ]);
    assertEquals([reported?.outcome, reported?.reason], ["cannot", "DriftReported"]);
    assertEquals(actions(upgraded ?? { actions: [] }), ["modify"]);
    const { text } = await stage.plan();
    assertMatch(text, /^~ modify +default\/edited +db-\S+: sizeGb 20 → 40 {2}\(the spec was changed\)$/m);
    assertMatch(text, /^~ upgrade +default\/upgraded +db-\S+: version 14.2 → 15/m);
    assertMatch(
      text,
      /^! cannot +default\/reported +DriftReported: Not repaired, as driftPolicy is Report: sizeGb 10 → 20/m,
    );
  }));

Deno.test("A deletion deletes, retains, or takes a snapshot first, as its policy says", () =>
  onStage(async (stage) => {
    const id = await stage.put("a", { database: {}, deleted: true });
    const kept = await stage.put("b", { database: {}, spec: { deletionPolicy: "Retain" }, deleted: true });
    const saved = await stage.put("c", { database: {}, spec: { deletionPolicy: "Snapshot" }, deleted: true });
    const { plan: { resources: [a, b, c] } } = await stage.json();
    assertEquals(a?.actions.map((x) => "id" in x ? [x.action, x.id] : x.action)[0], ["delete", id ?? ""]);
    assertEquals(b?.actions.map((x) => "id" in x ? [x.action, x.id] : x.action), [
      ["retain", kept ?? ""],
      "release",
    ]);
    const object = await stage.api("GET", "/apis/crd.my.domain/v1/namespaces/default/externaldatabases/c");
    assertEquals(c?.actions.map((x) => "finalSnapshot" in x ? x.finalSnapshot : x.action), [
      finalSnapshotName(object, saved ?? ""),
    ]);
    const { text } = await stage.plan();
    assertMatch(
      text,
      /^- delete +default\/a +the database db-\S+ {2}\(the resource is being deleted, and deletionPolicy is Delete\)$/m,
    );
    assertMatch(text, /^~ retain +default\/b /m);
    assertMatch(text, /^- delete +default\/c +the database db-\S+, after the final snapshot default-c-\S+ /m);
  }));

Deno.test("What holds a deletion back is said: protection, pause, a provider without snapshots", () =>
  onStage(async (stage) => {
    stage.cloud.configure({ snapshots: false });
    await stage.put("a", { database: {}, spec: { deletionProtection: true }, deleted: true });
    await stage.put("b", { database: {}, spec: { paused: true }, deleted: true });
    await stage.put("c", { database: {}, spec: { deletionPolicy: "Snapshot" }, deleted: true });
    const { code, plan } = await stage.json();
    assertEquals(plan.resources.map((r) => [r.outcome, r.reason]), [
      ["cannot", "DeletionProtected"],
      ["cannot", "Paused"],
      ["cannot", "SnapshotUnsupported"],
    ]);
    assertEquals(code, 0);
  }));

Deno.test("A deletion of what was never made, or is only observed, or is abandoned, lets the resource go", () =>
  onStage(async (stage) => {
    await stage.put("gone", { database: false, deleted: true, status: { removing: "db-gone-gone" } });
    const { id } = stage.cloud.insert({ name: "legacy" });
    await stage.put("watcher", {
      spec: { managementPolicy: "ObserveOnly", providerId: id },
      status: { providerId: id },
      deleted: true,
    });
    const { plan } = await stage.json();
    assertEquals(plan.resources.map(actions), [["release"], ["release"]]);
    assertMatch(
      (await stage.plan()).text,
      /^- release +default\/watcher +the resource {2}\(its database was only observed\)$/m,
    );
  }));

Deno.test("A database that was deleted at the console is made anew, or only reported; many at once are a mass absence", () =>
  onStage(async (stage) => {
    await stage.put("a", { database: false });
    await stage.put("b", { database: false, spec: { onMissing: "Report" } });
    const { plan: { resources: [a, b] } } = await stage.json();
    assertEquals(actions(a ?? { actions: [] }), ["create"]);
    assertStringIncludes(a?.actions[0]?.why ?? "", "db-gone-a");
    assertEquals([b?.outcome, b?.reason], ["cannot", "ExternalMissing"]);
    for (const name of ["c", "d", "e"]) await stage.put(name, { database: false });
    const { code, plan } = await stage.json();
    assertEquals([...new Set(plan.resources.map((r) => r.reason))], ["MassAbsence"]);
    assertEquals(code, 0);
  }));

Deno.test("Adoption: a free database is adopted, one of another resource is a conflict that names it, one that is not there is told", () =>
  onStage(async (stage) => {
    const free = stage.cloud.insert({ name: "legacy" }).id;
    const taken = await stage.put("owner", { database: {} });
    await stage.put("a", { spec: { providerId: free } });
    await stage.put("b", { spec: { providerId: taken ?? "" } });
    await stage.put("c", { spec: { providerId: "db-none" } });
    await stage.put("d", { spec: { providerId: free } });
    const { plan } = await stage.json();
    const [a, b, c, d] = plan.resources;
    assertEquals(a?.actions.map((x) => "id" in x ? [x.action, x.id] : x.action), [["adopt", free]]);
    assertEquals([b?.outcome, b?.reason], ["cannot", "Conflict"]);
    assertStringIncludes(b?.message ?? "", ANNOTATION.adoptFrom);
    assertEquals([c?.outcome, c?.reason], ["cannot", "CreateFailed"]);
    assertEquals([d?.outcome, d?.reason], ["cannot", "Conflict"], "the one before it will have it");
  }));

Deno.test("A failed database that was never usable is replaced; one that was is told of", () =>
  onStage(async (stage) => {
    await stage.put("a", {
      database: { state: "Failed", endpoint: undefined },
      status: { state: "Creating", endpoint: undefined as never },
    });
    await stage.put("b", { database: { state: "Failed" } });
    const { plan: { resources: [a, b] } } = await stage.json();
    assertEquals(actions(a ?? { actions: [] })[0], "delete");
    assertStringIncludes(a?.actions[0]?.why ?? "", "failed before it was ever available");
    assertEquals([b?.outcome, b?.reason], ["cannot", "DatabaseFailed"]);
  }));

Deno.test("A2: under another account nothing is planned, and said", () =>
  onStage(async (stage) => {
    await stage.put("a", { database: {} });
    stage.cloud.configure({ account: "another" });
    const { code, outcome, reason } = await stage.of("a");
    assertEquals([code, outcome, reason], [0, "cannot", "Conflict"]);
  }));

Deno.test("A provider that does not answer is told, and nothing is planned: that ends with 1, not with nothing to do", () =>
  onStage(async (stage) => {
    await stage.put("a", { database: {} });
    stage.cloud.faults.add({
      fault: { answer: { status: 401, code: "Unauthenticated", message: "no" }, effect: "none" },
    });
    const { code, plan } = await stage.json();
    assertStringIncludes(plan.provider.error ?? "", "Unauthenticated");
    assertEquals([code, plan.resources[0]?.outcome, plan.resources[0]?.reason], [
      1,
      "cannot",
      "Unauthorised",
    ]);
  }));

Deno.test("A connection Secret that would be written, and a password that would be set, are told without what they hold", () =>
  onStage(async (stage) => {
    await stage.put("a", { spec: { connectionSecretRef: {} } });
    await stage.put("b", { spec: { connectionSecretRef: { name: "login" } }, database: {} });
    const { plan: { resources: [a, b] } } = await stage.json();
    assertEquals(actions(a ?? { actions: [] }), ["secret", "create"]);
    assertEquals(actions(b ?? { actions: [] }), ["secret", "password"]);
    const { text } = await stage.plan();
    assertMatch(text, /^~ write +default\/b +the connection Secret login /m);
    assert(!/uri|postgresql:\/\//.test(text));
  }));

Deno.test("Each class's own account is looked at, its defaults and bounds hold, and one that is not there is told", () =>
  onStage(async (stage) => {
    const other = new SimulatedCloud({
      clock: systemClock,
      random: systemRandom,
      latencyMs: 0,
      account: "other",
    });
    const server = serveCloud(other);
    try {
      await stage.api(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        classResourceDefinition(),
      );
      const make = (name: string, spec: object) =>
        stage.api("POST", `/apis/${GROUP}/${VERSION}/${CLASS_PLURAL}`, {
          apiVersion: API_VERSION,
          kind: CLASS_KIND,
          metadata: { name },
          spec: { provider: "http", ...spec },
        });
      await make("gold", {
        parameters: { url: server.url },
        defaults: { deletionPolicy: "Retain" },
        allowed: { sizeGb: { max: 30 } },
      });
      await make("broken", { parameters: { uri: server.url } });
      await make("here", { provider: "local", parameters: { folder: `${stage.directory}/local` } });
      await stage.put("a", { spec: { className: "gold" } });
      await stage.put("b", { spec: { className: "gold", sizeGb: 40 } });
      await stage.put("c", { spec: { className: "none" } });
      await stage.put("d", { spec: { className: "broken" } });
      await stage.put("e", { spec: { className: "here" } });
      await stage.put("f", {});
      await stage.put("g", { spec: { className: "gold" }, status: { className: "gold", account: "other" } });
      const { metadata } = await stage.api(
        "GET",
        "/apis/crd.my.domain/v1/namespaces/default/externaldatabases/g",
      );
      const { id } = other.insert({ name: "g", tags: stage.tags("g", metadata.uid) });
      await stage.api("PATCH", "/apis/crd.my.domain/v1/namespaces/default/externaldatabases/g/status", {
        status: { providerId: id },
      });
      await stage.api("DELETE", "/apis/crd.my.domain/v1/namespaces/default/externaldatabases/g");
      const { plan } = await stage.json();
      assertEquals(plan.resources.map((r) => [r.name, r.class, r.actions[0]?.action ?? r.reason]), [
        ["a", "gold", "create"],
        ["b", "gold", "NotAllowed"],
        ["c", "none", "ClassMissing"],
        ["d", "broken", "ClassMissing"],
        ["e", "here", "secret"],
        ["f", null, "create"],
        ["g", "gold", "retain"],
      ]);
      assertEquals(other.ledger.mutatingCalls(), []);
    } finally {
      await server.close();
    }
  }));

Deno.test("What a user wrote can neither paint nor break the lines, and colours come for terminals alone", () =>
  onStage(async (stage) => {
    const evil = "db-\u001b[31mred\u202e\nfake line";
    stage.cloud.insert({
      name: "theirs",
      tags: { [TAG.uid]: "u", [TAG.cluster]: "other", [TAG.namespace]: "default", [TAG.crName]: evil },
    });
    const [{ id } = { id: "" }] = stage.cloud.databases();
    await stage.put("a", { spec: { providerId: id } });
    const { text } = await stage.plan();
    assert(
      !text.includes("\u001b") && !text.includes("\u202e") && !/^fake line/m.test(text),
      JSON.stringify(text),
    );
    const painted = await stage.plan([], true);
    assertStringIncludes(painted.text, "\u001b[36m! cannot");
    // deno-lint-ignore no-control-regex
    assertEquals(painted.text.replace(/\u001b\[\d+m/g, ""), text);
  }));

Deno.test("The ports of a plan refuse every change before anything is sent", async () => {
  const unreachable = new Proxy({}, {
    get: (_, name) => {
      if (name === "name") return "cloud";
      throw new Error(`${String(name)} was reached`);
    },
  });
  const provider = readOnlyProvider(unreachable as never);
  const cluster = readOnlyCluster(unreachable as never);
  const calls: (() => Promise<unknown>)[] = [
    () => provider.create({} as never, {} as never),
    () => provider.modify("", {}, {} as never),
    () => provider.delete("", {} as never),
    () => cluster.patch({} as never, [], {} as never),
    () => cluster.patchStatus({} as never, [], {} as never),
  ];
  for (const call of calls) {
    const error = await Promise.resolve().then(call).then(() => undefined, (e: Error) => e);
    assertEquals(error?.name, "ChangeRefusedError", String(error));
  }
});
