/**
 * F2: whatever fails, reason, message and observedGeneration appear within one pass and go within one pass of the cure.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../../src/api/constants.ts";
import type { FaultRule } from "../../../src/providers/simulated/faults.ts";
import { REFUSALS } from "../../../src/providers/simulated/faults.ts";
import { each, MINUTE, play, playAtEveryCrash, SECOND, type Stage } from "./support.ts";

interface Case {
  readonly fail: (stage: Stage) => void;
  /** What the message must say besides. */
  readonly says: string;
  readonly reason: string;
  readonly cure: (stage: Stage) => void;
  /** Within which the operator hears of the failure, and of the cure, where nobody tells it, in milliseconds. */
  readonly passMs?: number;
  readonly cureMs?: number;
  /** It has no database yet. */
  readonly first?: true;
}

/** One list, with its jitter. */
const LIST_MS = 70 * SECOND;
const NOT_ALLOWED = { status: 400, code: "InvalidParameter", message: "Version 14.2 is not offered" };
const QUOTA = { status: 403, code: "QuotaExceeded", message: "The quota of databases is used up" };

function refuse(stage: Stage, verbs: FaultRule["verbs"], answer: typeof NOT_ALLOWED): void {
  stage.cloud.faults.add({ verbs, fault: { answer, effect: "none" } });
}

const heal = (stage: Stage) => stage.cloud.faults.clear();
const grow = (stage: Stage) => stage.edit("a", { sizeGb: 40 });
const again = (stage: Stage) =>
  stage.do({ do: "annotate", name: "a", key: ANNOTATION.reconcile, value: "again" });

const CASES: Readonly<Record<string, Case>> = {
  "a version that is not offered": {
    first: true,
    fail: (s) => refuse(s, ["create"], NOT_ALLOWED),
    reason: "CreateFailed",
    says: "is not offered",
    cure: (s) => (heal(s), s.edit("a", { version: "15.1" })),
  },
  "a quota, lifted and asked for": {
    first: true,
    fail: (s) => refuse(s, ["create"], QUOTA),
    reason: "CreateFailed",
    says: "quota",
    cure: (s) => (heal(s), again(s)),
  },
  "creates that answer 500": {
    first: true,
    fail: (s) => refuse(s, ["create"], REFUSALS.internalError),
    reason: "CreateFailed",
    says: "Internal error",
    cure: heal,
    passMs: 10 * SECOND,
    cureMs: 75 * SECOND,
  },
  "a change that is refused": {
    fail: (s) => (refuse(s, ["modify"], NOT_ALLOWED), grow(s)),
    reason: "UpdateFailed",
    says: "is not offered",
    cure: (s) => (heal(s), again(s)),
  },
  "changes that answer 503": {
    fail: (s) => (refuse(s, ["modify"], REFUSALS.unavailable), grow(s)),
    reason: "UpdateFailed",
    says: "Service unavailable",
    cure: heal,
    cureMs: 75 * SECOND,
  },
  "a database that failed": {
    fail: (s) => void s.cloud.edit(s.id("a"), { state: "Failed" }),
    reason: "DatabaseFailed",
    says: "holds data",
    cure: (s) => void s.cloud.edit(s.id("a"), { state: "Available" }),
    passMs: LIST_MS,
    cureMs: LIST_MS,
  },
  "a state that nobody knows": {
    fail: (s) => void s.cloud.edit(s.id("a"), { word: "hibernated" }),
    reason: "Unreadable",
    says: "hibernated",
    cure: (s) => void s.cloud.edit(s.id("a"), { word: undefined }),
    passMs: LIST_MS,
    cureMs: LIST_MS,
  },
  "another engine than asked for": {
    fail: (s) => void s.cloud.edit(s.id("a"), { engine: "mysql" }),
    reason: "ImmutableFieldChanged",
    says: "mysql",
    cure: (s) => void s.cloud.edit(s.id("a"), { engine: "postgres" }),
    passMs: LIST_MS,
    cureMs: LIST_MS,
  },
  "a major version beyond what is asked for": {
    fail: (s) => void s.cloud.edit(s.id("a"), { version: "16.0" }),
    reason: "DriftNotRepairable",
    says: "never lowered",
    cure: (s) => s.edit("a", { version: "16" }),
    passMs: LIST_MS,
  },
  "a drift that is only reported": {
    fail: (s) => (s.edit("a", { driftPolicy: "Report" }), void s.cloud.edit(s.id("a"), { sizeGb: 10 })),
    reason: "DriftReported",
    says: "10 → 20",
    cure: (s) => s.edit("a", { driftPolicy: "Repair" }),
    passMs: LIST_MS,
  },
  "a loss that is only reported": {
    fail: (s) => (s.edit("a", { onMissing: "Report" }), s.cloud.remove(s.id("a"))),
    reason: "ExternalMissing",
    says: "gone",
    cure: (s) => s.edit("a", { onMissing: "Recreate" }),
    passMs: LIST_MS,
    cureMs: MINUTE + 15 * SECOND, // the account must have said its name around the absence
  },
  "a second database with its UID": {
    fail: (s) => s.do({ do: "duplicate", nth: 0 }),
    reason: "Duplicate",
    says: "db-",
    cure: (s) => {
      for (const d of s.cloud.databases()) if (d.id !== s.id("a")) s.cloud.remove(d.id);
    },
    passMs: LIST_MS,
    cureMs: LIST_MS,
  },
  "tags that were lost": {
    fail: (s) => s.do({ do: "retag", nth: 0 }),
    reason: "Conflict",
    says: "spec.providerId",
    cure: (s) => s.edit("a", { providerId: s.id("a"), driftPolicy: "Repair" }),
    passMs: LIST_MS,
  },
  "a spec that is not valid": {
    fail: (s) => s.edit("a", { version: "!" }),
    reason: "InvalidSpec",
    says: "spec.version",
    cure: (s) => s.edit("a", { version: "14.2" }),
  },
  "a pause": {
    fail: (s) => s.edit("a", { paused: true }),
    reason: "Paused",
    says: "spec.paused",
    cure: (s) => s.edit("a", { paused: false }),
  },
};

