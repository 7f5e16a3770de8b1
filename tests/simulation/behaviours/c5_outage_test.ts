/**
 * C5: a cloud that cannot be read for ten minutes. Nothing is created or deleted, the endpoint stays, and what the
 * conditions say is no more and no less than what is known.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type DatabaseProvider, ProviderError } from "../../../src/providers/port.ts";
import { type Fault, REFUSALS } from "../../../src/providers/simulated/faults.ts";
import { CLOUDS, each, MINUTE, play, playAtEveryCrash, type Scene, SECOND, type Stage } from "./support.ts";

const NAMES = ["a", "b", "c"];

/** What reads are answered with, and the reason that `Synced` gives. */
const ANSWERS: Readonly<Record<string, { readonly fault: Fault; readonly reason: string }>> = {
  "401": { fault: { answer: REFUSALS.unauthenticated }, reason: "Unauthorised" },
  "403": { fault: { answer: REFUSALS.forbidden }, reason: "Unauthorised" },
  "404 to a list": {
    fault: { answer: { status: 404, code: "AccountNotFound", message: "No such account" } },
    reason: "Unreadable",
  },
  "429": { fault: { answer: { ...REFUSALS.throttled, retryAfterSeconds: 5 } }, reason: "Throttled" },
  "429 without a time": {
    fault: { answer: { ...REFUSALS.throttled, retryAfterSeconds: undefined } },
    reason: "Throttled",
  },
  "500": { fault: { answer: REFUSALS.internalError }, reason: "Unreadable" },
  "503": { fault: { answer: REFUSALS.unavailable }, reason: "Unreadable" },
  "nothing, the connection breaks": { fault: { answer: "lost" }, reason: "Unreadable" },
  "nothing, and never": { fault: { answer: "stall" }, reason: "Unreadable" },
};

/** Ten minutes of it. `checked` is what must hold at every moment. */
async function outage(stage: Stage, fault: Fault, reason: string): Promise<void> {
  stage.create(NAMES);
  await stage.available(NAMES);
  await stage.pause(90 * SECOND); // at least one list has shown them
  const endpoints = NAMES.map((n) => stage.get(n).status?.endpoint);
  const mark = stage.mark();
  const { rv } = stage.world.store;
  const from = stage.time;
  stage.cloud.faults.add({ forMs: 10 * MINUTE, fault });
  const kept = () => {
    assertEquals(NAMES.map((n) => stage.get(n).status?.endpoint), endpoints, "an endpoint changed");
    assertEquals(stage.mutations(mark), [], "something was changed");
    for (const name of NAMES) {
      // The last list was answered within the period before the outage: three periods from then.
      if (stage.time - from < 115 * SECOND) assertEquals(stage.condition(name, "Ready"), "True/Available");
    }
    return true;
  };
  await stage.until(
    "Synced is Unknown, with the reason",
    () => kept() && NAMES.every((n) => stage.condition(n, "Synced") === `Unknown/${reason}`),
    3 * MINUTE,
  );
  await stage.until(
    "Ready is Unknown after three periods",
    () => kept() && NAMES.every((n) => stage.condition(n, "Ready") === "Unknown/ProviderUnavailable"),
    3 * MINUTE,
  );
  assert(stage.time - from > 115 * SECOND, "Ready was given up too early");
  await stage.always("it stays so", kept, from + 10 * MINUTE - stage.time);
  for (const name of NAMES) {
    const writes = stage.writes(name, rv);
    assert(writes <= 6, `${writes} status writes in an outage`); // one for each of the two, and a restart's
  }
  // Half a minute of back-off, a call that was under way, and a pause of a minute where no time was named.
  await stage.until("all is well again", () => NAMES.every((n) => stage.inStep(n)), 95 * SECOND);
  assertEquals(stage.mutations(mark), []);
}

each(
  ANSWERS,
  (words) =>
    `C5: reads are answered ${words} for ten minutes: told, endpoint kept, nothing changed, healed by itself`,
  ({ fault, reason }) => play({ minutes: 20 }, (stage) => outage(stage, fault, reason)),
);

