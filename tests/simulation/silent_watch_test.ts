/**
 * What an actor itself recorded counts, though a watch that fell silent has not told of it yet.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { MINUTE, play } from "./behaviours/support.ts";

Deno.test("R1, rule 11: a list tells of drift by the id that the actor recorded, before a silent watch tells of that (seed 12742)", () =>
  play({ minutes: 15, plan: { pollMs: 10_000 } }, async (stage) => {
    stage.create("a");
    await stage.until("the create is sent", () => stage.calls("create").length === 1, MINUTE, 1);
    stage.do({ do: "silenceWatches" });
    await stage.available("a");
    stage.do({ do: "console", nth: 0, change: { kind: "version", version: "14.0" } });
    await stage.until("the drift is repaired", () => stage.database("a").version === "14.2", 30_000);
    assertEquals(stage.effects("create").length, 1);
  }));
