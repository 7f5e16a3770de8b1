/**
 * Q2: 429 with Retry-After pauses the whole account, not one CR; nothing is lost, and calls stay few.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { refusalError } from "../../../src/providers/classify.ts";
import type { DatabaseProvider } from "../../../src/providers/port.ts";
import { HOUR, MINUTE, play, playAtEveryCrash, type Scene, SECOND } from "./support.ts";

const NAMES = Array.from({ length: 30 }, (_, n) => `db-${n}`);

/** The provider, which throttles the first call of any kind after `at` with this header, and then for as long as it says. */
function throttling(
  header: string | ((wallMs: number) => string) | null,
  at: number,
  forMs: number,
): Scene["wrap"] {
  return (inner, stage): DatabaseProvider => {
    const check = (verb: "info" | "get" | "list" | "create" | "modify" | "delete") => {
      const { time, world } = stage();
      if (time < at || time >= at + forMs) return;
      const now = world.clock.now();
      const retryAfter = typeof header === "function" ? header(now) : header;
      throw refusalError({ verb, status: 429, code: "Throttled", message: "Too many", retryAfter, now });
    };
    return {
      name: inner.name,
      info: async (o) => (check("info"), await inner.info(o)),
      get: async (id, o) => (check("get"), await inner.get(id, o)),
      list: async (o) => (check("list"), await inner.list(o)),
      create: async (r, o) => (check("create"), await inner.create(r, o)),
      modify: async (id, r, o) => (check("modify"), await inner.modify(id, r, o)),
      delete: async (id, o) => (check("delete"), await inner.delete(id, o)),
    };
  };
}

/** Headers, and the pause that each means, in milliseconds. */
const HEADERS: Readonly<
  Record<string, { readonly header: string | ((now: number) => string) | null; readonly pauseMs: number }>
> = {
  "30 s": { header: "30", pauseMs: 30 * SECOND },
  "a date in 40 s": { header: (now) => new Date(now + 40 * SECOND).toUTCString(), pauseMs: 39 * SECOND },
  "ten minutes, clamped to five": { header: "600", pauseMs: 5 * MINUTE },
  "a date in a day, clamped to five minutes": {
    header: (now) => new Date(now + 24 * HOUR).toUTCString(),
    pauseMs: 5 * MINUTE,
  },
  "a number beyond all bounds, clamped to five minutes": { header: "9".repeat(400), pauseMs: 5 * MINUTE },
  "0, taken for a second": { header: "0", pauseMs: SECOND },
  "a date that has passed": { header: (now) => new Date(now - HOUR).toUTCString(), pauseMs: SECOND },
  "words": { header: "soon", pauseMs: SECOND },
  "nothing": { header: null, pauseMs: SECOND },
};

for (const [words, { header, pauseMs }] of Object.entries(HEADERS)) {
  Deno.test(`Q2: 429 with Retry-After ${words}: no call of any CR until then, nothing lost, no burst after it`, async () => {
    const at = 60_500;
    const outage = throttling(header, at, 200); // what was under way may be refused with the first
    // Counted before the refusals, so that one who does not keep still is seen.
    const asked: number[] = [];
    await play({
      minutes: 15,
      wrap: (inner, stage) => {
        const inside = outage?.(inner, stage) ?? inner;
        const count = <A extends unknown[], R>(fn: (...args: A) => R) => (...args: A): R => {
          asked.push(stage().time);
          return fn(...args);
        };
        return {
          name: inside.name,
          info: count(inside.info),
          get: count(inside.get),
          list: count(inside.list),
          create: count(inside.create),
          modify: count(inside.modify),
          delete: count(inside.delete),
        };
      },
    }, async (stage) => {
      stage.create(NAMES);
      await stage.available(NAMES, 50 * SECOND);
      await stage.pause(at - stage.time + 10);
      stage.edit("db-0", { sizeGb: 40 }); // meets the first refusal
      await stage.pause(100);
      for (const name of NAMES.slice(1, 10)) stage.edit(name, { sizeGb: 40 });
      stage.remove("db-29");
      stage.create("new");
      await stage.pause(1_500);
      const first = asked.find((t) => t >= at) ?? 0;
      assert(first < at + 200, `nobody asked while it throttled: ${first}`);
      await stage.until(
        "all is done",
        () => stage.inStep(...NAMES.slice(0, 29), "new") && stage.find("db-29") === undefined,
        pauseMs + 2 * MINUTE,
      );
      const early = asked.filter((t) => t > first + 1 && t < first + pauseMs - 1);
      // Calls of one tick were started together, before the first was refused.
      assertEquals(
        early.filter((t) => t > at + 200),
        [],
        `asked in the pause of ${pauseMs} ms from ${first}`,
      );
      const after = asked.filter((t) => t >= first + pauseMs && t < first + pauseMs + 100);
      // One for each resource, one for the list, one for the account.
      assert(after.length <= NAMES.length + 1 + 2, `a burst of ${after.length} calls after the pause`);
      for (const name of NAMES.slice(0, 10)) assertEquals(stage.database(name).sizeGb, 40);
      assertEquals(stage.effects("modify").length, 10);
      assertEquals(stage.effects("create").length, 31);
      assertEquals(stage.effects("delete").length, 1);
    });
  });
}

