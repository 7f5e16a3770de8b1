/**
 * C7: specs from a backup applied in a new cluster over the same cloud, while the old cluster's operator may still run.
 * Each new CR makes its own database; nothing of the first cluster is adopted or deleted without being named.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, FINALIZER, TAG } from "../../../src/api/constants.ts";
import type { ExternalDatabaseStatus } from "../../../src/api/schema.ts";
import { noMetrics } from "../../../src/core/metrics.ts";
import { createOperator } from "../../../src/operator/operator.ts";
import { createSimulatedProvider } from "../../../src/providers/simulated/provider.ts";
import type { CloudRecord } from "../../../src/providers/simulated/types.ts";
import { CLUSTER_ID, SimulatedKube } from "../../../src/simulation/kube_port.ts";
import { KubeStore } from "../../../src/simulation/kube_store.ts";
import { Dice } from "../../../src/simulation/random.ts";
import {
  each,
  EXTREMES,
  MINUTE,
  NAMESPACE,
  play,
  playAtEveryCrash,
  SECOND,
  SPEC,
  type Stage,
} from "./support.ts";

const OLD = "cluster-0";
const NAMES = ["a", "b", "c"];

/** The first cluster: its own API and operator over the same cloud. */
class OldCluster {
  readonly store: KubeStore;
  readonly #abort = new AbortController();