each(
  CASES,
  (words) =>
    `F2: ${words}: told with reason, message and generation within one pass, and cleared within one of its cure`,
  ({ fail, says, reason, cure, passMs = 5 * SECOND, cureMs = 5 * SECOND, first }) =>
    playAtEveryCrash({ minutes: 15 }, async (stage) => {
      const killed = stage.world.plan.dooms.length > 0;
      // A restart has its settle window and its first list before it.
      const more = killed ? LIST_MS : 0;
      if (first) fail(stage);
      stage.create("a");
      if (!first) {
        await stage.available("a");
        await stage.pause(20 * SECOND);
        fail(stage);
      }
      await stage.until("told", () => stage.condition("a", "Synced").endsWith(`/${reason}`), passMs + more);
      assert(stage.message("a").includes(says), stage.message("a"));
      assertEquals(stage.get("a").status?.observedGeneration, stage.get("a").metadata.generation);
      // A change of the spec meanwhile is observed though nothing can be done about it.
      stage.edit("a", { pollInterval: "1m" });
      await stage.until(
        "the new generation is observed",
        () => stage.get("a").status?.observedGeneration === stage.get("a").metadata.generation,
        30 * SECOND + more,
      );
      assert(stage.condition("a", "Synced") !== "True/Available", "cleared though nothing was cured");
      await stage.until(
        "told again",
        () => stage.condition("a", "Synced").endsWith(`/${reason}`),
        MINUTE + more,
      );
      cure(stage);
      await stage.available("a", cureMs + more);
      for (const c of stage.get("a").status?.conditions ?? []) {
        assertEquals(c.observedGeneration, stage.get("a").metadata.generation);
      }
      assertEquals(stage.cloud.databases().length, 1);
      assertEquals(stage.database("a").tags[TAG.uid], stage.get("a").metadata.uid);
    }, 3),
);

Deno.test("F2: what goes on failing tells its back-off step, nine times at most, and then is silent (L4)", () =>
  play({ minutes: 130 }, async (stage) => {
    refuse(stage, ["create"], NOT_ALLOWED);
    stage.create("a");
    const { rv } = stage.world.store;
    await stage.until(
      "told",
      () => stage.message("a").includes("(retry step 1, the next within "),
      5 * SECOND,
    );
    await stage.until(
      "and its last step",
      () => stage.message("a").includes("(retry step 9 or later"),
      100 * MINUTE,
    );
    const writes = stage.writes("a", rv);
    assert(writes <= 12, `${writes} writes`);
    await stage.pause(20 * MINUTE);
    assertEquals(stage.writes("a", rv), writes);
    heal(stage);
    again(stage);
    await stage.available("a", 5 * SECOND);
  }));
