/**
 * The cluster's etcd is restored to an older state, with its version raised as Kubernetes advises or without: the
 * operator works on the world that is, and creates nothing twice.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import { Operator } from "../../src/operator/operator.ts";
import { KIND_CLUSTER } from "../../src/simulation/kube_port.ts";
import { each, MINUTE, play, SECOND, type Stage } from "./behaviours/support.ts";

const BUMPS: Readonly<Record<string, number>> = {
  "its version raised": 1_000_000,
  "its version as it was": 0,
};

/** The operator that works. */
function operatorOf(stage: Stage): Operator {
  const operator = stage.world.working?.operator;
  assert(operator instanceof Operator);
  return operator;
}

/** Goes back to what was `ms` ago. */
function restore(stage: Stage, ms: number, bump: number): void {
  stage.do({ do: "restore", ms, bump });
}

each(
  BUMPS,
  (words) =>
    `A restored cluster (${words}) that forgot a database's id: it is found by its UID, and none is created`,
  (bump) =>
    play(
      { minutes: 30, plan: { cloud: { clientTokens: false, provisionMs: 5 * SECOND } } },
      async (stage) => {
        stage.create("a");
        await stage.until("the finalizer", () => (stage.find("a")?.metadata.finalizers?.length ?? 0) > 0);
        const at = stage.time;
        await stage.available("a");
        const id = stage.id("a");
        await stage.pause(MINUTE);
        restore(stage, stage.time - at, bump);
        assertEquals(stage.get("a").status?.providerId, undefined);
        await stage.until("recorded", () => stage.find("a")?.status?.providerId === id, 12 * MINUTE);
        await stage.available("a", 12 * MINUTE);
        assertEquals(stage.effects("create").length, 1);
      },
    ),
);

each(
  BUMPS,
  (words) =>
    `A restored cluster (${words}) in which a new resource has lost its finalizer too: its database is found`,
  (bump) =>
    play({ minutes: 30, plan: { cloud: { clientTokens: false } } }, async (stage) => {
      stage.create("a");
      const at = stage.time;
      await stage.available("a");
      const id = stage.id("a");
      await stage.pause(2 * MINUTE);
      stage.do({ do: "crash", nth: 0 });
      restore(stage, stage.time - at, bump);
      assertEquals(stage.get("a").metadata.finalizers ?? [], []);
      await stage.until("recorded", () => stage.find("a")?.status?.providerId === id, 12 * MINUTE);
      assertEquals(stage.effects("create").length, 1);
    }),
);

each(
  BUMPS,
  (words) =>
    `A restored cluster (${words}) that has a released resource again before the watch told that it went: it is released anew (seeds 5246, 7092, 7661)`,
  (bump) =>
    play({
      minutes: 60,
      plan: { cloud: { deleteMs: 2 * MINUTE }, kube: { ...KIND_CLUSTER, watchLagMs: 30 * SECOND } },
    }, async (stage) => {
      stage.create("a");
      await stage.available("a");
      stage.remove("a");
      await stage.gone("a", 5 * MINUTE);
      restore(stage, SECOND, bump);
      assert(stage.find("a")?.metadata.finalizers !== undefined, "it is not there again");
      await stage.gone("a", 40 * MINUTE);
      assertEquals(stage.world.cloud.databases(), []);
    }),
);

for (const onMissing of ["Recreate", "Report"] as const) {
  each(
    BUMPS,
    (words) =>
      `A restored cluster (${words}) that shows a resource again whose database was deleted: onMissing ${onMissing}`,
    (bump) =>
      play({ minutes: 30 }, async (stage) => {
        stage.create("a", { onMissing });
        await stage.available("a");
        const id = stage.id("a");
        const at = stage.time;
        await stage.pause(MINUTE);
        stage.remove("a");
        await stage.gone("a");
        restore(stage, stage.time - at, bump);
        if (onMissing === "Report") {
          await stage.until(
            "told",
            () => stage.condition("a", "Synced") === "False/ExternalMissing",
            12 * MINUTE,
          );
          await stage.pause(2 * MINUTE);
          assertEquals(stage.effects("create").length, 1);
          return;
        }
        await stage.until(
          "another",
          () => ![undefined, id].includes(stage.find("a")?.status?.providerId),
          12 * MINUTE,
        );
        await stage.available("a");
        assertEquals(stage.effects("create").length, 2);
      }),
  );
}

