/**
 * A2, rule 6: what is created moments after the credentials were changed is recorded under the account that it is in.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { each, MINUTE, play, SECOND, type Stage } from "./behaviours/support.ts";

function switchTo(stage: Stage, account: string): void {
  stage.cloud.configure({ account });
  stage.world.observer.accountSwitched();
}

each(
  { "at once": 0, "while the create is under way": 1, "5 s later": 5_000, "50 s later": 50_000 },
  (words) =>
    `A2: a resource that is created ${words} after the credentials were changed names the account that its database is in`,
  (ms) =>
    play({ minutes: 20, plan: { cloud: { latencyMs: 400 } } }, async (stage) => {
      stage.create("a");
      await stage.available("a");
      await stage.pause(70 * SECOND);
      if (ms === 1) {
        stage.create("b");
        await stage.until("the create", () => stage.calls("create").length === 2, MINUTE, 1);
      }
      switchTo(stage, "another");
      if (ms !== 1) {
        await stage.pause(ms);
        stage.create("b");
      }
      await stage.until("recorded", () => stage.find("b")?.status?.providerId !== undefined);
      assertEquals(stage.get("b").status?.account, stage.database("b").account);
      switchTo(stage, "simulated");
      await stage.pause(5 * MINUTE);
      assertEquals(stage.get("b").status?.account, stage.database("b").account);
      assertEquals(stage.effects("create").length, 2);
    }),
);
