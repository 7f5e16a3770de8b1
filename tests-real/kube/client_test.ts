/** The client on a real API server: reads, guarded writes, watch, Events, Lease, RBAC. @module */
import { assert, assertEquals, assertInstanceOf, assertMatch, assertRejects } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { silentLogger } from "../../src/core/log.ts";
import { systemRandom } from "../../src/core/random.ts";
import { createEventRecorder, createEventsPort } from "../../src/kube/events.ts";
import { LeaderElector } from "../../src/kube/lease.ts";
import { createLeasePort } from "../../src/kube/lease_port.ts";
import { addFinalizer, patchStatus, removeFinalizer } from "../../src/kube/patches.ts";
import { KubeError } from "../../src/kube/port.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { applyResource, installCrd } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { never, watchAll, withCluster } from "./support.ts";

const kube = await sharedKube();
await installCrd(kube);
const namespace = await freshNamespace(kube, "client");

async function failure(work: Promise<unknown>): Promise<KubeError> {
  const error = await assertRejects(() => work);
  assertInstanceOf(error, KubeError);
  return error;
}

Deno.test("Rules 2 and 6: guarded writes land on the object they were made for, and on nothing else", () =>
  withCluster(kube.kubeconfig, async (cluster) => {
    await applyResource(kube, namespace, "writes");
    const key = { namespace, name: "writes" };
    const options = { signal: never };
    const fresh = await cluster.get(key, options);
    assertEquals("managedFields" in fresh.metadata, false);
    const finalized = await cluster.patch(key, addFinalizer(fresh.metadata) ?? [], options);
    assertEquals(finalized.metadata.finalizers, ["db.my.domain/finalizer"]);
    const stale = await failure(cluster.patch(key, addFinalizer(fresh.metadata) ?? [], options));
    assertEquals(stale.kind, "invalid", "the resourceVersion has moved on");

    const first = patchStatus(finalized, {
      state: "Creating",
      providerId: "db-1",
      incarnation: 1,
      account: "x",
    });
    const recorded = await cluster.patchStatus(key, first ?? [], options);
    assertEquals(recorded.status?.providerId, "db-1", "W10: on a CR without status");
    const guarded = patchStatus({ ...recorded, status: { ...recorded.status, providerId: "db-0" } }, {
      state: "Available",
    });
    assertEquals((await failure(cluster.patchStatus(key, guarded ?? [], options))).kind, "invalid");
    const namesake = { ...recorded, metadata: { ...recorded.metadata, uid: "another" } };
    const foreign = patchStatus(namesake, { state: "Available" });
    assertEquals((await failure(cluster.patchStatus(key, foreign ?? [], options))).kind, "invalid");
    const next = patchStatus(recorded, { incarnation: 2, providerId: undefined }, { resourceVersion: true });
    assertEquals((await cluster.patchStatus(key, next ?? [], options)).status, {
      state: "Creating",
      account: "x",
      incarnation: 2,
    });

    await kube.kubectl("delete", "externaldatabase", "writes", "-n", namespace, "--wait=false");
    const deleting = await cluster.get(key, options);
    assert(deleting.metadata.deletionTimestamp);
    await cluster.patch(key, removeFinalizer(deleting.metadata) ?? [], options);
    assertEquals((await failure(cluster.get(key, options))).kind, "notFound");
  }));

Deno.test("Rule 6: an id that the API server writes with escapes is guarded and written over all the same", () =>
  withCluster(kube.kubeconfig, async (cluster) => {
    await applyResource(kube, namespace, "escaped");
    const key = { namespace, name: "escaped" };
    const options = { signal: never };
    const fresh = await cluster.get(key, options);
    const first = patchStatus(fresh, { state: "Creating", providerId: "a&b<c>\u2028-1", incarnation: 1 });
    const recorded = await cluster.patchStatus(key, first ?? [], options);
    const second = patchStatus(recorded, { state: "Available" });
    const written = await cluster.patchStatus(key, second ?? [], options);
    assertEquals(written.status, { state: "Available", providerId: "a&b<c>\u2028-1", incarnation: 1 });
    const stale = patchStatus(recorded, { state: "Drifted" });
    assertEquals((await failure(cluster.patchStatus(key, stale ?? [], options))).kind, "invalid");
  }));

Deno.test("W10: what the API server refuses is told by the field at fault", () =>
  withCluster(kube.kubeconfig, async (cluster) => {
    await applyResource(kube, namespace, "refused");
    const key = { namespace, name: "refused" };
    const error = await failure(
      cluster.patch(key, [{ op: "replace", path: "/spec/sizeGb", value: -1 }], { signal: never }),
    );
    assertEquals([error.kind, error.status, error.reason], ["invalid", 422, "Invalid"]);
    assertMatch(error.message, /^Patching ExternalDatabase .*\/refused: .*spec\.sizeGb/);
  }));

Deno.test("A status that was set to null takes the next write all the same", () =>
  withCluster(kube.kubeconfig, async (cluster) => {
    await applyResource(kube, namespace, "nulled");
    const key = { namespace, name: "nulled" };
    const fresh = await cluster.get(key, { signal: never });
    await cluster.patchStatus(key, patchStatus(fresh, { state: "Creating", providerId: "db-1" }) ?? [], {
      signal: never,
    });
    await kube.kubectl(
      ...["patch", "externaldatabase", "nulled", "-n", namespace, "--subresource=status"],
      ...["--type=merge", "-p", '{"status":null}'],
    );
    const wiped = await cluster.get(key, { signal: never });
    assertEquals(wiped.status?.providerId, undefined);
    const again = patchStatus(wiped, { providerId: "db-2" });
    assertEquals((await cluster.patchStatus(key, again ?? [], { signal: never })).status, {
      providerId: "db-2",
    });
  }));

