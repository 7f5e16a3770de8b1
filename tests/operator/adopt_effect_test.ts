/** The adopt effect alone (rule 18): what it learns where it fails, and whom it keeps from trying meanwhile. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { KubeError } from "../../src/kube/port.ts";
import { adopt } from "../../src/operator/effects/adopt.ts";
import { ProviderError } from "../../src/providers/port.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { cr, db, inStep, known, NOW, tags } from "../statechart/support.ts";
import { type Answers, EffectRig, failing, run } from "./effect_rig.ts";

const taker = known(cr({ spec: { providerId: "db-1" } }));
/** What a read of the taker shows that nobody told of yet. */
const read = cr({ meta: { resourceVersion: "101" }, spec: { providerId: "db-1" } });
const bare = db({ tags: {} });
const foreign = db({ tags: tags({ [TAG.uid]: "another" }) });
/** Databases that someone has, who is not the taker. */
const owned = (more: Record<string, string> = {}) =>
  db({ tags: tags({ [TAG.uid]: "another", [TAG.crName]: "owner", ...more }) });
const without = (tag: string) => {
  const { [tag]: _, ...rest } = owned().tags;
  return db({ tags: rest });
};
const owner = cr({ meta: { uid: "another", name: "owner" } });
const going = cr({ meta: { uid: "another", name: "owner", deletionTimestamp: "2026-01-01T00:00:00Z" } });
const lost = new ProviderError("unknown", "no answer in time");

Deno.test("rule 18: an adoption that fails tells what it read of its resource, and why it failed", async () => {
  const cases: Record<string, readonly [errorClass: string, answers: Answers]> = {
    "it is changing": ["busy", { database: db({ tags: {}, state: "Modifying" }) }],
    "it is another's": ["taken", { database: owned(), other: owner }],
    "there is none": ["rejected", { database: "absent" }],
    "it vanished once it was tagged": ["rejected", { database: bare, then: "absent" }],
    "another tagged it after us": ["taken", { database: bare, then: foreign }],
    "it could not be read again": ["unknown", { database: bare, then: lost }],
    "its tags were refused": ["rejected", { database: bare, refusal: new ProviderError("rejected", "no") }],
    "its tags lost their answer": ["unknown", { database: bare, refusal: lost }],
  };
  for (const [words, [errorClass, answers]] of Object.entries(cases)) {
    const error = await failing(adopt, taker, { read, ...answers });
    assertEquals([error.errorClass, error.learned.object], [errorClass, read], words);
  }
});

Deno.test("L4: a database that failed can only be adopted once a person mended it, which is told apart from one that is changing", async () => {
  const codeOf = async (state: "Failed" | "Modifying") =>
    (await failing(adopt, taker, { read, database: db({ tags: {}, state }) })).code;
  assertEquals([await codeOf("Failed"), await codeOf("Modifying")], ["DatabaseFailed", undefined]);
});

Deno.test("rule 15: a tag of ours may be on a database once it was sent, unless the provider refused it", async () => {
  const tagged = async (answers: Answers) =>
    (await failing(adopt, taker, { database: bare, ...answers })).learned.tagged;
  assertEquals(await tagged({ then: "absent" }), { id: "db-1", at: NOW });
  assertEquals(await tagged({ then: lost }), { id: "db-1", at: NOW });
  assertEquals(await tagged({ refusal: lost, slowMs: 50 }), {
    id: "db-1",
    at: new ManualClock().monotonic() + 50,
  });
  assertEquals(await tagged({ refusal: new ProviderError("rejected", "no") }), undefined);
});

Deno.test("rule 18: an adoption that failed leaves the database to the next at once; one whose answer was lost, when it can take effect no more", async () => {
  const next = known(cr({ meta: { uid: "next", name: "next" }, spec: { providerId: "db-1" } }));
  const takes: Answers = { database: bare, then: db({ tags: tags({ [TAG.uid]: "next" }) }) };
  const refused: Answers[] = [{ database: owned() }, { database: "absent" }, {
    database: bare,
    refusal: new ProviderError("rejected", "no"),
  }];
  for (const answers of refused) {
    const rig = new EffectRig();
    await rig.failing(adopt, taker, { ...answers, other: owner });
    assertEquals((await rig.run(adopt, next, takes)).sent, ["modify"]);
  }
  const rig = new EffectRig();
  await rig.failing(adopt, taker, { database: bare, refusal: lost });
  await rig.clock.advance(9_999);
  const busy = await rig.failing(adopt, next, takes);
  assertEquals([busy.errorClass, busy.learned.object, rig.sent], ["busy", next.object, []]);
  await rig.clock.advance(1);
  assertEquals((await rig.run(adopt, next, takes)).sent, ["modify"]);
});

