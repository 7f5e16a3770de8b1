// deno-lint-ignore-file require-yield -- watches that end or break without an event
/** The reflector's waits, on a manual clock and a scripted cluster. @module */
import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import {
  type Cluster,
  KubeError,
  type ListRequest,
  type WatchEvent,
  type WatchRequest,
} from "../../src/kube/port.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { startReflector } from "./support.ts";

interface Script {
  list?: (request: ListRequest) => { resourceVersion: string; items?: readonly ExternalDatabase[] };
  watch?: (request: WatchRequest) => AsyncIterable<WatchEvent>;
}

function scripted(clock: ManualClock, script: Script) {
  const lists: number[] = [], watches: number[] = [];
  const unused = () => Promise.reject(new Error("not used"));
  const cluster: Cluster = {
    get: unused,
    patch: unused,
    patchStatus: unused,
    crdState: unused,
    clusterId: unused,
    list(request) {
      lists.push(clock.monotonic());
      try {
        return Promise.resolve({ items: [], ...(script.list?.(request) ?? { resourceVersion: "1" }) });
      } catch (error) {
        return Promise.reject(error);
      }
    },
    watch(request) {
      watches.push(clock.monotonic());
      return script.watch?.(request) ?? silent(request);
    },
  };
  return { cluster, lists, watches };
}

/** A watch that is open and says nothing, and ignores its signal. */
async function* silent(request: WatchRequest): AsyncGenerator<WatchEvent> {
  request.onOpen?.();
  await new Promise(() => {});
}

function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((time, i) => time - (times[i] ?? 0));
}

const slow = { watchTimeoutSeconds: 290, backoffBaseMs: 800, backoffCapMs: 30_000 };

Deno.test("W3: waits double from 0.8 s to 30 s, each between half and all of its bound", async () => {
  const clock = new ManualClock();
  const { cluster, lists } = scripted(clock, {
    list: () => {
      throw new KubeError("network", "refused");
    },
  });
  const r = startReflector(cluster, slow, clock);
  await clock.advance(200_000);
  const waits = gaps(lists);
  waits.slice(0, 8).forEach((wait, i) => {
    const bound = Math.min(30_000, 800 * 2 ** i);
    assert(wait >= bound / 2 && wait <= bound, `wait ${i}: ${wait}`);
  });
  assert(new Set(waits.slice(-4)).size > 1, "jitter at the cap");
  await r.stop();
});

Deno.test("W9: 429 with Retry-After is obeyed, with some jitter, also at the start", async () => {
  const clock = new ManualClock();
  const { cluster, lists } = scripted(clock, {
    list: () => {
      if (clock.monotonic() < 41_000) {
        throw new KubeError("throttled", "slow down", { status: 429, retryAfterMs: 40_000 });
      }
      return { resourceVersion: "1" };
    },
  });
  const r = startReflector(cluster, slow, clock);
  await clock.advance(39_000);
  assertEquals([lists.length, r.reflector.synced, r.reflector.reason], [1, false, "slow down"]);
  await clock.advance(2_000);
  assertEquals([lists.length, r.reflector.synced, r.reflector.reason], [2, true, undefined]);
  assert((gaps(lists)[0] ?? 0) >= 40_000);
  await r.stop();
});

Deno.test("Two minutes of health reset the back-off; less does not", async () => {
  const clock = new ManualClock();
  let life = 0;
  const { cluster, watches } = scripted(clock, {
    watch: async function* (request) {
      request.onOpen?.();
      await new Promise<void>((resolve) => clock.setTimeout(resolve, life));
      throw new KubeError("network", "reset");
    },
  });
  const r = startReflector(cluster, slow, clock);
  await clock.advance(60_000);
  assert((gaps(watches).at(-1) ?? 0) > 7_000, "it has backed off");
  life = 100_000;
  await clock.advance(300_000);
  assert((gaps(watches).at(-1) ?? 0) - life > 7_000, "100 s of health are not enough");
  for (life of [121_000, 120_000]) {
    await clock.advance(600_000);
    assert((gaps(watches).at(-1) ?? 0) - life <= 800, "back to the first step");
  }
  await r.stop();
});

Deno.test("W2: a watch that says nothing is dead five seconds after its time-out, even if it ignores its signal", async () => {
  const clock = new ManualClock();
  const { cluster, watches } = scripted(clock, {});
  const r = startReflector(cluster, slow, clock);
  await clock.advance(0);
  const contact = r.reflector.lastContact;
  await clock.advance(294_900);
  assertEquals([watches.length, r.reflector.lastContact], [1, contact]);
  await clock.advance(1_000);
  assertEquals(watches.length, 2);
  r.abort();
  await clock.advance(0);
  assertEquals([r.ended, clock.pending], [true, 0], "W5: no timer is left");
});

Deno.test("A watch that the server ends at its time-out is opened again at once; one ended at once is backed off from", async () => {
  const clock = new ManualClock();
  let life = 290_000;
  const { cluster, lists, watches } = scripted(clock, {
    watch: async function* (request) {
      request.onOpen?.();
      await new Promise<void>((resolve) => clock.setTimeout(resolve, life));
    },
  });
  const r = startReflector(cluster, slow, clock);
  await clock.advance(900_000);
  assertEquals(gaps(watches), [290_000, 290_000, 290_000]);
  assertEquals(lists.length, 1);
  life = 0;
  await clock.advance(600_000);
  assert(watches.length < 40, `${watches.length} watches in ten minutes`);
  await r.stop();
});

Deno.test("Several namespaces: synced when all are, and the oldest sign of life is the one that counts", async () => {
  const clock = new ManualClock();
  let readable = false;
  const { cluster } = scripted(clock, {
    list: (request) => {
      if (request.namespace === "b" && !readable) throw new KubeError("forbidden", "not for you");
      return { resourceVersion: "1" };
    },
  });
  const r = startReflector(cluster, { ...slow, namespaces: ["a", "b"] }, clock);
  await clock.advance(10_000);
  assertEquals([r.reflector.synced, r.told.synced], [false, 0]);
  assertEquals(r.reflector.reason, "forbidden: not for you (namespace b)");
  assertEquals(r.reflector.lastContact, 1_000);
  assert(r.reflector.lastAttempt < clock.monotonic());
  readable = true;
  await clock.advance(20_000);
  assertEquals([r.reflector.synced, r.told.synced], [true, 1]);
  await r.stop();
});

Deno.test("A list of one namespace says nothing of the objects of another", async () => {
  const clock = new ManualClock();
  const object = (namespace: string): ExternalDatabase => ({
    apiVersion: "crd.my.domain/v1",
    kind: "ExternalDatabase",
    metadata: { name: "x", namespace, uid: `uid-${namespace}`, resourceVersion: "1", generation: 1 },
    spec: { engine: "postgres", version: "14", sizeGb: 1 },
  });
  const { cluster } = scripted(clock, {
    list: (request) => ({ resourceVersion: "1", items: [object(request.namespace ?? "")] }),
    watch: async function* (request) {
      request.onOpen?.();
      await new Promise<void>((resolve) =>
        clock.setTimeout(resolve, request.namespace === "a" ? 5_000 : 200_000)
      );
      throw new KubeError("expired", "too old");
    },
  });
  const r = startReflector(cluster, { ...slow, namespaces: ["a", "b"] }, clock);
  await clock.advance(60_000);
  assertEquals(r.told.all.toSorted(), ["+x@1", "+x@1"]);
  assertEquals(r.reflector.size, 2);
  await r.stop();
});
