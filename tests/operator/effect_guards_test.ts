/**
 * What an effect reads last, just before it sends a mutation, has the last word (rules 3, 7, 8, 9, 13 and 16), whatever
 * was known when it was decided: each guard alone, with everything else in favour of the mutation.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import { adopt } from "../../src/operator/effects/adopt.ts";
import { create } from "../../src/operator/effects/create.ts";
import type { EffectFunction } from "../../src/operator/effects/env.ts";
import { modify } from "../../src/operator/effects/modify.ts";
import { discard, remove } from "../../src/operator/effects/remove.ts";
import { retain } from "../../src/operator/effects/retain.ts";
import { reincarnate } from "../../src/operator/effects/writes.ts";
import { ProviderError } from "../../src/providers/port.ts";
import type { Knowledge } from "../../src/statechart/knowledge.ts";
import { StepError } from "../../src/statechart/step_error.ts";
import {
  absent,
  cr,
  type CrChange,
  db,
  deleting,
  inStep,
  known,
  NOW,
  seen,
  tags,
} from "../statechart/support.ts";
import { type Answers, run } from "./effect_rig.ts";

const newer = (change: CrChange = {}) => cr({ ...change, meta: { resourceVersion: "101", ...change.meta } });
const dying = { meta: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
const paused = { spec: { paused: true } };
const foreign = db({ tags: tags({ [TAG.uid]: "another" }) });
const bare = db({ tags: {} });

/** Each of `cases` keeps the effect from sending anything; without any it sends `verb`. */
async function guarded(
  effect: EffectFunction,
  verb: string,
  knowledge: Knowledge,
  favour: Answers,
  cases: Readonly<Record<string, Answers>>,
): Promise<void> {
  assertEquals((await run(effect, knowledge, favour)).sent, [verb], "nothing speaks against it");
  for (const [words, answers] of Object.entries(cases)) {
    assertEquals((await run(effect, knowledge, { ...favour, ...answers })).sent, [], words);
  }
}

Deno.test("rule 3: a create that is not the first asks cluster and cloud just before it, and each can stop it", () =>
  guarded(create, "create", known(cr()), {}, {
    "an id is recorded": { read: newer({ status: { providerId: "db-9" } }) },
    "it is being deleted": { read: newer(dying) },
    "it is paused": { read: newer(paused) },
    "its finalizer is gone": { read: newer({ meta: { finalizers: [] } }) },
    "another database is named": { read: newer({ spec: { providerId: "db-9" } }) },
    "its spec is not valid any more": { read: newer({ spec: { sizeGb: -1 } }) },
    "its name is another's": { read: newer({ meta: { uid: "another" } }) },
    "a database carries its UID": { found: [db()] },
    "a dying database carries its UID": { found: [db({ state: "Deleting" })] },
    "the settle window is not over": { view: { settleSince: NOW } },
    "a deletion was heard of meanwhile": { latest: known(newer(dying)) },
    "a pause was heard of meanwhile": { latest: known(newer(paused)) },
    "a name was heard of meanwhile": { latest: known(newer({ spec: { providerId: "db-9" } })) },
    "another engine was heard of meanwhile": {
      latest: known(newer({ meta: { generation: 2, resourceVersion: "102" }, spec: { engine: "mysql" } })),
    },
    "a spec that is not valid was heard of meanwhile": {
      latest: known(newer({ meta: { generation: 2, resourceVersion: "102" }, spec: { sizeGb: -1 } })),
    },
  }));

Deno.test("L4: a slow create does not say again what its own read shows to be said (found by simulation, seed 2309)", async () => {
  const { patches } = await run(create, known(cr()), { slowMs: 2_000 });
  const status = Object.fromEntries(
    (patches[0] ?? []).flatMap((o) => o.op === "add" ? [[o.path.replace("/status/", ""), o.value]] : []),
  );
  assert(status.conditions !== undefined, "it is told that it is slow");
  const again = await run(create, known(cr()), { slowMs: 2_000, read: newer({ status }) });
  assertEquals([again.sent, again.patches], [["create"], []]);
});

Deno.test("rule 15: a lookup that is refused is none that found nothing (S6)", async () => {
  const unlooked = new ProviderError("unauthorised", "no");
  const error = await assertRejects(() => run(create, known(cr()), { unlooked }), StepError);
  assertEquals([error.errorClass, error.learned.lookup], ["unauthorised", undefined]);
});

/** As a newer build may let a CR ask for. */
const unheardOf = { spec: { managementPolicy: "DeleteNothing" as never } };

const grown = known(cr({ spec: { sizeGb: 50 }, status: inStep() }), { observation: seen() });