  constructor(private readonly stage: Stage) {
    const { clock } = stage.world;
    this.store = new KubeStore(clock, 900_000);
    const kube = new SimulatedKube(this.store, clock, new Dice(1, "old kube"));
    const cluster = kube.port("old");
    const operator = createOperator({
      cluster,
      clusterId: OLD,
      provider: createSimulatedProvider(stage.cloud, { clock, caller: "old" }),
      recorder: { record: () => {} },
      clock,
      random: new Dice(1, "old"),
      log: { log: () => {} },
      metrics: noMetrics,
      pollIntervalMs: MINUTE,
      cacheTtlMs: MINUTE,
    });
    operator.run(this.#abort.signal).catch(() => {});
    for (const name of NAMES) this.store.create({ namespace: NAMESPACE, name }, SPEC);
  }

  status(name: string): ExternalDatabaseStatus {
    return this.store.get({ namespace: NAMESPACE, name }).status ?? {};
  }

  uid(name: string): string {
    return this.store.get({ namespace: NAMESPACE, name }).metadata.uid;
  }

  async ready(): Promise<void> {
    await this.stage.until(
      "the first cluster is ready",
      () => NAMES.every((n) => this.status(n).state === "Available"),
      2 * MINUTE,
    );
  }

  /** It is no more; its databases are. */
  stop(): void {
    this.#abort.abort(new Error("the first cluster is gone"));
  }

  databases(): readonly CloudRecord[] {
    return this.stage.cloud.databases().filter((d) => d.tags[TAG.cluster] === OLD);
  }
}

/** Everything that may not change of the first cluster's databases. */
function frozen(old: OldCluster): string {
  return JSON.stringify(
    old.databases().map(({ id, state, version, sizeGb, tags }) => ({ id, state, version, sizeGb, tags })),
  );
}

const own = (stage: Stage) => stage.cloud.databases().filter((d) => d.tags[TAG.cluster] === CLUSTER_ID);

for (const running of [true, false]) {
  each(
    EXTREMES,
    (words) =>
      `C7: applied anew (${words}) while the first cluster's operator ${
        running ? "still runs" : "is gone"
      }: databases of their own, the first's untouched, wherever the new operator dies`,
    (cloud) =>
      playAtEveryCrash({ minutes: 15, plan: { cloud } }, async (stage) => {
        const old = new OldCluster(stage);
        await old.ready();
        if (!running) old.stop();
        const before = frozen(old);
        stage.create(NAMES);
        await stage.available(NAMES, 4 * MINUTE);
        const oldIds = old.databases().map((d) => d.id);
        for (const name of NAMES) {
          assert(!oldIds.includes(stage.id(name)), "one of the first cluster's was taken");
          assertEquals(stage.database(name).tags[TAG.cluster], CLUSTER_ID);
        }
        assertEquals(own(stage).length, NAMES.length);
        stage.edit("a", { sizeGb: 40 });
        stage.remove("b");
        await stage.gone("b", 2 * MINUTE);
        await stage.available(["a", "c"], MINUTE);
        await stage.pause(3 * MINUTE);
        assertEquals(frozen(old), before, "something of the first cluster's was touched");
        assertEquals(own(stage).length, 2);
        if (!running) return;
        // The first one goes on with its own, and touches none of the new ones.
        const mine = JSON.stringify(own(stage));
        old.store.edit({ namespace: NAMESPACE, name: "a" }, { sizeGb: 60 });
        old.store.delete({ namespace: NAMESPACE, name: "c" });
        await stage.until("the first cluster goes on", () => old.databases().length === 2, 2 * MINUTE);
        await stage.until("and changes", () => old.databases().some((d) => d.sizeGb === 60), MINUTE);
        assertEquals(JSON.stringify(own(stage)), mine);
        old.stop();
      }, 3),
  );
}

Deno.test("C7: restored with spec.providerId it takes nothing that the first cluster has; with adopt-from it does, once", () =>
  playAtEveryCrash({ minutes: 20 }, async (stage) => {
    const old = new OldCluster(stage);
    await old.ready();
    const before = frozen(old);
    const id = old.status("a").providerId ?? "";
    stage.create("a", { providerId: id });
    await stage.until("refused", () => stage.condition("a", "Synced") === "False/Conflict", 2 * MINUTE);
    assert(stage.message("a").includes(OLD) && stage.message("a").includes(old.uid("a")), stage.message("a"));
    await stage.pause(3 * MINUTE);
    assertEquals(frozen(old), before);
    assertEquals(own(stage), []);
    // Its deletion touches nothing either.
    stage.create("b", { providerId: old.status("b").providerId ?? "", deletionPolicy: "Delete" });
    await stage.until("refused", () => stage.condition("b", "Synced") === "False/Conflict", 2 * MINUTE);
    stage.remove("b");
    await stage.gone("b", MINUTE);
    assertEquals(frozen(old), before);
    stage.do({ do: "annotate", name: "a", key: ANNOTATION.adoptFrom, value: old.uid("a") });
    await stage.available("a", 2 * MINUTE);
    assertEquals(stage.id("a"), id);
    assertEquals(stage.cloud.get(id)?.tags[TAG.cluster], CLUSTER_ID);
    // The first cluster's operator does not take it back, nor re-create it behind our back under our tags.
    await stage.pause(3 * MINUTE);
    assertEquals(stage.cloud.get(id)?.tags[TAG.uid], stage.get("a").metadata.uid);
    assert(stage.inStep("a"));
    old.stop();
  }, 5));

/** What a backup tool restores besides the spec. */
const RESTORED: Readonly<Record<string, { readonly status?: true; readonly finalizer?: true }>> = {
  "status": { status: true },
  "finalizer": { finalizer: true },
  "status and finalizer": { status: true, finalizer: true },
};

each(
  RESTORED,
  (words) =>
    `C7: restored with ${words} and a new UID, it neither adopts nor deletes the first cluster's database`,
  ({ status, finalizer }) =>
    playAtEveryCrash({ minutes: 20, plan: { cloud: { readLagMs: 2 * SECOND } } }, async (stage) => {
      const old = new OldCluster(stage);
      await old.ready();
      const before = frozen(old);
      const key = { namespace: NAMESPACE, name: "a" };
      // Paused until all of it is there, as a restore does it in one write.
      stage.create("a");
      if (status) stage.world.store.setStatus(key, old.status("a"));
      if (finalizer) stage.world.store.meta(key, { finalizers: [FINALIZER] });
      await stage.until(
        "it is told, or has its own",
        () => stage.inStep("a") || stage.condition("a", "Synced") === "False/Conflict",
        3 * MINUTE,
      );
      await stage.pause(2 * MINUTE);
      assertEquals(frozen(old), before);
      if (stage.inStep("a")) assertEquals(stage.database("a").tags[TAG.cluster], CLUSTER_ID);
      stage.remove("a");
      await stage.pause(2 * MINUTE);
      if (stage.find("a") !== undefined) {
        assertEquals(stage.condition("a", "Synced"), "False/Conflict");
        assert(stage.message("a").includes(ANNOTATION.abandon), "no way out is named");
        stage.do({ do: "abandon", name: "a" });
        await stage.gone("a", 10 * SECOND);
      }
      await stage.pause(MINUTE);
      assertEquals(frozen(old), before, "the first cluster's database was touched");
      assertEquals(own(stage), []);
      old.stop();
    }, 4),
);

Deno.test("C7: two restores of the same specs, one after the other, keep to their own", () =>
  play({ minutes: 20 }, async (stage) => {
    const old = new OldCluster(stage);
    await old.ready();
    const before = frozen(old);
    for (let n = 0; n < 3; n++) {
      stage.create(NAMES);
      await stage.available(NAMES);
      assertEquals(own(stage).length, NAMES.length);
      for (const name of NAMES) stage.remove(name);
      await stage.gone(NAMES);
      assertEquals(own(stage), []);
    }
    assertEquals(frozen(old), before);
    old.stop();
  }));
