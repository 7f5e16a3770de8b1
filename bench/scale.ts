/**
 * How the operator scales, on a real API server: the same writes as a bare loop, in how much more time, with how many
 * calls, how much memory and processor time.
 *
 * @module
 */
import { systemClock } from "../src/core/clock.ts";
import { seededRandom } from "../src/core/random.ts";
import { SimulatedCloud } from "../src/providers/simulated/cloud.ts";
import { serveCloud } from "../src/providers/simulated/server.ts";
import { installCrd } from "../tests-real/support/crd.ts";
import { freshNamespace, type Kube } from "../tests-real/support/kube.ts";
import { denoArgs } from "../tests/cli/support.ts";
import { countReady, countResources, createResource, deleteResource, each, patch } from "./api.ts";
import { type Usage, usageOf } from "./process.ts";

/** What was seen. Times are in seconds, of this run on this machine. */
export interface Scale {
  readonly count: number;
  readonly bareSeconds: number;
  readonly operatorSeconds: number;
  readonly ratio: number;
  readonly writesPerResource: number;
  readonly conflictsPercent: number;
  readonly cloudCalls: Readonly<Record<string, number>>;
  readonly idle: {
    readonly periods: number;
    readonly writes: number;
    readonly mutatingCalls: number;
    readonly readsPerPeriod: number;
  };
  readonly deleteSeconds: number;
  readonly leftInCloud: number;
  readonly usage: { readonly available: Usage; readonly idle: Usage; readonly end: Usage };
}

const PROVISION_MS = 2_000;
const LATENCY_MS = 20;
/** Poll period of the operator under test, in milliseconds. */
const PERIOD_MS = 10_000;
const IDLE_PERIODS = 3;
const FINALIZER = "db.my.domain/finalizer";

/** Runs both. */
export async function scale(kube: Kube, count: number): Promise<Scale> {
  await installCrd(kube);
  const names = Array.from({ length: count }, (_, i) => `db-${i}`);
  const bareSeconds = await bare(kube, names);
  const cloud = new SimulatedCloud({
    clock: systemClock,
    random: seededRandom(1),
    latencyMs: LATENCY_MS,
    provisionMs: PROVISION_MS,
    deleteMs: 500,
    jitter: 0,
    readLagMs: 0,
    effectBoundMs: 5_000,
  });
  const server = await serveCloud(cloud, {});
  const ns = await freshNamespace(kube, "bench");
  const operator = await start(kube, server.url, ns);
  try {
    const operatorSeconds = await allAvailable(kube, operator, ns, names);
    const available = usageOf(operator.pid);
    const cloudCalls = countBy(cloud.ledger.calls().map((c) => c.verb));
    // What is under way ends, then whole periods are counted.
    await settle(PERIOD_MS);
    const created = await operator.counts();
    const mark = cloud.ledger.mark();
    await settle(IDLE_PERIODS * PERIOD_MS);
    const after = await operator.counts();
    const idleCalls = cloud.ledger.calls({ since: mark });
    const mutatingCalls = cloud.ledger.mutatingCalls(mark).length;
    const idle = usageOf(operator.pid);
    const deleteSeconds = await allGone(kube, ns, names);
    return {
      count,
      bareSeconds,
      operatorSeconds,
      ratio: operatorSeconds / bareSeconds,
      writesPerResource: created.writes / count,
      conflictsPercent: 100 * created.conflicts / Math.max(1, created.writes),
      cloudCalls,
      idle: {
        periods: IDLE_PERIODS,
        writes: after.writes - created.writes,
        mutatingCalls,
        readsPerPeriod: idleCalls.filter((c) => c.verb === "list" || c.verb === "get").length / IDLE_PERIODS,
      },
      deleteSeconds,
      leftInCloud: cloud.databases().length,
      usage: { available, idle, end: usageOf(operator.pid) },
    };
  } finally {
    await operator.end();
    await server.close();
  }
}