Deno.test("The reflector pages, follows and survives the ends of its watches", () =>
  withCluster(kube.kubeconfig, async (cluster) => {
    const own = await freshNamespace(kube, "reflector");
    for (const name of ["a", "b", "c"]) await applyResource(kube, own, name);
    const r = watchAll(cluster, { namespaces: [own], pageSize: 2, watchTimeoutSeconds: 1 });
    await eventually("the list", () => r.reflector.synced);
    assertEquals(r.told.toSorted(), ["+a", "+b", "+c"]);
    for (let i = 0; i < 3; i++) {
      await applyResource(kube, own, `n${i}`);
      await eventually("the new object", () => r.told.includes(`+n${i}`));
      const before = r.restarts();
      await eventually("the next watch", () => r.restarts() > before);
    }
    await kube.kubectl("delete", "externaldatabase", "b", "-n", own);
    await eventually("the deletion", () => r.told.at(-1) === "-b");
    assertEquals(r.lines.filter((line) => line.startsWith("Listed")).length, 1, r.lines.join("\n"));
    assertEquals(r.told.length, 7, "nothing is told twice");
    await r.stop();
  }));

Deno.test("W9: without the right to list, the reflector says so, and goes on once it is given", async () => {
  const own = await freshNamespace(kube, "rbac");
  const token = (await kube.kubectl("create", "token", "default", "-n", own)).stdout.trim();
  const file = `${kube.dir}/${own}.kubeconfig`;
  await Deno.writeTextFile(`${file}.token`, `${token}\n`);
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: kube.url, "certificate-authority": `${kube.dir}/ca.crt` } }],
      users: [{ name: "u", user: { tokenFile: `${file}.token` } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  await withCluster(file, async (cluster) => {
    const r = watchAll(cluster, { namespaces: [own], backoffCapMs: 1_000 });
    await eventually("the reason", () => r.reflector.reason?.startsWith("forbidden: ") === true);
    assertMatch(r.reflector.reason ?? "", /cannot list resource "externaldatabases"/);
    await kube.kubectl(
      "create",
      "role",
      "edb",
      "--verb=list,watch",
      "--resource=externaldatabases",
      "-n",
      own,
    );
    await kube.kubectl(
      "create",
      "rolebinding",
      "edb",
      "--role=edb",
      `--serviceaccount=${own}:default`,
      "-n",
      own,
    );
    await eventually("synced", () => r.reflector.synced);
    await r.stop();
  });
});

Deno.test("Events and their series are accepted; kubectl shows them on the resource", () =>
  withCluster(kube.kubeconfig, async (cluster, transport) => {
    await applyResource(kube, namespace, "events");
    const regarding = await cluster.get({ namespace, name: "events" }, { signal: never });
    const recorder = createEventRecorder({
      events: createEventsPort(transport),
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      reportingInstance: "pod-1",
    });
    const event = {
      regarding,
      type: "Normal",
      reason: "Created",
      action: "Create",
      note: `${"é".repeat(700)}`,
    } as const;
    for (let i = 0; i < 3; i++) recorder.record(event);
    recorder.record({ ...event, type: "Warning", reason: "CreateFailed", note: "no" });
    await recorder.flush(10_000);
    const described = (await kube.kubectl("describe", "externaldatabase", "events", "-n", namespace)).stdout;
    assertMatch(described, /Normal +Created +.*\(x3 over/);
    assertMatch(described, /Warning +CreateFailed +.*no/);
    const refused = await failure(
      createEventsPort(transport).create(
        { ...event, regarding: { ...regarding, metadata: { ...regarding.metadata, namespace: "nowhere" } } },
        { name: "x.1", at: Date.now(), note: "n", reportingInstance: "pod-1" },
        never,
      ),
    );
    assertEquals(refused.kind, "notFound");
  }));

Deno.test("A lease is taken, renewed, released and taken by the other", () =>
  withCluster(kube.kubeconfig, async (_cluster, transport) => {
    const own = transport.separate({ deadlineMs: 5_000, concurrency: 2 });
    const stop = new AbortController();
    const log: string[] = [];
    const elector = (identity: string) =>
      new LeaderElector({
        lease: createLeasePort(own, { namespace, name: "edb" }),
        clock: systemClock,
        random: systemRandom,
        log: silentLogger,
        identity,
        leaseDurationMs: 6_000,
        renewDeadlineMs: 4_000,
        retryPeriodMs: 300,
      });
    const run = (name: string, e: LeaderElector) =>
      e.run(stop.signal, {
        onStartedLeading: () => log.push(`${name} started`),
        onStoppedLeading: () => log.push(`${name} stopped`),
      });
    const [a, b] = [elector("a"), elector("b")];
    const running = [run("a", a)];
    await eventually("a leads", () => a.leading);
    running.push(run("b", b));
    const first = a.heldUntil?.monotonic ?? 0;
    await eventually("two renewals", () => (a.heldUntil?.monotonic ?? 0) > first + 600);
    assertEquals(b.leading, false);
    await a.release(never);
    await eventually("b leads", () => b.leading, 3_000);
    assertEquals([log, a.leading, b.holder], [["a started", "b started"], false, "b"]);
    stop.abort(new Error("stopping"));
    await Promise.all(running);
    own.close();
  }));
