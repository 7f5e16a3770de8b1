/**
 * Rule 7, S5: a database that vanishes again and again is created anew in ever longer steps, whatever restarts between.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { MINUTE, play, SECOND } from "./behaviours/support.ts";

Deno.test("rule 7: a database that somebody deletes again and again is created anew in ever longer steps, over restarts too", () =>
  play({ minutes: 120, plan: { pollMs: 10 * SECOND } }, async (stage) => {
    stage.create("a");
    await stage.available("a");
    const waits: number[] = [];
    for (let n = 0; n < 5; n++) {
      const id = stage.id("a");
      stage.cloud.remove(id);
      const from = stage.time;
      if (n % 2 === 1) stage.do({ do: "crash", nth: 0 });
      await stage.until(
        "another",
        () => ![undefined, id].includes(stage.find("a")?.status?.providerId),
        20 * MINUTE,
      );
      waits.push(stage.time - from);
      await stage.available("a");
      assertEquals(stage.get("a").status?.losses, n + 1);
    }
    assert((waits[0] ?? 0) < 40 * SECOND, String(waits));
    assert((waits[2] ?? 0) > 1.5 * MINUTE && (waits[4] ?? 0) > 6 * MINUTE, String(waits));
  }));