Deno.test("rule 18: an adoption that succeeds after one whose answer was lost ends its claim with the first's", async () => {
  const rig = new EffectRig();
  await rig.failing(adopt, taker, { database: bare, refusal: lost });
  assertEquals((await rig.run(adopt, taker, { database: bare, then: db() })).sent, ["modify"]);
  const next = known(cr({ meta: { uid: "next", name: "next" }, spec: { providerId: "db-1" } }));
  assertEquals((await rig.failing(adopt, next, { database: bare })).errorClass, "busy");
  await rig.clock.advance(10_000);
  assertEquals((await rig.failing(adopt, next, { database: owned(), other: owner })).errorClass, "taken");
  assertEquals((await rig.run(adopt, taker)).sent, []);
  assertEquals((await rig.failing(adopt, next, { database: owned(), other: owner })).errorClass, "taken");
});

const consent = (uid: string) =>
  cr({ spec: { providerId: "db-1" }, meta: { annotations: { [ANNOTATION.adoptFrom]: uid } } });

Deno.test("rule 18: who consents, and whose owner is gone, may take a database over", async () => {
  const cases: Record<string, Answers> = {
    "it is nobody's": { database: bare },
    "its owner retained it": { database: owned({ [TAG.retained]: "another" }), other: going },
    "the taker consents": { database: owned(), other: owner, read: consent("another") },
    "the taker consents, for another cluster": {
      database: owned({ [TAG.cluster]: "cluster-2", [TAG.namespace]: "far" }),
      read: consent("another"),
    },
    "its owner is gone": { database: owned() },
    "its owner is gone, whose cluster is not named": { database: without(TAG.cluster) },
    "its owner's name is another's": { database: owned(), other: cr({ meta: { uid: "x", name: "owner" } }) },
  };
  for (const [words, answers] of Object.entries(cases)) {
    const { sent, requests, asked } = await run(adopt, taker, { ...answers, then: db() });
    if (/owner.* is /.test(words)) assert(asked.includes("default/owner"), words);
    assertEquals(sent, ["modify"], words);
    assertEquals(requests, [["db-1", {
      tags: { ...tags(), [TAG.retained]: null, [TAG.adopted]: taker.object.metadata.uid },
    }]], words);
  }
});

Deno.test("rule 18: who does not may not, and is told whose it is only where that helps", async () => {
  const far = /^The database "db-1" belongs to a resource of another namespace/;
  const told = (whose: string) => new RegExp(`^The database "db-1" belongs to ${whose}; .*adopt-from=`);
  const cases: Record<string, readonly [words: RegExp, answers: Answers]> = {
    "its owner lives": [told("default/owner \\(UID another, cluster cluster-1\\)"), {
      database: owned(),
      other: owner,
    }],
    "the consent is to another": [told("default/owner .*"), {
      database: owned(),
      other: owner,
      read: consent("x"),
    }],
    "its owner is of another namespace": [far, {
      database: owned({ [TAG.namespace]: "far" }),
      other: owner,
      read: consent("another"),
    }],
    "its owner is of another cluster": [told("default/owner .*cluster cluster-2\\)"), {
      database: owned({ [TAG.cluster]: "cluster-2" }),
    }],
    "a copy of the taker in another cluster has it": [told("default/orders .*cluster cluster-2\\)"), {
      database: db({ tags: tags({ [TAG.cluster]: "cluster-2" }) }),
    }],
    "no name is on it": [told("default/\\? .*"), { database: without(TAG.crName) }],
    "no namespace is on it": [far, { database: without(TAG.namespace) }],
    "its cluster is not named": [told("default/owner .*cluster \\?\\)"), {
      database: without(TAG.cluster),
      other: owner,
    }],
  };
  for (const [words, [message, answers]] of Object.entries(cases)) {
    const rig = new EffectRig();
    const error = await rig.failing(adopt, taker, { read, ...answers });
    assertEquals([error.errorClass, rig.sent], ["taken", []], words);
    assertMatch(error.message, message, words);
    assertEquals(error.learned.object, answers.read ?? read, words);
  }
});

