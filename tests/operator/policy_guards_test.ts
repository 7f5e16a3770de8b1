/** The guards of a spec's policies in the effects, each alone: what is read or heard last has the last word. @module */
import { assertEquals } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import { adopt } from "../../src/operator/effects/adopt.ts";
import { create } from "../../src/operator/effects/create.ts";
import type { EffectFunction } from "../../src/operator/effects/env.ts";
import { modify } from "../../src/operator/effects/modify.ts";
import { discard, remove } from "../../src/operator/effects/remove.ts";
import { retain } from "../../src/operator/effects/retain.ts";
import { finalSnapshotName } from "../../src/statechart/snapshot.ts";
import { cr, type CrChange, db, deleting, inStep, known, seen } from "../statechart/support.ts";
import { type Answers, run } from "./effect_rig.ts";

const NAME = finalSnapshotName(cr(), "db-1");
const observing = { managementPolicy: "ObserveOnly" as const, providerId: "db-1" };
const TAKES = {
  provider: { account: "acct", clientTokens: true, readLagMs: 1_000, effectBoundMs: 10_000, snapshots: true },
};

const dying = (spec: CrChange["spec"], finalSnapshot?: string) =>
  deleting({
    spec: { ...spec },
    status: inStep({ removing: "db-1", ...(finalSnapshot === undefined ? {} : { finalSnapshot }) }),
    meta: { resourceVersion: "101" },
  });
const doomed = (spec: CrChange["spec"], finalSnapshot?: string) =>
  known(dying(spec, finalSnapshot), { observation: seen() });

async function sends(
  effect: EffectFunction,
  k: ReturnType<typeof known>,
  answers: Answers,
): Promise<readonly string[]> {
  return (await run(effect, k, answers)).sent;
}

Deno.test("rule 17: under Snapshot a delete is sent only with a snapshot that the status just read names, to a provider that takes them", async () => {
  const k = doomed({ deletionPolicy: "Snapshot" }, NAME);
  const favour: Answers = { read: k.object, latest: k, view: TAKES };
  assertEquals(await sends(remove, k, favour), ["delete"]);
  const without = { ...favour, view: { provider: { ...TAKES.provider, snapshots: undefined } } };
  assertEquals(await sends(remove, k, without), [], "the provider takes none");
  const unnamed = doomed({ deletionPolicy: "Snapshot" });
  assertEquals(
    await sends(remove, k, { ...favour, read: unnamed.object, latest: unnamed }),
    [],
    "it is not named",
  );
  const other = doomed({ deletionPolicy: "Snapshot" }, finalSnapshotName(cr(), "db-2"));
  assertEquals(
    await sends(remove, k, { ...favour, read: other.object, latest: other }),
    [],
    "another's is named",
  );
});

Deno.test("rule 17: a snapshot that is asked for while the delete waits for its turn keeps it from being sent", async () => {
  const k = doomed({ deletionPolicy: "Delete" });
  const favour: Answers = { read: k.object, view: TAKES };
  assertEquals(await sends(remove, k, favour), ["delete"]);
  assertEquals(await sends(remove, k, { ...favour, latest: doomed({ deletionPolicy: "Snapshot" }) }), []);
});

Deno.test("rule 9: protection by the spec, and a resource that only observes now, keep a delete from being sent", async () => {
  const k = doomed({});
  for (const spec of [{ deletionProtection: true }, observing]) {
    const now = doomed(spec);
    assertEquals(await sends(remove, k, { read: now.object }), [], "as read");
    assertEquals(await sends(remove, k, { read: k.object, latest: now }), [], "as heard meanwhile");
  }
});

Deno.test("rule 9: protection that the spec lifts is lifted at the provider before the delete, and no other is", async () => {
  const guarded = db({ deletionProtection: true });
  const lifted = doomed({ deletionProtection: false });
  assertEquals(await sends(remove, lifted, { read: lifted.object, database: guarded }), ["modify", "delete"]);
  assertEquals(await sends(remove, lifted, { read: lifted.object, database: db() }), ["delete"]);
  const silent = doomed({});
  assertEquals(await sends(remove, silent, { read: silent.object, database: guarded }), ["delete"]);
});

Deno.test("rule 14: nothing is sent for a resource that only observes now, whatever was decided before", async () => {
  const watcher = (change: CrChange = {}) =>
    cr({ ...change, spec: { ...observing, ...change.spec }, meta: { resourceVersion: "101" } });
  const grown = known(cr({ spec: { sizeGb: 50 }, status: inStep() }), { observation: seen() });
  const now = known(watcher({ spec: { sizeGb: 50 }, status: inStep() }));
  assertEquals(await sends(modify, grown, { latest: now }), []);
  assertEquals(await sends(create, known(cr()), { latest: known(watcher()) }), []);
  const failed = db({ state: "Failed", endpoint: undefined });
  const broken = known(cr({ status: inStep({ endpoint: undefined }) }), { observation: seen(failed) });
  const judged = watcher({ status: inStep({ endpoint: undefined }) });
  assertEquals(await sends(discard, broken, { read: judged, database: failed }), []);
  assertEquals(await sends(discard, broken, { latest: known(judged), database: failed }), []);
  const named = known(cr({ spec: { providerId: "db-1" } }));
  const free: Answers = { database: db({ tags: {} }) };
  assertEquals(await sends(adopt, named, { ...free, read: watcher() }), []);
  assertEquals(await sends(adopt, named, { ...free, read: named.object, latest: known(watcher()) }), []);
  const kept = doomed({ deletionPolicy: "Retain" });
  assertEquals(await sends(retain, kept, { read: kept.object }), ["modify"]);
  assertEquals(await sends(retain, kept, { read: dying({ deletionPolicy: "Retain", ...observing }) }), []);
  assertEquals(
    await sends(retain, kept, {
      read: kept.object,
      latest: doomed({ deletionPolicy: "Retain", ...observing }),
    }),
    [],
  );
});

Deno.test("rule 18: what was only observed is adopted by the same consent as what is named for the first time", async () => {
  const status = inStep({ adopted: true, observeOnly: true });
  const k = known(cr({ spec: { providerId: "db-1" }, status }), { observation: seen() });
  assertEquals(await sends(adopt, k, { read: k.object, database: db({ tags: {} }), then: db() }), [
    "modify",
  ]);
  const retained = db({ tags: { "db.my.domain/uid": "before", "db.my.domain/retained": "before" } });
  assertEquals(await sends(adopt, k, { read: k.object, database: retained, then: db() }), ["modify"]);
  const taken = { ...db().tags, "db.my.domain/uid": "owner", "db.my.domain/cluster": "other" };
  const refused = await run(adopt, k, { read: k.object, database: db({ tags: taken }) }).catch((e: Error) =>
    e.message
  );
  assertEquals(String(refused).includes(ANNOTATION.adoptFrom), true, String(refused));
});