for (const kind of ["401", "500", "nothing, and never"]) {
  const { fault, reason } = ANSWERS[kind] ?? {};
  Deno.test(`C5: killed at any call of an outage of ${kind}, it is told and healed all the same`, async () => {
    await playAtEveryCrash({ minutes: 20 }, async (stage) => {
      stage.create("a");
      await stage.available("a");
      const mark = stage.mark();
      const { endpoint, providerId } = stage.get("a").status ?? {};
      stage.cloud.faults.add({ forMs: 9 * MINUTE, fault: fault ?? {} });
      // One that never heard of its account says that first.
      const reasons = [`Unknown/${reason}`, "Unknown/ProviderUnavailable"];
      await stage.until("told", () => reasons.includes(stage.condition("a", "Synced")), 4 * MINUTE);
      // A restart does not know when it was read last, and counts anew.
      await stage.until("unready", () => stage.condition("a", "Ready").startsWith("Unknown"), 7 * MINUTE);
      assertEquals(stage.get("a").status?.endpoint, endpoint);
      await stage.until("healed", () => stage.inStep("a"), 9 * MINUTE);
      assertEquals(stage.mutations(mark), []);
      assertEquals(stage.get("a").status?.providerId, providerId);
    }, 8);
  });
}

/** Lists that lie while reads by id tell the truth. */
const LIES: Readonly<Record<string, Scene["wrap"]>> = {
  "an empty list, answered 200": (inner, stage) => lying(inner, stage, () => ({ items: [] })),
  "the first page alone, as if it were all": (inner, stage) =>
    lying(inner, stage, (items) => ({ items: items.slice(0, 1) })),
  "the first page, and then 500": (inner, stage) =>
    lying(inner, stage, (items, token) => {
      if (token !== undefined) throw new ProviderError("retryable", "Listing databases: InternalError");
      return { items: items.slice(0, 1), nextPageToken: "2" };
    }),
  "pages without end": (inner, stage) =>
    lying(inner, stage, (items, token) => ({ items, nextPageToken: String(Number(token ?? 0) + 1) })),
  "one page again and again": (inner, stage) =>
    lying(inner, stage, (items) => ({ items, nextPageToken: "again" })),
};

type Items = Awaited<ReturnType<DatabaseProvider["list"]>>["items"];

function lying(
  inner: DatabaseProvider,
  stage: () => Stage,
  answer: (items: Items, token: string | undefined) => Awaited<ReturnType<DatabaseProvider["list"]>>,
): DatabaseProvider {
  return {
    ...inner,
    list: async ({ pageToken, ...options }) => {
      const page = await inner.list(options);
      const now = stage().time;
      return now > 3 * MINUTE && now < 13 * MINUTE ? answer(page.items, pageToken) : page;
    },
  };
}

for (const [words, wrap] of Object.entries(LIES)) {
  each(
    { "": {}, ", lists 20 s late": CLOUDS["tokens, lists 20 s late"] ?? {} },
    (more) =>
      `C5: lists give ${words}${more}, while reads by id are right: nothing is created, deleted or lost`,
    (cloud) =>
      play({ minutes: 20, wrap, plan: { cloud } }, async (stage) => {
        const names = ["a", "b", "c", "d", "e", "f"];
        stage.create(names);
        await stage.available(names, 2.9 * MINUTE);
        const ids = names.map((n) => stage.id(n));
        const mark = stage.mark();
        await stage.always(
          "usable, and the same",
          () =>
            stage.mutations(mark).length === 0 &&
            names.every((n, i) => stage.id(n) === ids[i] && stage.get(n).status?.endpoint !== undefined),
          13 * MINUTE - stage.time,
        );
        await stage.available(names, 95 * SECOND);
        assertEquals(stage.mutations(mark), []);
      }),
  );
}

Deno.test("C5: an edit and a deletion made during an outage are carried out after it, within one back-off", async () => {
  for (const kind of ["401", "429", "nothing, and never"]) {
    await playAtEveryCrash({ minutes: 10 }, async (stage) => {
      stage.create(["a", "b"]);
      await stage.available(["a", "b"]);
      const mark = stage.mark();
      const id = stage.id("b");
      stage.cloud.faults.add({ forMs: 2 * MINUTE, fault: ANSWERS[kind]?.fault ?? {} });
      await stage.pause(10 * SECOND);
      stage.edit("a", { sizeGb: 40 });
      stage.remove("b");
      await stage.pause(80 * SECOND);
      assertEquals(stage.get("b").status?.state, "Deleting");
      assert(
        stage.message("b").includes("failed") || stage.message("b").includes("waits"),
        stage.message("b"),
      );
      assert(stage.get("a").status?.endpoint !== undefined);
      assertEquals([stage.effects("modify", mark), stage.effects("delete", mark)], [[], []]);
      await stage.gone("b", 2 * MINUTE);
      await stage.available("a", 100 * SECOND);
      assertEquals(stage.database("a").sizeGb, 40);
      assertEquals(stage.effects("delete", mark).map((e) => e.id), [id]);
      assertEquals(stage.effects("modify", mark).length, 1);
    }, 2);
  }
});
