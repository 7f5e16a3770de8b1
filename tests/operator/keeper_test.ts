/** A keeper alone, over a machine that stands where the test puts it (rule 24, F4). */
import { assertEquals } from "@std/assert";
import { assign, setup } from "xstate";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { seededRandom } from "../../src/core/random.ts";
import { Keeper, type KeeperEnv, type Transition } from "../../src/operator/keeper.ts";
import type { DatabaseContext } from "../../src/statechart/context.ts";
import type { Decision } from "../../src/statechart/decision.ts";
import type { Knowledge } from "../../src/statechart/knowledge.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { cr, inStep, known, seen } from "../statechart/support.ts";

const yes = { status: "True", reason: "Available", message: "as before" } as const;
const no = { ...yes, status: "False" } as const;

/** A keeper whose actor is idle in Available, with this in its context. */
function idle(
  change: Partial<Knowledge> = {},
  decided: Partial<Decision> = {},
  spec: Partial<ExternalDatabaseSpec> = {},
) {
  const clock = new ManualClock();
  const transitions: Transition[] = [];
  const object = cr({ spec, status: inStep() });
  const decision: Decision = { state: "Available", step: "idle", ready: yes, synced: yes, ...decided };
  const knowledge = known(object, { observation: seen(), ...change });
  const machine = setup({
    types: { context: {} as Pick<DatabaseContext, "knowledge" | "decision" | "decidedOn"> },
    actions: { decide: assign(({ event }) => ({ decidedOn: event.type })) },
  }).createMachine({
    context: { knowledge, decision, decidedOn: "" },
    initial: "Pending",
    states: {
      Pending: { entry: "decide", on: { "object.changed": "Available" } },
      Available: { entry: "decide", initial: "idle", states: { idle: {} } },
    },
  });
  const env = {
    machine,
    world: {},
    clock,
    random: seededRandom(1),
    onTransition: (t: Transition) => void transitions.push(t),
    onCrash: () => {},
    onCacheHit: () => {},
    onSettling: () => {},
    onFinal: () => {},
  } as unknown as KeeperEnv;
  const keeper = new Keeper(env, object);
  keeper.start();
  return { clock, keeper, transitions, object };
}

/** Whether it sleeps once it was idle for ten seconds. */
async function sleeps(...of: Parameters<typeof idle>): Promise<boolean> {
  const { clock, keeper, object } = idle(...of);
  keeper.send({ type: "object.changed", object });
  await clock.advance(9_999);
  assertEquals(keeper.hibernate(10_000), false, "it was not idle for so long");
  await clock.advance(1);
  assertEquals(keeper.hibernate(10_000), keeper.hibernating);
  return keeper.hibernating;
}

const failure = (until: number) => ({
  failures: {
    observe: { effect: "observe", state: "Available", errorClass: "busy", message: "", attempt: 1, until },
  } as const,
});

Deno.test("rule 24: an actor with nothing pending sleeps after its time", async () => {
  assertEquals(await sleeps(), true);
  assertEquals(await sleeps(failure(11_000)), true, "a failure whose back-off is over");
});

Deno.test("rule 24: whatever is pending keeps an actor awake", async () => {
  const cases: Record<string, Parameters<typeof idle>> = {
    "a failure that is to be tried again": [failure(11_001)],
    "a list that failed": [{ unreadable: { errorClass: "retryable", message: "no" } }],
    "a duplicate": [{ duplicates: ["db-2"] }],
    "a change of unknown outcome": [{ modifyUnknownSince: 0 }],
    "what is not in step": [{}, { synced: no }],
    "what is not ready": [{}, { ready: no }],
    "a poll interval of its own": [{}, {}, { pollInterval: "10s" }],
    "a status that says something else": [{}, { ready: { ...yes, message: "otherwise" } }],
    "nothing observed": [{ observation: undefined }],
  };
  for (const [words, of] of Object.entries(cases)) assertEquals(await sleeps(...of), false, words);
});

Deno.test("rule 24: a sleeper keeps the newest copy that its actor held, and wakes with it", async () => {
  const written = cr({ meta: { resourceVersion: "150" }, status: inStep() });
  const { clock, keeper, object } = idle({ object: written });
  keeper.send({ type: "object.changed", object });
  await clock.advance(10_000);
  assertEquals([keeper.hibernate(10_000), keeper.object.metadata.resourceVersion], [true, "150"]);
});

Deno.test("F2: a transition tells from where, to where, by what, why and after how long", async () => {
  const { clock, keeper, transitions, object } = idle();
  await clock.advance(700);
  keeper.send({ type: "object.changed", object });
  await clock.advance(300);
  keeper.stop();
  assertEquals(
    transitions,
    [
      { object, from: undefined, to: "Pending", event: "xstate.init", reason: "Available", durationMs: 0 },
      {
        object,
        from: "Pending",
        to: "Available",
        event: "object.changed",
        reason: "Available",
        durationMs: 700,
      },
      {
        object,
        from: "Available",
        to: undefined,
        event: "xstate.stop",
        reason: "stop",
        durationMs: 300,
      },
    ] as readonly unknown[],
  );
});
