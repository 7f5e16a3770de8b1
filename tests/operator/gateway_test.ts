/**
 * The way to the provider: fence, time-outs and pauses (rule 21, H1, L3, S6).
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Clock } from "../../src/core/clock.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { type Cluster, KubeError } from "../../src/kube/port.ts";
import { type EffectEnv, readById } from "../../src/operator/effects/env.ts";
import { fencedCluster } from "../../src/operator/fenced_cluster.ts";
import { NotSentError, ProviderGateway } from "../../src/operator/gateway.ts";
import { Scheduler } from "../../src/operator/scheduler.ts";
import {
  type CallOptions,
  type DatabasePage,
  type DatabaseProvider,
  ProviderError,
} from "../../src/providers/port.ts";
import { ManualClock, settle } from "../support/manual_clock.ts";
import { database } from "../support/provider_bench.ts";
import { inWorld } from "../support/world.ts";

const signal = new AbortController().signal;
const request = { name: "a", engine: "postgres", version: "14.2", sizeGb: 20, tags: {}, clientToken: "t" };

/** A gateway to a provider of which only `answer` is known; `sent` counts what got out. */
function gatewayTo(
  clock: Clock,
  fence: () => void,
  answer: (o: CallOptions) => Promise<never>,
  concurrency?: number,
) {
  const sent: string[] = [];
  const call = (verb: string) => async (...args: readonly unknown[]) => {
    const options = args.at(-1) as CallOptions;
    await Promise.resolve(); // a connection is made
    options.beforeSend?.();
    sent.push(verb);
    return await answer(options);
  };
  const verbs = ["info", "get", "list", "create", "modify", "delete"];
  const provider = Object.fromEntries(verbs.map((v) => [v, call(v)])) as unknown as DatabaseProvider;
  const scheduler = new Scheduler({ clock, ...(concurrency === undefined ? {} : { concurrency }) });
  const gateway = new ProviderGateway({
    provider: { ...provider, name: "test" },
    ...{ scheduler, clock, metrics: noMetrics, callTimeoutMs: 30_000, fence },
  });
  return { gateway, sent };
}

const fenced = () => {
  throw new Error("The lease is not held");
};
const silent = () => new Promise<never>(() => {});

Deno.test("rule 21: without the lease nothing is sent to the provider, not even a read (H1)", async () => {
  const { gateway, sent } = gatewayTo(new ManualClock(), fenced, silent);
  await assertRejects(() => gateway.get("db-1", "poll", signal), NotSentError);
  await assertRejects(() => gateway.create(request, "create", signal, () => {}), NotSentError);
  await assertRejects(() => gateway.delete("db-1", "urgent", signal, () => {}), NotSentError);
  assertEquals(sent, []);
});

Deno.test("rule 21: a lease that is lost while the connection is made keeps the mutation from being sent", async () => {
  let asked = 0;
  const { gateway, sent } = gatewayTo(new ManualClock(), () => asked++ > 0 ? fenced() : undefined, silent);
  await assertRejects(() => gateway.create(request, "create", signal, () => {}), NotSentError);
  assertEquals([sent, gateway.mutationsInFlight], [[], 0]);
});

Deno.test("rule 14: a database takes one change at a time, whoever asks; the other is refused and not sent", async () => {
  const clock = new ManualClock();
  const { gateway, sent } = gatewayTo(clock, () => {}, silent);
  const first = gateway.modify("db-1", { sizeGb: 30 }, "urgent", signal, () => {}).catch((e: unknown) => e);
  const other = gateway.modify("db-2", { sizeGb: 30 }, "urgent", signal, () => {}).catch((e: unknown) => e);
  await settle();
  const second = await gateway.delete("db-1", "urgent", signal, () => {}).catch((e: unknown) => e);
  assertEquals([(second as ProviderError).errorClass, sent], ["retryable", ["modify", "modify"]]);
  await clock.advance(30_001);
  await Promise.all([first, other]);
  const third = gateway.delete("db-1", "urgent", signal, () => {}).catch((e: unknown) => e);
  await settle();
  assertEquals(sent, ["modify", "modify", "delete"]);
  await clock.advance(30_001);
  await third;
});

Deno.test("rule 21: a mutation is in flight until its answer or time-out; then its outcome is unknown, a read's is nothing", async () => {
  const clock = new ManualClock();
  const { gateway, sent } = gatewayTo(clock, () => {}, silent);
  const create = gateway.create(request, "create", signal, () => {}).catch((e: unknown) => e);
  const get = gateway.get("db-1", "poll", signal).catch((e: unknown) => e);
  await settle();
  assertEquals([sent.toSorted(), gateway.mutationsInFlight], [["create", "get"], 1]);
  await clock.advance(30_001);
  const classes = [await create, await get].map((e) => (e as ProviderError).errorClass);
  assertEquals([classes, gateway.mutationsInFlight], [["unknown", "retryable"], 0]);
});