Deno.test("Q2: while the account is paused a status says Throttled, with what is waited for, and no other reason", () =>
  play({}, async (stage) => {
    stage.create(["a", "b"]);
    await stage.available(["a", "b"]);
    stage.cloud.faults.add({
      forMs: 3 * MINUTE,
      fault: { answer: { status: 429, code: "Throttled", message: "Rate exceeded", retryAfterSeconds: 60 } },
    });
    stage.edit("a", { sizeGb: 40 });
    await stage.until("told", () => stage.condition("a", "Synced").endsWith("/Throttled"), 3 * MINUTE);
    assert(stage.message("a").includes("Rate exceeded"));
    await stage.available(["a", "b"], 6 * MINUTE);
    assertEquals(stage.effects("modify").length, 1);
  }));

Deno.test("Q2: at 5 calls a second and no burst, dozens of creates, edits and deletes end, killed wherever", async () => {
  const names = Array.from({ length: 20 }, (_, n) => `db-${n}`);
  await playAtEveryCrash({
    minutes: 30,
    plan: { pollMs: 5 * MINUTE, cloud: { ratePerSecond: 5, burst: 5 } },
  }, async (stage) => {
    stage.create(names);
    await stage.available(names, 8 * MINUTE);
    for (const name of names.slice(0, 14)) stage.edit(name, { sizeGb: 40 });
    for (const name of names.slice(14)) stage.remove(name);
    await stage.gone(names.slice(14), 5 * MINUTE);
    await stage.available(names.slice(0, 14), 5 * MINUTE);
    assertEquals(stage.effects("create").length, 20);
    assertEquals(stage.effects("modify").length, 14);
    assertEquals(stage.effects("delete").length, 6);
    const refused = stage.cloud.ledger.calls().filter((c) => c.outcome === "Throttled").length;
    const all = stage.cloud.ledger.calls().length;
    assert(refused < all / 2, `${refused} of ${all} calls were refused`);
  }, 2);
});

/** Calls per hour of a steady fleet, as design.md 3 counts them: one list of 100 a page each period, and the account once a minute. */
function steadyCalls(databases: number, pollMs: number): number {
  return Math.ceil(databases / 100) * (HOUR / pollMs) * 1.1 + 60 * 1.3;
}

Deno.test("Q2: a fleet in step makes its lists and asks its account, and no other call, hour after hour", () =>
  play({ minutes: 200, plan: { pollMs: 5 * MINUTE } }, async (stage) => {
    const names = Array.from({ length: 120 }, (_, n) => `db-${n}`);
    stage.create(names);
    await stage.available(names);
    await stage.pause(10 * MINUTE);
    for (let hour = 0; hour < 3; hour++) {
      const mark = stage.mark();
      await stage.pause(HOUR);
      const calls = stage.cloud.ledger.calls({ since: mark });
      assertEquals(calls.filter((c) => c.verb !== "list" && c.verb !== "info"), []);
      const limit = steadyCalls(120, 5 * MINUTE);
      assert(calls.length <= limit, `${calls.length} calls in an hour, more than ${limit}`);
    }
  }));

Deno.test("Rule 14: a create that was queued for long is not sent for a resource whose deletion no silent watch has told (found by simulation, seed 48589)", () => {
  const at = 60_500;
  return play({ minutes: 10, wrap: throttling("100", at, 30 * SECOND) }, async (stage) => {
    stage.create("a");
    await stage.available("a");
    await stage.pause(at + 2 * SECOND - stage.time);
    stage.create("b");
    await stage.until("b waits for its create", () => stage.find("b")?.status?.state === "Creating");
    stage.do({ do: "silenceWatches" });
    stage.remove("b");
    await stage.until("b is gone", () => stage.find("b") === undefined, 5 * MINUTE);
    assertEquals(stage.effects("create").length, 1);
  });
});