/** The same three writes a resource and the same wait, by a loop that does nothing else. */
async function bare(kube: Kube, names: readonly string[]): Promise<number> {
  const ns = await freshNamespace(kube, "bare");
  const condition = (status: string, reason: string) => ({
    status,
    reason,
    message: "The database is as the spec asks",
    lastTransitionTime: "2026-01-01T00:00:00Z",
    observedGeneration: 1,
  });
  const status = (state: string, ready: string) => ({
    state,
    providerId: "db-0123456789abcdef",
    account: "simulated",
    incarnation: 1,
    endpoint: "db-0123456789abcdef.example:5432",
    observedGeneration: 1,
    observed: { engine: "postgres", version: "14.2", sizeGb: 20 },
    conditions: [{ type: "Ready", ...condition(ready, state) }, {
      type: "Synced",
      ...condition(ready, state),
    }],
  });
  const begun = performance.now();
  const waits: Promise<void>[] = [];
  await each(names.length, async (i) => {
    const name = names[i] ?? "";
    await createResource(kube, ns, name);
    await patch(kube, ns, name, [{ op: "add", path: "/metadata/finalizers", value: [FINALIZER] }]);
    await patch(kube, ns, name, [{ op: "add", path: "/status", value: status("Creating", "False") }], true);
    waits.push(
      settle(PROVISION_MS).then(async () => {
        await patch(
          kube,
          ns,
          name,
          [{ op: "add", path: "/status", value: status("Available", "True") }],
          true,
        );
      }),
    );
  });
  await Promise.all(waits);
  const seconds = (performance.now() - begun) / 1_000;
  await each(names.length, async (i) => {
    await patch(kube, ns, names[i] ?? "", [{ op: "remove", path: "/metadata/finalizers" }]);
    await deleteResource(kube, ns, names[i] ?? "");
  });
  return seconds;
}

/**
 * Creates all and waits until the last is Ready. The operator's own gauge says when it is worth to look, so that looking
 * costs the API server little; what counts is what the API server then shows.
 */
async function allAvailable(
  kube: Kube,
  operator: Started,
  ns: string,
  names: readonly string[],
): Promise<number> {
  const begun = performance.now();
  await each(names.length, async (i) => void await createResource(kube, ns, names[i] ?? ""));
  const end = begun + 1_200_000;
  const seen = async () =>
    await operator.available() >= names.length && await countReady(kube, ns) >= names.length;
  while (!await seen()) {
    if (performance.now() > end) throw new Error("all are Available: not within 1200000 ms");
    await settle(100);
  }
  return (performance.now() - begun) / 1_000;
}

async function allGone(kube: Kube, ns: string, names: readonly string[]): Promise<number> {
  const begun = performance.now();
  await each(names.length, (i) => deleteResource(kube, ns, names[i] ?? ""));
  for (const end = begun + 600_000; await countResources(kube, ns) > 0; await settle(250)) {
    if (performance.now() > end) throw new Error("all are gone: not within 600000 ms");
  }
  return (performance.now() - begun) / 1_000;
}

interface Started {
  readonly pid: number;
  /** Its actors in Available. */
  available(): Promise<number>;
  counts(): Promise<{ readonly writes: number; readonly conflicts: number }>;
  end(): Promise<void>;
}

async function start(kube: Kube, cloudUrl: string, namespace: string): Promise<Started> {
  const child = new Deno.Command(Deno.execPath(), {
    args: denoArgs([
      "start",
      "--provider=http",
      `--cloud-url=${cloudUrl}`,
      `--kubeconfig=${kube.kubeconfig}`,
      `--namespace=${namespace}`,
      `--poll-interval=${PERIOD_MS / 1_000}s`,
      "--listen=127.0.0.1:0",
      "--no-leader-elect",
      "--log-format=json",
    ], ["--allow-env", "--allow-read", "--allow-net=127.0.0.1"]),
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const url = Promise.withResolvers<string>();
  const reading = (async () => {
    let text = "";
    let told = false;
    const decoder = new TextDecoder();
    for await (const bytes of child.stdout) {
      if (told) continue;
      text += decoder.decode(bytes, { stream: true });
      const found = /"url":"(http:[^"]+)"/.exec(text)?.[1];
      if (found !== undefined) {
        url.resolve(found);
        told = true;
      }
    }
  })();
  const base = await within(30_000, "the operator listens", url.promise);
  const metrics = async () => await (await fetch(`${base}/metrics`)).text();
  return {
    pid: child.pid,
    available: async () => {
      const text = await metrics();
      const available = text.matchAll(/^externaldatabase_actors\{state="Available",[^}]*\} (\S+)$/gm);
      return Array.from(available, ([, value]) => Number(value)).reduce((sum, value) => sum + value, 0);
    },
    counts: async () => {
      const text = await metrics();
      return {
        writes: sum(text, (labels) => /method="patch"/i.test(labels) && /code="200"/.test(labels)),
        conflicts: sum(text, (labels) => /method="patch"/i.test(labels) && /code="(409|422)"/.test(labels)),
      };
    },
    end: async () => {
      child.kill("SIGTERM");
      await child.status;
      await reading;
    },
  };
}

/** The sum of `rest_client_requests_total` over the label sets that `wanted` accepts; Events are other verbs. */
function sum(metrics: string, wanted: (labels: string) => boolean): number {
  let total = 0;
  for (const [, labels = "", value] of metrics.matchAll(/^rest_client_requests_total\{([^}]*)\} (\S+)$/gm)) {
    if (wanted(labels)) total += Number(value);
  }
  return total;
}

function countBy(verbs: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const verb of verbs) counts[verb] = (counts[verb] ?? 0) + 1;
  return counts;
}

function settle(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
