/**
 * Breaches, each with the alerts that it must raise and no other, and worlds in which none may be raised.
 *
 * Each runs the whole operator in virtual time; what Prometheus would scrape comes from it.
 *
 * @module
 */
import { REFUSALS } from "../../../src/providers/simulated/faults.ts";
import { startLoopMonitor } from "../../../src/server/loop.ts";
import { readOperator } from "../../../src/cli/readings.ts";
import type { Phase } from "../../../src/operator/tenure.ts";
import { createMetrics, type PrometheusMetrics } from "../../../src/server/metrics.ts";
import type { OperatorDeps } from "../../../src/operator/operator.ts";
import type { SimulatedCloudOptions } from "../../../src/providers/simulated/cloud.ts";
import { KubeError } from "../../../src/kube/port.ts";
import { inWorld, type World } from "../world.ts";
import { Scrapes, type Series } from "./series.ts";

/** One scenario. */
export interface Scenario {
  readonly name: string;
  /** All the alerts that fire at some time of it. */
  readonly fires: readonly string[];
  readonly minutes: number;
  readonly cloud?: Partial<SimulatedCloudOptions>;
  readonly deps?: Partial<OperatorDeps>;
  /** Instances that are scraped; the first runs the operator. @default ["a"] */
  readonly instances?: readonly string[];
  /** Called before each minute. */
  minute?(stage: Stage, minute: number): Promise<void> | void;
  /** Changes what an instance's scrape gives, where a breach cannot be made in virtual time. */
  alter?(text: string, minute: number): string;
}

/** What a scenario acts on. */
export interface Stage {
  readonly world: World;
  readonly metrics: PrometheusMetrics;
  phase: Phase;
  /** Makes databases `db-0` … and waits until they are in step. */
  fleet(count: number): Promise<void>;
}

const MINUTE = 60_000;

/** What was scraped in a scenario, once a minute, of the metrics in `wanted`. */
export async function played(
  scenario: Scenario,
  wanted: ReadonlySet<string>,
): Promise<{ readonly series: readonly Series[]; readonly minutes: number }> {
  const { minutes, instances = ["a"] } = scenario;
  let result: readonly Series[] = [];
  await inWorld(scenario.cloud ?? {}, async (world) => {
    const scrapes = new Scrapes(world.clock.now() / 1_000, wanted);
    const loop = startLoopMonitor(world.clock);
    const metrics = createMetrics({ loop, lostLogLines: () => 0 });
    const standby = createMetrics({ lostLogLines: () => 0 });
    const { operator } = world.start({ metrics, ...scenario.deps });
    const stage: Stage = {
      world,
      metrics,
      phase: "working",
      async fleet(count) {
        const names = Array.from({ length: count }, (_, i) => `db-${i}`);
        for (const name of names) world.cluster.create("default", name);
        await world.available(...names);
      },
    };
    metrics.attach(() => readOperator(operator, stage.phase, world.clock));
    standby.attach(() => ({ leading: false, synced: false, actors: [], accounts: [] }));
    const end = world.clock.monotonic() + minutes * MINUTE;
    for (let minute = 0; world.clock.monotonic() < end; minute++) {
      const due = world.clock.monotonic() + MINUTE;
      await scenario.minute?.(stage, minute);
      await world.run(Math.max(0, due - world.clock.monotonic()));
      const texts: Record<string, string> = {};
      for (const [i, instance] of instances.entries()) {
        const of: PrometheusMetrics = i === 0 ? metrics : standby;
        const text = await of.render();
        texts[instance] = scenario.alter?.(text, minute) ?? text;
      }
      scrapes.add(texts);
    }
    loop.stop();
    result = scrapes.series();
  });
  return { series: result, minutes };
}

const at = (when: number, act: (stage: Stage) => Promise<void> | void) => (stage: Stage, minute: number) =>
  minute === when ? act(stage) : undefined;

