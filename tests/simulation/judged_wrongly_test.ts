/**
 * Seeds in which the operator was right and the simulation said otherwise: each oracle that was made narrower holds them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { runAndCompare } from "../../src/simulation/compare.ts";
import { drawPlan } from "../../src/simulation/draw.ts";
import type { Plan } from "../../src/simulation/plan.ts";
import { pinned } from "../../src/simulation/pins.ts";

const SEEDS: Readonly<Record<number, string>> = {
  4_161:
    "a restored cluster lost the operator's own write, which no watch had told, and a list finds out (S5)",
  16_920: "a cluster went back to where a CR lives between a delete's quorum read and the delete (S3)",
  5_520_092:
    "the credentials go back, between a lookup and its create, to where one was made that nobody recorded (S1)",
  49_896: "what an adoption reads of the owner is told to the owner's actor by the watch alone (rule 14)",
  56_564: "a list finds half an hour later what a restore brought back, which nobody can read any more (L1)",
  67_958: "a Secret is deleted where the watch is ahead of a restored cluster, and a list finds out (S5)",
  76_566:
    "a database that its spec protects vanishes before its id was recorded, and a lookup finds out (S5)",
  78_290: "a write of before a restore speaks of a generation that came again (observedGeneration)",
  116_405: "the watch for orphans reads a namesake whose own write waits for its answer (L4)",
  116_949: "what only another account still holds is held by no protection (S5)",
  117_445: "a Secret whose label a user took off is out of sight (L1)",
  2_041: "an adoption waits for an owner that goes, in a world whose credentials were changed (S5)",
  1_719_039: "a process that wakes to a SIGTERM finds an answer behind it (wait)",
  80_451:
    "a pause that ended is known from the answer of the actor's own write before a watch tells (rule 14)",
  27_986:
    "a cluster went back by no more than a write of the operator to a connection Secret, and a list finds out (K4)",
  200_335:
    "a restored cluster reuses the version of a deletion for which the credentials are not there, and silence begins unheard (S5)",
  303_578:
    "a create sent while the credentials led to where one was made unseen takes effect when that one is recorded (S1)",
  43_997:
    "a resource that only observed a retained database takes it over, which the run without faults leaves out (the same end)",
  92_090: "a cluster is restored to before its resources, for which calls were made a moment ago (S5)",
  109: "a failed database that is to be taken over with consent takes no tags until a person mends it (L1)",
  5_678:
    "a person edits the id back to a database that lost its tags, and the one that stands in for it has them (S6)",
  83_844: "a watch that fell silent tells of an edit before it tells that the resource only observes (D4)",
};

/** Those of a cloud without client tokens whose lists lag by 20 s. */
const WITHOUT_TOKENS: Readonly<Record<number, string>> = {
  3_644: "a change whose turn came late read its resource, which its actor was told (observedGeneration)",
  11_232: "Ready is told of the spec as it was, while no watch tells that a Secret is asked for now (K4)",
  32_310:
    "the credentials lead elsewhere between two words of the account, and an absence falls into that (S6)",
  62_179: "a database was made while the credentials led elsewhere for a moment, and so was the next (S1)",
};

for (
  const [seeds, pins] of [[SEEDS, {}], [WITHOUT_TOKENS, {
    clientTokens: false,
    readLagMs: 20_000,
  }]] as const
) {
  for (const [seed, what] of Object.entries(seeds)) {
    Deno.test(`Seed ${seed}: ${what}`, async () => {
      assertEquals((await runAndCompare(pinned(drawPlan(Number(seed)), pins))).violation, undefined);
    });
  }
}

/** What was left of seed 19870, whose own world showed a fault of the operator besides. */
const SILENT_RESTORE: Plan = {
  "seed": 19870,
  "replicas": 1,
  "pollMs": 30000,
  "hibernateAfterMs": 60000,
  "concurrency": 64,
  "pageSize": 2,
  "cloud": {
    "clientTokens": false,
    "describesItself": true,
    "tokenMemoryMs": 0,
    "readLagMs": 0,
    "effectBoundMs": 10000,
    "latencyMs": 5,
    "provisionMs": 5000,
    "modifyMs": 2000,
    "deleteMs": 2000,
    "jitter": 0.3,
    "ratePerSecond": 0,
    "loseAnswers": 0,
    "failBefore": 0,
    "failAfter": 0,
    "lateEffects": 0,
    "provisionFailures": 0,
    "autogrowAfterMs": 0,
    "minorUpgradeAfterMs": 0,
    "engineCase": "title",
    "minorVersion": 3,
    "showPending": false,
    "shiftingPages": false,
    "protectable": true,
    "snapshots": true,
    "snapshotFailures": 0,
  },
  "kube": {
    "latencyMs": 10,
    "watchLagMs": 50,
    "failBefore": 0,
    "failAfter": 0,
    "timeout": 0,
    "conflict": 0,
    "throttle": 0,
    "staleList": 0,
    "staleMs": 0,
    "silentWatch": 0,
  },
  "chaosMs": 600000,
  "restartMs": 60000,
  "dooms": [],
  "actions": [
    {
      "at": 970,
      "do": "create",
      "name": "b",
      "spec": {
        "engine": "mysql",
        "version": "14.2",
        "sizeGb": 20,
        "driftPolicy": "Report",
        "pollInterval": "10s",
      },
      "foreignFinalizer": true,
    },
    { "at": 485957, "do": "cloudOutage", "kind": "throttled", "ms": 236086, "of": "get", "retryAfterS": 600 },
    { "at": 518669, "do": "restore", "ms": 68682, "bump": 0 },
    { "at": 561301, "do": "console", "nth": 2, "change": { "kind": "shrink", "by": 7 } },
  ],
};

Deno.test("Seed 19870: a patch of before the watch heard of a restore leaves a condition that it took to be overwritten (observedGeneration)", async () => {
  assertEquals((await runAndCompare(SILENT_RESTORE)).violation, undefined);
});