Deno.test("rule 8: a change is decided by a read just before it, under the newest CR", () =>
  guarded(modify, "modify", grown, {}, {
    "it is in step already": { database: db({ sizeGb: 50 }) },
    "it carries another's UID": { database: foreign },
    "it carries no UID": { database: bare },
    "another cluster's CR has it": { database: db({ tags: tags({ [TAG.cluster]: "cluster-2" }) }) },
    "it is changing": { database: db({ state: "Modifying" }) },
    "it is failed": { database: db({ state: "Failed" }) },
    "it is gone": { database: "absent" },
    "it has accepted the change": { database: db({ pending: { sizeGb: 50 } }) },
    "the spec asks for the old size again": { latest: known(newer({ status: inStep() })) },
    "drift is only reported now": {
      latest: known(newer({ spec: { sizeGb: 50, driftPolicy: "Report" }, status: inStep() })),
    },
    "it is being deleted": { latest: known(newer({ ...dying, spec: { sizeGb: 50 }, status: inStep() })) },
    "it is paused": { latest: known(newer({ spec: { sizeGb: 50, paused: true }, status: inStep() })) },
    "its management is not known here": {
      latest: known(newer({ spec: { sizeGb: 50, ...unheardOf.spec }, status: inStep() })),
    },
    "its class is another than that in which it was begun": {
      latest: known(newer({ spec: { sizeGb: 50, className: "gold" }, status: inStep() })),
    },
  }));

Deno.test("rule 8: a spec that changes between the decision and the sending keeps the change from being sent", async () => {
  const edited = known(newer({ meta: { generation: 2 }, spec: { sizeGb: 80 }, status: inStep() }));
  let asked = 0;
  const turning: EffectFunction = (env, input, signal) =>
    modify(env, { ...input, latest: () => asked++ === 0 ? grown : edited }, signal);
  assertEquals((await run(turning, grown)).sent, []);
});

Deno.test("design 4: the answers of a create and of a change are what is known of the database then", async () => {
  const answer = db({ state: "Modifying", pending: { sizeGb: 50 } });
  assertEquals((await run(modify, grown, { answer })).learned.observation, seen(answer, 0));
  assertEquals((await run(create, known(cr()), { answer })).learned.observation, seen(answer, 0));
});

Deno.test("rule 23: a change that was accepted is counted for its field and value, on top of those before", async () => {
  const before = {
    field: "sizeGb" as const,
    wanted: "50",
    attempts: 1,
    lastAttemptTime: "2025-12-31T00:00:00Z",
  };
  const { learned } = await run(modify, { ...grown, repair: [before] });
  assertEquals(learned.repair?.map((r) => [r.field, r.wanted, r.attempts]), [["sizeGb", "50", 2]]);
  assertEquals((await run(modify, grown)).learned.repair?.map((r) => r.attempts), [1]);
});

const doomed = known(deleting({ status: inStep({ removing: "db-1" }) }), { observation: seen() });
const last = (change: CrChange = {}) =>
  deleting({
    status: inStep({ removing: "db-1" }),
    ...change,
    meta: { resourceVersion: "101", ...change.meta },
  });

Deno.test("rules 9 and 13: a delete asks cluster, CRD and cloud just before it, and each can stop it", async () => {
  await guarded(remove, "delete", doomed, {}, {
    "it is kept now": { read: last({ spec: { deletionPolicy: "Retain" } }) },
    "it is paused now": { read: last(paused) },
    "it is abandoned": {
      read: deleting({
        status: inStep(),
        meta: { ...dying.meta, annotations: { [ANNOTATION.abandon]: doomed.object.metadata.uid } },
      }),
    },
    "it lives": { read: newer({ status: inStep() }) },
    "its name is another's": { read: last({ meta: { ...dying.meta, uid: "another" } }) },
    "the CRD is being deleted": { crd: "terminating" },
    "it carries another's UID": { database: foreign },
    "it carries no UID": { database: bare },
    "it is provisioning": { database: db({ state: "Provisioning" }) },
    "it is changing": { database: db({ state: "Modifying" }) },
    "it is dying already": { database: db({ state: "Deleting" }) },
    "it is gone": { database: "absent" },
    "a pause was heard of meanwhile": { latest: known(last(paused)) },
    "Retain was heard of meanwhile": { latest: known(last({ spec: { deletionPolicy: "Retain" } })) },
    "a management that is not known here is asked for": { read: last(unheardOf) },
    "a management that is not known here was heard of meanwhile": { latest: known(last(unheardOf)) },
  });
  await assertRejects(() => run(remove, doomed, { crd: "unreadable" }), StepError);
});