Deno.test("L3: a Retry-After of an hour pauses the account for five minutes", async () => {
  const clock = new ManualClock();
  const throttled = () =>
    Promise.reject(new ProviderError("throttled", "slow down", { retryAfterMs: 3_600_000 }));
  const { gateway, sent } = gatewayTo(clock, () => {}, throttled);
  await assertRejects(() => gateway.get("db-1", "poll", signal), ProviderError);
  gateway.get("db-2", "poll", signal).catch(() => {}); // throttled too
  await clock.advance(299_000);
  assertEquals(sent.length, 1);
  await clock.advance(2_000);
  assertEquals(sent.length, 2);
});

Deno.test("rule 21: without the lease the cluster is read and not written", async () => {
  const written: string[] = [];
  const write = (what: string) => () => Promise.resolve(written.push(what));
  const inner = {
    patch: write("patch"),
    patchStatus: write("patchStatus"),
    clusterId: () => Promise.resolve("c"),
  } as unknown as Cluster;
  const cluster = fencedCluster(inner, fenced);
  const key = { namespace: "default", name: "a" };
  const refused = [cluster.patch(key, [], { signal }), cluster.patchStatus(key, [], { signal })];
  for (const write of refused) {
    const error = await assertRejects(() => write, KubeError);
    assertEquals(error.kind, "unavailable");
  }
  assertEquals([written, await cluster.clusterId({ signal })], [[], "c"]);
});

Deno.test("design 7: a process that is asked to end sends nothing new", () =>
  inWorld({}, async (world) => {
    const process = world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    const ended = process.stop();
    const { gateway } = process.operator.site;
    await assertRejects(() => gateway.get("db-1", "poll", signal), NotSentError, "stopping");
    await ended;
  }));

/** A gateway to lists that `page` answers by the number of the page; how many were asked for. */
function listing(page: (n: number) => DatabasePage) {
  const asked = { pages: 0 };
  const clock = new ManualClock();
  const gateway = new ProviderGateway({
    provider: {
      name: "test",
      list: () => Promise.resolve(page(asked.pages++)),
    } as unknown as DatabaseProvider,
    ...{
      scheduler: new Scheduler({ clock }),
      clock,
      metrics: noMetrics,
      callTimeoutMs: 30_000,
      fence: () => {},
    },
  });
  return { lookUp: () => gateway.lookup({}, "create", signal), asked };
}

Deno.test("L2: a cloud that filters page by page answers with many empty ones: a lookup goes on to what the last holds", async () => {
  const { lookUp } = listing((n) =>
    n === 400 ? { items: [database("db-1", "u")] } : { items: [], nextPageToken: `${n}` }
  );
  assertEquals((await lookUp()).value.map((d) => d.id), ["db-1"]);
});

Deno.test("S6: a lookup whose pages go in a circle, or do not end, finds nothing out", async () => {
  const circle = listing((n) => ({ items: [], nextPageToken: `${n % 3}` }));
  await assertRejects(circle.lookUp, ProviderError, "circle");
  assertEquals(circle.asked.pages, 4);
  const endless = listing((n) => ({ items: [database(`db-${n}`, "u")], nextPageToken: `${n}` }));
  await assertRejects(endless.lookUp, ProviderError, "too many");
  assertEquals(endless.asked.pages, 50);
});

Deno.test("rule 10, A2: an absence bears the time at which its read was sent, not that at which it was asked for (found by simulation, seed 36922)", async () => {
  const clock = new ManualClock();
  const absent = () => Promise.reject(new ProviderError("absent", "NotFound"));
  let calls = 0;
  const { gateway } = gatewayTo(clock, () => {}, () => calls++ === 0 ? silent() : absent(), 1);
  gateway.get("db-1", "poll", signal).catch(() => {});
  const from = clock.monotonic();
  const env = { clock, gateway } as unknown as EffectEnv;
  const read = readById(env, "db-2", "poll", signal);
  await settle();
  await clock.advance(30_001); // the first gives up, and it is the second's turn
  const observation = await read;
  assertEquals(observation.kind, "absent");
  assert(observation.sentAt >= from + 30_000, `${observation.sentAt - from} ms after it was asked for`);
});
