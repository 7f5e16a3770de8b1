/**
 * Q1 and Q3: a large fleet. Edits reach the cloud at once, whatever the backlog of polls or of a restart; a restart is
 * bounded, jittered, and sends no burst.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { FINALIZER, OPERATOR_NAME, TAG } from "../../../src/api/constants.ts";
import type { ExternalDatabaseStatus } from "../../../src/api/schema.ts";
import { CLUSTER_ID } from "../../../src/simulation/kube_port.ts";
import { MINUTE, NAMESPACE, play, SECOND, SPEC, type Stage } from "./support.ts";

/** A fleet that an earlier process left: resources and databases, without a process that made them. */
function inherit(stage: Stage, count: number, state: "Available" | "Drifted" = "Available"): string[] {
  const { store, clock } = stage.world;
  const now = new Date(clock.now()).toISOString();
  return Array.from({ length: count }, (_, n) => {
    const name = `db-${n}`;
    const key = { namespace: NAMESPACE, name };
    const { uid } = store.create(key, SPEC, [FINALIZER]).metadata;
    const tags = {
      [TAG.crName]: name,
      [TAG.uid]: uid,
      [TAG.namespace]: NAMESPACE,
      [TAG.cluster]: CLUSTER_ID,
      [TAG.incarnation]: "1",
      [TAG.managedBy]: OPERATOR_NAME,
    };
    const { id, endpoint = "" } = stage.cloud.insert({ name, ...SPEC, tags });
    const word = (type: "Ready" | "Synced", message: string) => ({
      type,
      status: "True" as const,
      reason: "Available",
      message,
      observedGeneration: 1,
      lastTransitionTime: now,
    });
    const status: ExternalDatabaseStatus = {
      state,
      endpoint,
      providerId: id,
      providerState: "Available",
      account: "simulated",
      incarnation: 1,
      observedGeneration: 1,
      observed: { engine: SPEC.engine, version: SPEC.version, sizeGb: SPEC.sizeGb },
      conditions: [
        word("Ready", `The database accepts connections at ${endpoint}`),
        word("Synced", "The database is as the spec asks"),
      ],
    };
    store.setStatus(key, status);
    return name;
  });
}

/** Times from an edit to its modify at the cloud, in milliseconds, sorted. */
function latencies(stage: Stage, edits: ReadonlyMap<string, number>): number[] {
  const { origin } = stage.world;
  return [...edits].map(([name, at]) => {
    const sent = stage.calls("modify").find((c) => c.id === stage.id(name));
    assert(sent !== undefined, `the edit of ${name} never reached the cloud`);
    return sent.at - origin - at;
  }).toSorted((a, b) => a - b);
}

const BUCKETS = { "50 calls a second": 50 } as const;

for (const [words, ratePerSecond] of Object.entries(BUCKETS)) {
  Deno.test(`Q1: 1,000 ready, polls due, 100 new ones, 10 edits (${words}): every edit is at the cloud within 2 s`, () =>
    play({
      minutes: 3,
      plan: { pollMs: 5 * MINUTE, concurrency: 16 },
      deps: { ratePerSecond },
    }, async (stage) => {
      const names = inherit(stage, 1_000);
      await stage.until("the list was read", () => stage.calls("list").length >= 10);
      await stage.pause(20 * SECOND);
      // Every one reads by itself from now on: a thousand polls are due at once.
      for (const name of names.slice(0, 300)) stage.edit(name, { pollInterval: "30s" });
      await stage.pause(35 * SECOND);
      const before = stage.mark();
      for (let n = 0; n < 100; n++) stage.create(`new-${n}`);
      const edits = new Map<string, number>();
      for (let n = 0; n < 10; n++) {
        edits.set(`db-${n * 97}`, stage.time);
        stage.edit(`db-${n * 97}`, { sizeGb: 40 });
        await stage.pause(37);
      }
      await stage.pause(10 * SECOND);
      const times = latencies(stage, edits);
      assert((times.at(-1) ?? 0) <= 2 * SECOND, `an edit took ${times.at(-1)} ms`);
      assertEquals(stage.calls("modify", before).length, 10);
      await stage.until(
        "the new ones are made",
        () => stage.effects("create").length === 100,
        MINUTE,
      );
      assertEquals(stage.effects("delete"), []);
    }));
}

/** Who restarts: all in step, or all in the middle of something. */
const STATES = ["Available", "Drifted"] as const;

for (const state of STATES) {
  const count = state === "Available" ? 5_000 : 1_000;
  Deno.test(`Q3: a restart with ${count} resources (${state}), API server and cloud at 50 a second: bounded, no burst, edits made meanwhile first`, () =>
    play({
      minutes: 5,
      plan: { pollMs: 5 * MINUTE, kube: { ratePerSecond: 50 }, cloud: { ratePerSecond: 60, burst: 60 } },
      deps: { ratePerSecond: 50 },
    }, async (stage) => {
      inherit(stage, count, state);
      const edits = new Map<string, number>();
      await stage.pause(300);
      for (let n = 0; n < 10; n++) {
        edits.set(`db-${n * 83}`, stage.time);
        stage.edit(`db-${n * 83}`, { sizeGb: 40 });
        await stage.pause(200);
      }
      await stage.until("the edits are there", () => stage.effects("modify").length === 10, MINUTE);
      const times = latencies(stage, edits);
      assert((times.at(-1) ?? 0) <= 4 * SECOND, `an edit waited ${times.at(-1)} ms behind the restart`);
      await stage.pause(2 * MINUTE);
      const calls = stage.cloud.ledger.calls();
      assertEquals(
        calls.filter((c) => c.outcome === "Throttled"),
        [],
        "the cloud was called faster than told",
      );
      // In step: one list of 100 a page and the edits. In the middle of something: one read each besides.
      const limit = count / 100 * 2 + 200 + (state === "Drifted" ? 2 * count : 0);
      assert(calls.length <= limit, `${calls.length} calls, more than ${limit}`);
      for (let second = 0; second < 120; second++) {
        const from = stage.world.origin + second * SECOND;
        const n = calls.filter((c) => c.at >= from && c.at < from + SECOND).length;
        assert(n <= 101, `${n} calls in second ${second}`);
      }
      assertEquals([stage.effects("create"), stage.effects("delete")], [[], []]);
      assertEquals(stage.effects("modify").length, 10);
      const writes = stage.world.store.since(0).filter((c) => c.by !== "user").length;
      assert(writes <= (state === "Drifted" ? count : 0) + 60, `${writes} writes to the cluster`);
    }));
}
