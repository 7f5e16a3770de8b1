/**
 * K1 to K4 at every crash point: whatever call the operator dies at, in the end the Secret logs in.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION } from "../../../src/api/constants.ts";
import { secretProblem } from "../../../src/simulation/bindings.ts";
import { CLOUDS, each, EXTREMES, MINUTE, play, playAtEveryCrash, type Stage } from "./support.ts";

const KEY = { namespace: "default", name: "a-connection" };

function create(stage: Stage): Promise<number> {
  stage.create("a", { connectionSecretRef: {} });
  return stage.available("a", 5 * MINUTE);
}

function password(stage: Stage): string | undefined {
  return stage.world.kube.secrets.find(KEY)?.data?.["password"];
}

function assertLogsIn(stage: Stage): void {
  assertEquals(secretProblem(stage.world, stage.get("a")), undefined);
}

each(
  CLOUDS,
  (words) => `K1: killed at any call of a create (${words}), the Secret logs in when the resource is ready`,
  (cloud) =>
    playAtEveryCrash({ plan: { cloud } }, async (stage) => {
      await create(stage);
      assertLogsIn(stage);
    }, 30),
);

each(
  EXTREMES,
  (words) =>
    `K1: killed at any call of a rotation (${words}), the Secret logs in and the rotation is acknowledged`,
  (cloud) =>
    playAtEveryCrash({ plan: { cloud } }, async (stage) => {
      await create(stage);
      const before = password(stage);
      stage.do({ do: "annotate", name: "a", key: ANNOTATION.rotatePassword, value: "1" });
      await stage.until("acknowledged", () => stage.get("a").status?.binding?.rotation === "1", 5 * MINUTE);
      await stage.available("a", 5 * MINUTE);
      assert(password(stage) !== before, "the password is the same");
      assertLogsIn(stage);
    }, 30),
);

each(
  EXTREMES,
  (words) => `K2: killed at any call after the Secret was deleted (${words}), it is rebuilt and logs in`,
  (cloud) =>
    playAtEveryCrash({ plan: { cloud } }, async (stage) => {
      await create(stage);
      stage.do({ do: "secret", name: "a", harm: "delete" });
      await stage.until("rebuilt", () => password(stage) !== undefined, 5 * MINUTE);
      await stage.until("it logs in", () =>
        secretProblem(stage.world, stage.get("a")) === undefined, 5 * MINUTE);
      await stage.available("a", 5 * MINUTE);
    }, 30),
);

Deno.test("K1: a password whose change takes effect late never undoes the next one", () =>
  play({ plan: { cloud: { effectBoundMs: 20_000 } }, minutes: 15 }, async (stage) => {
    await create(stage);
    stage.cloud.faults.add({ verbs: ["modify"], times: 1, fault: { answer: "lost", delayMs: 18_000 } });
    stage.do({ do: "annotate", name: "a", key: ANNOTATION.rotatePassword, value: "1" });
    await stage.until("sent", () => stage.calls("modify").length > 0);
    stage.do({ do: "crash", nth: 0 }); // the next process knows nothing of what is on its way
    stage.do({ do: "annotate", name: "a", key: ANNOTATION.rotatePassword, value: "2" });
    await stage.until("acknowledged", () => stage.get("a").status?.binding?.rotation === "2", 5 * MINUTE);
    await stage.available("a", 5 * MINUTE);
    await stage.always(
      "it logs in",
      () => secretProblem(stage.world, stage.get("a")) === undefined,
      MINUTE,
    );
    assertEquals(stage.effects("modify").length, 2);
  }));

Deno.test("K2: a foreign Secret is never written over, and its name is taken once it is gone", () =>
  play({ minutes: 40 }, async (stage) => {
    const { secrets } = stage.world.kube;
    secrets.create({ metadata: KEY, type: "Opaque", data: { key: btoa("mine") } }, "user");
    stage.create("a", { connectionSecretRef: {} });
    await stage.until("told", () => stage.condition("a", "Ready") === "False/SecretConflict");
    await stage.pause(10 * MINUTE);
    assertEquals([secrets.get(KEY).data, stage.mutations()], [{ key: btoa("mine") }, []]);
    secrets.delete(KEY, undefined, "user");
    await stage.available("a", 12 * MINUTE);
    assertLogsIn(stage);
  }));

Deno.test("K3: a failover changes the Secret's host within one poll, and no password", () =>
  play({}, async (stage) => {
    await create(stage);
    const before = password(stage);
    stage.cloud.edit(stage.id("a"), { endpoint: "standby.example:5433" });
    const took = await stage.until(
      "the Secret follows",
      () => stage.world.kube.secrets.get(KEY).data?.["host"] === btoa("standby.example"),
    );
    assert(took < MINUTE * 1.2, `${took} ms`);
    await stage.available("a");
    assertEquals([password(stage), stage.calls("modify")], [before, []]);
  }));

each(
  EXTREMES,
  (words) =>
    `K1, D4: from managed to observe-only and back (${words}), killed at any call: the Secret stays as it was, and logs in`,
  (cloud) =>
    playAtEveryCrash({ plan: { cloud }, minutes: 30 }, async (stage) => {
      await create(stage);
      const before = JSON.stringify(stage.world.kube.secrets.find(KEY));
      stage.edit("a", { managementPolicy: "ObserveOnly", providerId: stage.id("a") });
      await stage.pause(10 * MINUTE);
      assertEquals(JSON.stringify(stage.world.kube.secrets.find(KEY)), before);
      assertEquals(stage.get("a").status?.binding?.name, KEY.name);
      assertLogsIn(stage);
      stage.edit("a", { managementPolicy: "Full" });
      await stage.available("a", 10 * MINUTE);
      assertEquals(password(stage), JSON.parse(before).data.password, "another password");
      assertLogsIn(stage);
      // A rotation that is asked for while it only observes waits, as every change does.
      stage.edit("a", { managementPolicy: "ObserveOnly" });
      stage.do({ do: "annotate", name: "a", key: ANNOTATION.rotatePassword, value: "2" });
      await stage.pause(5 * MINUTE);
      assertEquals(password(stage), JSON.parse(before).data.password, "rotated while it only observes");
      assertLogsIn(stage);
      stage.edit("a", { managementPolicy: "Full" });
      await stage.until("rotated", () => stage.get("a").status?.binding?.rotation === "2", 10 * MINUTE);
      await stage.available("a", 5 * MINUTE);
      assert(password(stage) !== JSON.parse(before).data.password, "the password is the same");
      assertLogsIn(stage);
    }, 20),
);