Deno.test("design 6: of a create, a change and a delete only a definite refusal says that nothing was done", async () => {
  const learned = async (effect: EffectFunction, k: Knowledge, errorClass: ProviderError["errorClass"]) => {
    const refusal = new ProviderError(errorClass, "no");
    try {
      return (await run(effect, k, { refusal })).learned;
    } catch (error) {
      return (error as StepError).learned;
    }
  };
  const outcome = async (errorClass: ProviderError["errorClass"]) => ({
    create: (await learned(create, known(cr()), errorClass)).create?.outcome,
    modify: (await learned(modify, grown, errorClass)).modify?.outcome,
    asked: (await learned(remove, doomed, errorClass)).asked?.id,
    removed: (await learned(remove, doomed, errorClass)).removed?.id,
  });
  const none = { modify: undefined, asked: undefined, removed: undefined };
  assertEquals(await outcome("unknown"), {
    create: "unknown",
    modify: "unknown",
    asked: "db-1",
    removed: undefined,
  });
  assertEquals(await outcome("exists"), { ...none, create: "exists" });
  assertEquals(await outcome("absent"), { ...none, create: "refused", removed: "db-1" });
  for (const refused of ["throttled", "busy", "unauthorised", "retryable", "rejected"] as const) {
    assertEquals(await outcome(refused), { ...none, create: "refused" }, refused);
  }
});

Deno.test("rule 7: what failed before it was available is removed only if a read just before still says so", () => {
  const status = { state: "Creating" as const, providerId: "db-1", incarnation: 1, removing: "db-1" };
  const failed = db({ state: "Failed" });
  return guarded(discard, "delete", known(cr({ status }), { observation: seen(failed) }), {
    database: failed,
  }, {
    "it recovered": { database: db() },
    "it was available once": { database: { ...failed, endpoint: "db-1.example:5432" } },
    "the status says that it was available once": {
      read: newer({ status: { ...status, endpoint: "db-1.example:5432" } }),
    },
    "it carries another's UID": { database: { ...failed, tags: tags({ [TAG.uid]: "another" }) } },
    "it is gone": { database: "absent" },
    "it is being deleted": { read: newer({ ...dying, status }) },
    "it is paused": { read: newer({ ...paused, status }) },
    "a pause was heard of meanwhile": { latest: known(newer({ ...paused, status })) },
    "its spec is not valid any more": { read: newer({ ...unheardOf, status }) },
  });
});

Deno.test("rule 16: a database that is kept is marked as retained, once, and only while it is to be kept", () => {
  const spec = { deletionPolicy: "Retain" as const };
  const kept = known(deleting({ spec, status: inStep() }), { observation: seen() });
  return guarded(retain, "modify", kept, {}, {
    "it is marked already": { database: db({ tags: tags({ [TAG.retained]: kept.object.metadata.uid }) }) },
    "it is not to be kept any more": { read: last() },
    "it is paused": { read: last({ spec: { ...spec, paused: true } }) },
    "it carries another's UID": { database: foreign },
    "it is dying": { database: db({ state: "Deleting" }) },
    "a pause was heard of meanwhile": { latest: known(last({ spec: { ...spec, paused: true } })) },
    "its management is not known here": { read: last({ spec: { ...spec, ...unheardOf.spec } }) },
    "a management that is not known here was heard of meanwhile": {
      latest: known(last({ spec: { ...spec, ...unheardOf.spec } })),
    },
  });
});

Deno.test("rule 18: an adoption reads the tags that it wrote again; whose they are then has the database", async () => {
  const taker = known(cr({ spec: { providerId: "db-1" } }));
  const { sent, learned } = await run(adopt, taker, { database: bare, then: db() });
  assertEquals([sent, learned.observation?.kind], [["modify"], "present"]);
  const lost = await assertRejects(() => run(adopt, taker, { database: bare, then: foreign }), StepError);
  assertEquals([lost.errorClass, lost.learned.tagged !== undefined], ["taken", true]);
});

Deno.test("rule 7: the incarnation is raised by one and the id removed, under the CR's resourceVersion and UID", async () => {
  const lost = known(cr({ status: inStep({ incarnation: 3 }) }), { observation: absent() });
  const { patches } = await run(reincarnate, lost, { database: "absent" });
  assertEquals(patches.length, 1);
  const [operations = []] = patches;
  const has = (op: string, path: string, value?: unknown) =>
    operations.some((o) =>
      o.op === op && o.path === path && (value === undefined || (o as { value?: unknown }).value === value)
    );
  assert(has("test", "/metadata/uid", lost.object.metadata.uid));
  assert(has("test", "/metadata/resourceVersion", lost.object.metadata.resourceVersion));
  assert(has("add", "/status/incarnation", 4));
  assert(has("remove", "/status/providerId"));
});