/** All of them. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: "a healthy fleet with edits, a repaired drift, deletions, a short outage and a short throttling",
    fires: [],
    minutes: 180,
    instances: ["a", "b"],
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(20);
      if (minute === 20) world.cluster.edit("default", "db-1", { sizeGb: 40 });
      if (minute === 30) world.cloud.edit(world.cloud.databases()[3]!.id, { sizeGb: 5 });
      if (minute === 40) world.cloud.remove(world.get("db-5")!.status!.providerId!);
      if (minute === 50) {
        world.cloud.faults.add({ fault: { answer: REFUSALS.unavailable }, forMs: 4 * MINUTE });
      }
      if (minute === 80) world.cloud.faults.add({ fault: { answer: REFUSALS.throttled }, forMs: 2 * MINUTE });
      if (minute === 110) { for (const i of [7, 8]) world.cluster.delete("default", `db-${i}`); }
      if (minute % 25 === 0) world.cluster.create("default", `late-${minute}`);
    },
  },
  { name: "an operator without resources", fires: [], minutes: 60 },
  {
    name: "nobody leads",
    fires: ["ExternalDatabaseNotLeading"],
    minutes: 60,
    instances: ["a", "b"],
    minute: at(20, (stage) => void (stage.phase = "standby")),
  },
  { name: "no process is there", fires: ["ExternalDatabaseOperatorDown"], minutes: 20, instances: [] },
  {
    name: "the Kubernetes API is silent",
    fires: ["ExternalDatabaseKubernetesUnreachable"],
    minutes: 60,
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(2);
      if (minute !== 10) return;
      world.cluster.fault = () => {
        throw new KubeError("network", "no route");
      };
      world.cluster.breakWatches();
    },
  },
  {
    name: "the resources cannot be listed",
    fires: ["ExternalDatabaseKubernetesUnreachable"],
    minutes: 30,
    minute: at(0, ({ world }) => {
      world.cluster.fault = ({ verb }) => {
        if (verb === "list") throw new KubeError("forbidden", "no rights");
      };
    }),
  },
  {
    name: "the account cannot be listed",
    fires: ["ExternalDatabaseNoList"],
    minutes: 60,
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(3);
      if (minute === 10) world.cloud.faults.add({ verbs: ["list"], fault: { answer: REFUSALS.unavailable } });
    },
  },
  {
    name: "the account was never listed",
    fires: ["ExternalDatabaseNoList"],
    minutes: 40,
    minute: at(0, ({ world }) => {
      world.cloud.faults.add({ verbs: ["list"], fault: { answer: REFUSALS.unavailable } });
    }),
  },
  {
    name: "the account is throttled most of the time",
    fires: ["ExternalDatabaseThrottled"],
    minutes: 60,
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(5);
      if (minute < 5) return;
      const answer = { ...REFUSALS.throttled, retryAfterSeconds: 45 };
      world.cloud.faults.add({ fault: { answer }, times: 1 });
    },
  },
  {
    name: "edits wait for the account's turn",
    fires: ["ExternalDatabaseQueueSlow"],
    minutes: 90,
    deps: { ratePerSecond: 0.3 },
    cloud: { modifyMs: 100 },
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(10);
      if (minute >= 5) {
        for (let i = 0; i < 10; i++) world.cluster.edit("default", `db-${i}`, { sizeGb: 20 + minute });
      }
    },
  },
  {
    name: "creates are refused",
    fires: ["ExternalDatabaseCreatesFailing"],
    minutes: 60,
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(30);
      if (minute !== 5) return;
      const answer = { status: 422, code: "Invalid", message: "No such version" };
      world.cloud.faults.add({ verbs: ["create"], fault: { answer } });
      for (const name of ["new-1", "new-2"]) world.cluster.create("default", name);
    },
  },
  {
    name: "a resource waits for a person",
    fires: ["ExternalDatabaseWaitsForPerson"],
    minutes: 90,
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(3);
      if (minute === 5) world.cluster.edit("default", "db-1", { driftPolicy: "Report" });
      if (minute === 10) world.cloud.edit(world.get("db-1")!.status!.providerId!, { sizeGb: 5 });
    },
  },
  {
    name: "many databases turn absent together",
    fires: ["ExternalDatabaseMassAbsence"],
    minutes: 60,
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(10);
      if (minute === 20) { for (const { id } of world.cloud.databases()) world.cloud.remove(id); }
    },
  },
  {
    name: "databases lose their resources",
    fires: ["ExternalDatabaseOrphans"],
    minutes: 60,
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(3);
      if (minute === 10) world.cluster.vanish("default", "db-1");
    },
  },
  {
    name: "new databases take 20 minutes",
    fires: ["ExternalDatabaseTimeToReadyBurn"],
    minutes: 120,
    cloud: { provisionMs: 20 * MINUTE },
    minute({ world }, minute) {
      if (minute % 10 === 5) world.cluster.create("default", `db-${minute}`);
    },
  },
  {
    name: "a database takes three hours",
    fires: ["ExternalDatabaseCreatingLong"],
    minutes: 90,
    cloud: { provisionMs: 180 * MINUTE },
    minute: at(5, ({ world }) => void world.cluster.create("default", "slow")),
  },
  {
    name: "most of the work fails",
    fires: ["ExternalDatabaseReconcileErrors"],
    minutes: 60,
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(5);
      if (minute === 10) {
        world.cluster.fault = ({ verb }) => {
          if (verb === "patch" || verb === "patchStatus") {
            throw new KubeError("server", "the webhook is down");
          }
        };
        for (let i = 0; i < 5; i++) world.cluster.edit("default", `db-${i}`, { sizeGb: 30 });
      }
    },
  },
  {
    name: "the operator fails on a resource",
    fires: ["ExternalDatabaseActorCrashes"],
    minutes: 40,
    async minute({ world, fleet }, minute) {
      if (minute === 1) await fleet(2);
      if (minute !== 10) return;
      const { status } = world.get("db-1")!;
      world.cluster.setStatus("default", "db-1", { ...status, conditions: 7 } as never);
      world.cluster.edit("default", "db-1", { sizeGb: 50 });
      await world.run(20_000);
      world.cluster.setStatus("default", "db-1", status!);
    },
  },
  {
    name: "the event loop is late",
    fires: ["ExternalDatabaseEventLoopLag"],
    minutes: 60,
    async minute({ world }, minute) {
      if (minute < 10) return;
      for (let i = 0; i < 20; i++) {
        world.clock.freeze(2_000);
        await world.run(1_000);
      }
    },
  },
  {
    name: "the memory is nearly used up",
    fires: ["ExternalDatabaseMemory"],
    minutes: 40,
    alter: (text, minute) =>
      minute < 10 ? text : text.replace(/^(process_resident_memory_bytes) \S+$/m, "$1 1000000000"),
  },
  {
    name: "the certificate is near its end",
    fires: ["ExternalDatabaseCertificate"],
    minutes: 30,
    minute: at(0, ({ world, metrics }) => metrics.certificate(world.clock.now() + 5 * 86_400_000)),
  },
  {
    name: "a certificate is rotated in time",
    fires: [],
    minutes: 60,
    minute({ world, metrics }, minute) {
      if (minute % 30 === 0) metrics.certificate(world.clock.now() + 30 * 86_400_000);
    },
  },
  {
    name: "a new certificate cannot be used",
    fires: ["ExternalDatabaseCertificate"],
    minutes: 30,
    minute({ world, metrics }, minute) {
      if (minute === 0) metrics.certificate(world.clock.now() + 30 * 86_400_000);
      if (minute === 10) metrics.certificate("failed");
    },
  },
  {
    name: "access cannot be reviewed",
    fires: ["ExternalDatabaseAccessReviewsFail"],
    minutes: 40,
    minute: (stage, minute) => stage.metrics.access(minute < 10 ? "allowed" : "failed"),
  },
  {
    name: "the heap is nearly used up",
    fires: ["ExternalDatabaseMemory"],
    minutes: 40,
    alter: (text, minute) => minute < 10 ? text : text.replace(/^(deno_heap_limit_bytes) \S+$/m, "$1 1"),
  },
];