each(
  BUMPS,
  (words) =>
    `A restored cluster (${words}) without a resource whose database lives: it is reported as an orphan, not deleted`,
  (bump) =>
    play({ minutes: 30 }, async (stage) => {
      stage.create("a");
      await stage.available("a");
      const at = stage.time;
      await stage.pause(MINUTE);
      stage.create("b");
      await stage.available("b");
      const id = stage.id("b");
      restore(stage, stage.time - at, bump);
      const orphans = () => operatorOf(stage).orphans.orphans.map((d) => d.id);
      await stage.until("reported", () => orphans().includes(id), 12 * MINUTE);
      assertEquals(stage.cloud.get(id)?.tags[TAG.uid] !== undefined, true);
      assertEquals(stage.effects("delete").length, 0);
    }),
);

each(
  BUMPS,
  (words) =>
    `A restored cluster (${words}) in which a deletion never was: nothing is deleted, and the spec of now is what holds`,
  (bump) =>
    play({ minutes: 30 }, async (stage) => {
      stage.create(["a", "b"]);
      await stage.available(["a", "b"]);
      const at = stage.time;
      stage.cloud.edit(stage.id("a"), { protected: true });
      await stage.pause(MINUTE);
      stage.edit("b", { paused: true });
      await stage.until("paused", () => stage.condition("b", "Synced") === "False/Paused");
      stage.remove("a");
      await stage.until("refused", () => stage.condition("a", "Synced") === "False/DeletionProtected");
      restore(stage, stage.time - at, bump);
      stage.cloud.edit(stage.id("a"), { protected: false });
      await stage.until(
        "heard",
        () => {
          const { supervisor } = operatorOf(stage);
          return [...supervisor.keepers].every((k) =>
            k.newest.metadata.deletionTimestamp === undefined && !k.newest.spec.paused
          );
        },
        12 * MINUTE,
      );
      await stage.available(["a", "b"]);
      await stage.pause(2 * MINUTE);
      assertEquals(stage.effects("delete").length, 0);
      assert(stage.get("a").metadata.finalizers?.length === 1);
    }),
);

const SLEEPERS: Readonly<Record<string, number>> = { "awake": MINUTE, "asleep": 25 * MINUTE };

each(
  SLEEPERS,
  (words) =>
    `K1, rule 25: a restored cluster that has the Secret and the status of before a rotation (${words}): the password is set again`,
  (asleepMs) =>
    play({ minutes: 60 }, async (stage) => {
      stage.create("a", { connectionSecretRef: {} });
      await stage.available("a");
      await stage.pause(10 * SECOND);
      const at = stage.time;
      await stage.pause(SECOND);
      stage.do({ do: "annotate", name: "a", key: ANNOTATION.rotatePassword, value: "1" });
      await stage.until("rotated", () => stage.get("a").status?.binding?.rotation === "1");
      await stage.pause(asleepMs);
      const keeper = [...operatorOf(stage).supervisor.keepers][0];
      assertEquals(keeper?.hibernating, asleepMs > MINUTE);
      // The provider does not answer until what the Secret is now was told, which comes after what the resource is.
      const answer = { status: 503, code: "Unavailable", message: "later" };
      const end = stage.cloud.faults.add({ verbs: ["get", "modify"], fault: { answer, effect: "none" } });
      restore(stage, stage.time - at, 1_000_000);
      const { secrets } = stage.world.kube;
      const all = secrets.all.bind(secrets);
      secrets.all = () => {
        throw new KubeError("unavailable", "service unavailable", { status: 503 });
      };
      assertEquals(stage.get("a").status?.binding?.rotation, undefined);
      await stage.pause(3 * SECOND);
      secrets.all = all;
      await stage.pause(MINUTE);
      end();
      const login = () => {
        const data = stage.world.kube.secrets.find({ namespace: "default", name: "a-connection" })?.data;
        return stage.cloud.loginWorks(stage.id("a"), atob(data?.["password"] ?? ""));
      };
      assertEquals(login(), false);
      await stage.until("its Secret logs in", login, 31 * MINUTE);
    }),
);
