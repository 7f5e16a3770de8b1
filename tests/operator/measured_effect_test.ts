/** What every effect has in common: it is counted, its failure is logged, and what it read is judged (W8). */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type AnyActorLogic, createActor, toPromise } from "xstate";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { KubeError } from "../../src/kube/port.ts";
import { operatorMachine } from "../../src/operator/effects/mod.ts";
import { ProviderError } from "../../src/providers/port.ts";
import type { Decision } from "../../src/statechart/decision.ts";
import type { Knowledge } from "../../src/statechart/knowledge.ts";
import { StepError } from "../../src/statechart/step_error.ts";
import type { Effect } from "../../src/statechart/vocabulary.ts";
import { cr, deleting, inStep, known, seen, UID } from "../statechart/support.ts";
import { type Answers, EffectRig } from "./effect_rig.ts";

/** Runs an effect as the machine does: what it learned, and what was counted of it. */
function invoked(effect: Effect, knowledge: Knowledge, answers: Answers = {}, rig = new EffectRig()) {
  const counted: string[] = [];
  const metrics = {
    ...rig.env.metrics,
    reconcile: (outcome: string, seconds: number, of: string) =>
      void counted.push(`${of} ${outcome} ${seconds}`),
    retry: (errorClass: string, of: string) => void counted.push(`${of} retry ${errorClass}`),
  };
  const env = { ...rig.env, metrics };
  const logic = operatorMachine.implementations.actors[effect] as AnyActorLogic;
  let stop = () => {};
  const learned = rig.run(
    (_, input) => {
      const world = { ...input.world, envOf: () => env };
      const actor = createActor(logic, { input: { ...input, world } });
      stop = () => actor.stop();
      const ended = toPromise(actor);
      actor.start();
      return ended;
    },
    knowledge,
    answers,
  );
  return { learned: learned.then((r) => r.learned), counted, rig, stop: () => stop() };
}

const here = known(cr({ status: inStep() }), { observation: seen() });

Deno.test("an effect is counted with the seconds that it took", async () => {
  const { learned, counted, rig } = invoked("create", known(cr()), { slowMs: 500 });
  assertEquals((await learned).create?.outcome, "answered");
  assertEquals([counted, rig.lines], [["create success 0.5"], []]);
});

Deno.test("F2: an effect that fails is counted and logged, once and with whom it concerns", async () => {
  const failed = async (refusal: Error) => {
    const { learned, counted, rig } = invoked("create", known(cr()), { slowMs: 500, refusal });
    await assertRejects(() => learned, StepError);
    return { counted, lines: rig.lines };
  };
  assertEquals(await failed(new ProviderError("busy", "not now")), {
    counted: ["create error 0.5", "create retry busy"],
    lines: [{
      level: "warn",
      message: "Failed: create",
      fields: { namespace: "default", name: "orders", uid: UID, class: "busy", error: "not now" },
    }],
  });
  assertEquals((await failed(new ProviderError("throttled", "slow down"))).lines[0]?.level, "debug");
});

Deno.test("an error that is none of an effect's is a bug, and comes through as it is", async () => {
  const bug = new TypeError("no such thing");
  const { learned, counted, rig } = invoked("observe", here, { database: bug });
  assert(await assertRejects(() => learned) === bug);
  assertEquals([counted, rig.lines[0]?.fields], [["observe error 0", "observe retry bug"], {
    ...{ namespace: "default", name: "orders", uid: UID },
    class: "bug",
    error: "no such thing",
  }]);
});

Deno.test("W5: an effect that was interrupted is neither counted nor logged", async () => {
  const { learned, counted, rig, stop } = invoked("create", known(cr()), {
    slowMs: 500,
    refusal: new ProviderError("unknown", "stopped"),
  });
  learned.catch(() => {});
  stop();
  for (let n = 0; n < 5; n++) await rig.clock.advance(1_000); // also for what the refusal sets off
  assertEquals([rig.sent, counted, rig.lines], [["create"], [], []]);
});

Deno.test("W8: an answer older than what was known is told as a cluster that went back, also by an effect that fails", async () => {
  const newest = cr({ meta: { resourceVersion: "150", finalizers: [] }, status: {} });
  const old = cr({ meta: { resourceVersion: "120" } });
  const patched = invoked("finalize", known(newest), { patched: old });
  assertEquals((await patched.learned).rewound, "150");
  assertEquals(patched.rig.told, ["relist"]);
  const refused = invoked("finalize", known(newest), {
    patched: new KubeError("conflict", "changed meanwhile"),
    read: { ...old, metadata: { ...old.metadata, finalizers: [] } },
  });
  const error = await assertRejects(() => refused.learned, StepError);
  assertEquals([error.errorClass, error.learned.rewound, refused.rig.told], ["conflict", "150", ["relist"]]);
  const plain = invoked("finalize", known(newest), { patched: cr({ meta: { resourceVersion: "151" } }) });
  assertEquals([(await plain.learned).rewound, plain.rig.told], [undefined, []]);
  const failing = invoked("observe", here, { database: new ProviderError("retryable", "no") });
  const same = await assertRejects(() => failing.learned, StepError);
  assert(same.cause instanceof ProviderError, "an error that brings nothing new stays the same");
});

Deno.test("W8: what an effect read is not learned where its resource went back in time meanwhile (seed 19870)", async () => {
  const before = known(cr({ meta: { finalizers: [] } }));
  const patched = cr({ meta: { resourceVersion: "151" } });
  const read = (latest: Knowledge) => invoked("finalize", before, { patched, latest }).learned;
  assertEquals((await read(before)).object, patched);
  assertEquals((await read({ ...before, rewinds: 1 })).object, undefined);
  // Nor that it was gone, or that the CRD was going, in the history that was lost.
  const patchedInVain = new KubeError("notFound", "no such resource");
  const gone = (latest: Knowledge) => invoked("finalize", before, { patched: patchedInVain, latest }).learned;
  assertEquals((await gone(before)).gone, true);
  assertEquals((await gone({ ...before, rewinds: 1 })).gone, undefined);
});

Deno.test("W8: the write that lets an object go is answered with its last version, which proves nothing", async () => {
  const last = deleting({ meta: { resourceVersion: "150" }, status: inStep() });
  const rewound = async (patched: ExternalDatabase, decision: Partial<Decision> = {}) => {
    const { learned, rig } = invoked("release", known(last), { patched, decision });
    return [(await learned).rewound, rig.told];
  };
  const meta = { resourceVersion: "150", finalizers: [] };
  assertEquals(await rewound(deleting({ meta, status: inStep() })), [undefined, []]);
  assertEquals(await rewound(cr({ meta, status: inStep() })), ["150", ["relist"]]);
  const held = { resourceVersion: "120", finalizers: ["example.com/keep"] };
  assertEquals(
    await rewound(deleting({ meta: held, status: inStep() })),
    ["150", ["relist"]],
    "another's finalizer still holds it (found by simulation, seed 49664)",
  );
});
