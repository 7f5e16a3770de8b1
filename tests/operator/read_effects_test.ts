/** The effects that only read, alone: in which lane, between which words of the account, and what is counted. */
import { assertEquals } from "@std/assert";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import type { EffectFunction } from "../../src/operator/effects/env.ts";
import { confirm, lookup, observe } from "../../src/operator/effects/reads.ts";
import { ProviderError } from "../../src/providers/port.ts";
import type { Knowledge } from "../../src/statechart/knowledge.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { absent, cr, db, deleting, inStep, known, NOW, seen, UID } from "../statechart/support.ts";
import { type Answers, EffectRig, failing } from "./effect_rig.ts";

const BEGIN = new ManualClock().monotonic();
const fresh = `heard ${BEGIN - 1_000}`;
const here = known(cr({ status: inStep() }), { observation: seen() });
const missing = known(cr({ status: inStep() }), { observation: absent() });
const observed = { kind: "present", database: db(), sentAt: NOW };
const gone = { kind: "absent", id: "db-1", sentAt: BEGIN };
const found = (...databases: ReturnType<typeof db>[]) => ({ sentAt: NOW, found: databases });

/** What an effect learned, what it told others, and the lanes that it asked in. */
async function read(effect: EffectFunction, knowledge: Knowledge, answers: Answers = {}) {
  const rig = new EffectRig();
  const { learned, asked } = await rig.run(effect, knowledge, answers);
  return { learned, asked, told: rig.told, lanes: rig.lanes };
}

Deno.test("rule 11: a read of the recorded database is learned, and counted as none of the cache", async () => {
  const seenNow = await read(observe, here);
  assertEquals(seenNow.learned, { observation: observed } as typeof seenNow.learned);
  assertEquals(seenNow.told, ["cache false", `present ${UID}`]);
  const lost = await read(observe, here, { database: "absent" });
  assertEquals(lost.learned, { observation: gone } as typeof lost.learned);
  assertEquals(lost.told, ["cache false", "account", `absent ${UID}`, "round"]);
});

Deno.test("rule 12: an absence that we asked for ourselves is not counted", async () => {
  const removed = { ...here, removals: { "db-1": NOW } };
  assertEquals((await read(observe, removed, { database: "absent" })).told, ["cache false", "account"]);
});

Deno.test("L3: what waits for a person's edit or deletion is read before what was only asked again", async () => {
  const lanes = async (object: ExternalDatabase) => [
    ...(await read(observe, known(object))).lanes,
    ...(await read(lookup, known(object))).lanes,
    ...(await read(confirm, known(object), { database: "absent" })).lanes,
  ];
  const all = (lane: string) => [lane, lane, lane, lane];
  assertEquals(await lanes(cr({ status: inStep() })), all("followUp"));
  assertEquals(await lanes(cr({ meta: { generation: 2 }, status: inStep() })), all("urgent"));
  assertEquals(await lanes(deleting({ status: inStep() })), all("urgent"));
  const bare = { ...cr(), status: undefined } as unknown as ExternalDatabase;
  assertEquals((await read(lookup, known(bare))).lanes, ["urgent"]);
});

Deno.test("S4, A2: a deletion acts on lookups that lie between two words of its account; the first needs none before", async () => {
  const dying = known(deleting({ status: inStep() }));
  const first = await read(lookup, dying, { found: [db()] });
  assertEquals(first.learned, { lookup: found(db()) });
  assertEquals(first.told, ["account"]);
  assertEquals((await read(lookup, { ...dying, lookup: found() })).told, [fresh, "account"]);
  assertEquals((await read(lookup, { ...dying, lookup: found(), account: undefined })).told, []);
  assertEquals((await read(lookup, { ...here, lookup: found() })).told, [], "it is not being deleted");
});

Deno.test("S4, A2: an absence is confirmed by a lookup after it, between two words of the account", async () => {
  const confirmed = await read(confirm, missing, { database: "absent", found: [db({ id: "db-2" })] });
  assertEquals(
    confirmed.learned,
    { observation: gone, lookup: found(db({ id: "db-2" })) } as typeof confirmed.learned,
  );
  assertEquals([confirmed.asked, confirmed.told], [
    ["database", "lookup"],
    [fresh, "account", `absent ${UID}`, "round", fresh, "account"],
  ]);
  const first = await read(confirm, here, { database: "absent" });
  assertEquals(first.told, ["account", `absent ${UID}`, "round", fresh, "account"], "none was seen before");
  const back = await read(confirm, missing);
  assertEquals(back.learned, { observation: observed } as typeof back.learned);
  assertEquals([back.asked, back.told], [["database"], [fresh, `present ${UID}`]]);
});

Deno.test("S6: a read that fails is no absence", async () => {
  for (const effect of [observe, confirm]) {
    const rig = new EffectRig();
    const error = await rig.failing(effect, here, { database: new ProviderError("retryable", "no") });
    assertEquals([error.errorClass, error.learned], ["retryable", {}]);
    assertEquals(rig.told.filter((t) => t.startsWith("absent")), []);
  }
});

Deno.test("S2: what was made for a CR that vanished is confirmed by the id that was made, and counts for nothing", async () => {
  const made = { gone: true, bornHere: true, mayExist: true, named: false, observation: seen() };
  const vanished = await read(confirm, known(cr(), made), { database: "absent" });
  assertEquals([vanished.asked, vanished.told], [["database", "lookup"], ["account", "round"]]);
});

Deno.test("S3: without a recorded database there is none to read", async () => {
  const bare = { ...cr(), status: undefined } as unknown as ExternalDatabase;
  for (const effect of [observe, confirm]) {
    for (const object of [cr(), bare]) {
      assertEquals((await failing(effect, known(object))).errorClass, "bug");
    }
  }
});