Deno.test("rule 18: an owner that cannot be read is not gone", async () => {
  const rig = new EffectRig();
  const other = new KubeError("unavailable", "try later");
  const error = await rig.failing(adopt, taker, { database: owned(), other });
  assertEquals([error.errorClass, rig.sent], ["kubernetes", []]);
});

Deno.test("rule 14: an adoption that is no longer wanted when its turn comes is not sent, nor a failure", async () => {
  const latest = known(cr({ meta: { resourceVersion: "102" }, spec: { providerId: "db-1", paused: true } }));
  const { sent, learned } = await run(adopt, taker, { database: bare, latest });
  assertEquals([sent, learned], [[], { object: latest.object }]);
});

Deno.test("D4: an adoption reads that its resource is paused, which no watch has told yet, and writes no tags", async () => {
  const paused = cr({ meta: { resourceVersion: "101" }, spec: { providerId: "db-1", paused: true } });
  const { sent, learned } = await run(adopt, taker, { read: paused, database: bare, then: db() });
  assertEquals([sent, learned], [[], { object: paused }]);
});

Deno.test("S3, rule 18: a consent that is taken back before the tags are sent, or that a late read does not show any more, is none", async () => {
  const consenting = known(consent("another"));
  const withdrawn = cr({ meta: { resourceVersion: "102" }, spec: { providerId: "db-1" } });
  const answers: Answers = { database: owned(), other: owner, then: db() };
  const told = await run(adopt, consenting, { ...answers, latest: known(withdrawn) });
  assertEquals([told.sent, told.learned], [[], { object: withdrawn }]);
  const late = await run(adopt, consenting, { ...answers, readAgain: withdrawn, queuedMs: 10_001 });
  assertEquals([late.sent, late.learned], [[], { object: withdrawn }]);
  // Who needs none is not held up by its end.
  const free = await run(adopt, consenting, { database: bare, then: db(), latest: known(withdrawn) });
  assertEquals(free.sent, ["modify"]);
});

Deno.test("W5: an adoption that is interrupted ends with the interruption itself", async () => {
  const end = new Error("stopped");
  const error = await assertRejects(() => run(adopt, taker, { database: bare, then: end }));
  assert(error === end);
});

Deno.test("rule 18: nothing is adopted for a resource that is gone, dying, names none, or has another", async () => {
  const notFound = new KubeError("notFound", "no such resource");
  assertEquals((await run(adopt, taker, { read: notFound })).learned, { gone: true });
  for (
    const object of [
      cr(),
      cr({ spec: { providerId: "db-1" }, meta: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      cr({ spec: { providerId: "db-1" }, status: inStep({ providerId: "db-2" }) }),
    ]
  ) {
    const { asked, learned } = await run(adopt, taker, { read: object });
    assertEquals([asked, learned], [["resource"], { object }]);
  }
});

Deno.test("rule 18: a recorded database whose tags were lost gets them again; one that has some is left to be judged", async () => {
  const recorded = cr({ spec: { providerId: "db-1" }, status: inStep() });
  assertEquals((await run(adopt, taker, { read: recorded, database: bare, then: db() })).sent, ["modify"]);
  const unwritten = { ...cr({ spec: { providerId: "db-1" } }), status: undefined };
  const first = await run(adopt, taker, {
    read: unwritten as unknown as ExternalDatabase,
    database: bare,
    then: db(),
  });
  assertEquals(first.sent, ["modify"]);
  const { sent, learned } = await run(adopt, taker, { read: recorded, database: foreign });
  assertEquals([sent, learned.object, learned.observation?.kind], [[], recorded, "present"]);
});

Deno.test("rule 18: a database that carries our UID already is read again, not tagged; one that is marked as retained is", async () => {
  const ours = await run(adopt, taker, { read });
  assertEquals([ours.sent, ours.learned.object, ours.learned.tagged], [[], read, undefined]);
  const retained = db({ tags: tags({ [TAG.retained]: "x" }) });
  assertEquals((await run(adopt, taker, { database: retained, then: db() })).sent, ["modify"]);
});
