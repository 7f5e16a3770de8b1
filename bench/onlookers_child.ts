/**
 * The operator under test of `onlookers.ts`: a fleet in memory, edited at a steady rate, its HTTP server for those who
 * look on. Speaks JSON lines: `{port}` once all is in step; then, for each line that it reads, what the next window cost.
 *
 * @module
 */
import { fleetView } from "../src/cli/fleet_view.ts";
import { systemClock } from "../src/core/clock.ts";
import { noMetrics } from "../src/core/metrics.ts";
import { seededRandom } from "../src/core/random.ts";
import { sleep } from "../src/core/wait.ts";
import { History } from "../src/operator/history/history.ts";
import { createOperator } from "../src/operator/operator.ts";
import { SimulatedCloud } from "../src/providers/simulated/cloud.ts";
import { createSimulatedProvider } from "../src/providers/simulated/provider.ts";
import { serveOperator } from "../src/server/http.ts";
import { FleetCluster } from "./fleet_cluster.ts";
import { usageOf } from "./process.ts";

const [count, editsPerSecond, seconds, keeps] = Deno.args.map(Number) as [number, number, number, number];
const clock = systemClock;
const cluster = new FleetCluster();
const cloud = new SimulatedCloud({
  clock,
  random: seededRandom(1),
  latencyMs: 2,
  provisionMs: 200,
  modifyMs: 200,
  jitter: 0,
  readLagMs: 0,
  effectBoundMs: 500,
});
let steps = 0;
const history = keeps === 1 ? new History(clock) : undefined;
const operator = createOperator({
  cluster,
  provider: createSimulatedProvider(cloud, { clock }),
  recorder: { record: () => {} },
  clock,
  random: seededRandom(2),
  log: { log: () => {} },
  metrics: noMetrics,
  concurrency: 1_000,
  pollIntervalMs: 3_600_000,
  history,
  inspect: (i) => {
    if (i.type === "@xstate.snapshot" && i.actorRef.sessionId === i.rootId) steps++;
  },
});
const server = await serveOperator({
  listen: { hostname: "127.0.0.1", port: 0 },
  clock,
  health: () => ({ healthy: true, reasons: [] }),
  ready: () => ({ ready: true, reasons: [] }),
  metrics: { render: () => Promise.resolve(""), contentType: "text/plain" },
  view: fleetView({ operator, history: history ?? new History(clock), clock, phase: () => "working" }),
});
const names = Array.from({ length: count }, (_, i) => `db-${i}`);
const abort = new AbortController();
const running = operator.run(abort.signal);
for (const name of names) cluster.create(name);
while (cluster.inStep() < count) await sleep(clock, 100);

const say = (value: unknown) => console.log(JSON.stringify(value));
say({ port: server.address.port });
let next = 0;
const input = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
for await (const _ of input) {
  const begun = { at: clock.monotonic(), steps, cpu: usageOf(Deno.pid).cpuSeconds };
  let asked = 0;
  while (clock.monotonic() - begun.at < seconds * 1_000) {
    const due = (clock.monotonic() - begun.at) / 1_000 * editsPerSecond;
    for (; asked < due; asked++) cluster.grow(names[next++ % count]!);
    await sleep(clock, 20);
  }
  const edited = clock.monotonic();
  while (cluster.inStep() < count) await sleep(clock, 100);
  const took = (clock.monotonic() - begun.at) / 1_000;
  const cpuSeconds = usageOf(Deno.pid).cpuSeconds - begun.cpu;
  const { rssMiB } = usageOf(Deno.pid);
  (globalThis as { gc?: () => void }).gc?.();
  say({
    transitions: steps - begun.steps,
    transitionsPerSecond: (steps - begun.steps) / took,
    cpuMsPerTransition: cpuSeconds * 1_000 / (steps - begun.steps),
    settledAfterSeconds: (clock.monotonic() - edited) / 1_000,
    cpuSeconds,
    rssMiB,
    heapMiB: Deno.memoryUsage().heapUsed / 2 ** 20,
    steps: history === undefined ? 0 : keptSteps(history),
  });
}
abort.abort(new Error("done"));
await server.close();
await operator.drain(1_000);
await running;
Deno.exit(0);

function keptSteps(kept: History): number {
  let n = 0;
  for (const { object } of operator.supervisor.keepers) n += kept.of(object.metadata.uid)?.steps.length ?? 0;
  return n;
}
