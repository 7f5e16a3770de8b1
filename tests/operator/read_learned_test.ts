/**
 * What an effect read of its resource is learned however the effect ends: else a status whose answer was lost, and which
 * that read showed, is written once more and says nothing new (L4, S5; found by simulation, seed 54430).
 */
import { assertEquals } from "@std/assert";
import { create } from "../../src/operator/effects/create.ts";
import { adopt } from "../../src/operator/effects/adopt.ts";
import type { EffectFunction } from "../../src/operator/effects/env.ts";
import { discard, remove } from "../../src/operator/effects/remove.ts";
import { retain } from "../../src/operator/effects/retain.ts";
import { ProviderError } from "../../src/providers/port.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { cr, db, deleting, inStep, known } from "../statechart/support.ts";
import { type Answers, failing, run } from "./effect_rig.ts";

const newer = (object: ExternalDatabase) => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: "101" },
});
const broken = new ProviderError("retryable", "the connection broke");
const lost = new ProviderError("unknown", "no answer in time");

const CASES: Readonly<Record<string, readonly [EffectFunction, ExternalDatabase, Answers]>> = {
  "a create whose lookup fails": [create, cr(), { unlooked: broken }],
  "a create that is refused": [create, cr(), { refusal: new ProviderError("rejected", "no") }],
  "a create whose answer is lost": [create, cr(), { refusal: lost }],
  "a create that is answered with another's": [create, cr(), {
    answer: db({ tags: { "db.my.domain/uid": "x" } }),
  }],
  "an adoption whose read fails": [adopt, cr({ spec: { providerId: "db-1" } }), { database: broken }],
  "a removal whose CRD cannot be read": [remove, deleting({ status: inStep() }), { crd: "unreadable" }],
  "a removal whose read fails": [remove, deleting({ status: inStep() }), { database: broken }],
  "a removal that is refused": [remove, deleting({ status: inStep() }), { refusal: broken }],
  "a discard whose read fails": [discard, cr({ status: inStep() }), { database: broken }],
  "one to be retained whose read fails": [
    retain,
    deleting({ spec: { deletionPolicy: "Retain" }, status: inStep() }),
    { database: broken },
  ],
};

for (const [words, [effect, object, answers]] of Object.entries(CASES)) {
  Deno.test(`L4: ${words} tells what it read of its resource`, async () => {
    const read = newer(object);
    assertEquals((await failing(effect, known(object), { read, ...answers })).learned.object, read);
  });
}

Deno.test("L4: a create that is answered tells what it read of its resource", async () => {
  const read = newer(cr());
  assertEquals((await run(create, known(cr()), { read })).learned.object, read);
  assertEquals(
    (await run(create, known(cr(), { provenNew: true }), { read })).learned.object,
    undefined,
    "it read nothing",
  );
});
