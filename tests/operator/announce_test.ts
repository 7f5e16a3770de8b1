/** What owners are told by Events (L4, F2, rule 16): once, when it is news. */
import { assert, assertEquals } from "@std/assert";
import type { Condition, ExternalDatabase } from "../../src/api/schema.ts";
import { announceRelease, announceStatus } from "../../src/operator/effects/announce.ts";
import type { ReleaseCause } from "../../src/statechart/decision.ts";
import type { Knowledge } from "../../src/statechart/knowledge.ts";
import { condition, cr, deleting, inStep, known, seen, UID } from "../statechart/support.ts";
import { EffectRig } from "./effect_rig.ts";

type Status = Condition["status"];

/** A CR whose Ready and Synced say so. */
function saying(ready: Status, synced: Status, reason = "Conflict"): ExternalDatabase {
  const of = (type: "Ready" | "Synced", status: Status, message: string) => ({
    ...condition(type, status, status === "True" ? "Available" : reason),
    message,
  });
  const conditions = [of("Ready", ready, "Ready at db-1"), of("Synced", synced, "As asked")];
  return cr({ status: inStep({ conditions }) });
}

/** Events of a status that follows another, as `type reason action: note`. */
function told(before: ExternalDatabase, after: ExternalDatabase): string[] {
  const rig = new EffectRig();
  announceStatus(rig.env, before, after);
  return rig.events.map(({ type, reason, action, note }) => `${type} ${reason} ${action}: ${note}`);
}

Deno.test("L4: that all is well is told once, by whichever condition came last", () => {
  const well = saying("True", "True");
  const news = ["Normal Available Observe: Ready at db-1; as asked"];
  assertEquals(told(cr(), well), news);
  assertEquals(told(saying("False", "True"), well), news);
  assertEquals(told(saying("True", "False"), well), news);
  assertEquals(told(well, well), []);
  assertEquals(told(cr({ status: { conditions: [condition("Synced")] } }), well), news);
  assertEquals(told(well, cr()), [], "a status without conditions says nothing");
});

Deno.test("F2: what is wrong is told once for each reason, as a warning; a pause is none", () => {
  const well = saying("True", "True");
  const conflict = saying("True", "False");
  assertEquals(told(well, conflict), ["Warning Conflict Reconcile: As asked"]);
  assertEquals(told(cr(), conflict), ["Warning Conflict Reconcile: As asked"]);
  assertEquals(told(conflict, conflict), []);
  assertEquals(told(saying("False", "False", "Creating"), conflict).length, 1);
  assertEquals(told(well, saying("True", "False", "Paused")), ["Normal Paused Reconcile: As asked"]);
  assertEquals(told(conflict, saying("False", "True")), ["Warning Available Reconcile: As asked"]);
  assertEquals(told(conflict, cr({ status: { conditions: [condition("Synced")] } })).length, 1);
  assertEquals(told(well, saying("False", "True")), [], "Synced says the same as before");
});

Deno.test("F2: the ordinary course is not told again: the Events of create, change and delete do", () => {
  for (const reason of ["Pending", "Creating", "Updating", "Deleting"]) {
    assertEquals(told(saying("True", "False"), saying("False", "False", reason)), [], reason);
  }
});

Deno.test("D4: what held a resource back and now holds its deletion back is news, once", () => {
  const held = saying("True", "False", "Paused");
  const status = { ...held.status, state: "Deleting" as const };
  const dying = deleting({ status });
  assertEquals(told(held, dying), ["Normal Paused Delete: As asked"]);
  assertEquals(told(dying, dying), []);
  assertEquals(told({ ...held, status: undefined } as unknown as ExternalDatabase, dying).length, 1);
});

/** What is told of a finalizer that goes. */
function released(cause: ReleaseCause, knowledge: Knowledge) {
  const rig = new EffectRig();
  const metrics: string[] = [];
  const env = { ...rig.env, metrics: { ...rig.env.metrics, released: (c: string) => metrics.push(c) } };
  announceRelease(env as typeof rig.env, knowledge.object, cause, knowledge);
  const [event] = rig.events;
  assertEquals(rig.events.length, 1);
  assertEquals(rig.lines.map((l) => l.message), [event?.note]);
  return {
    event: `${event?.type} ${event?.reason} ${event?.action}: ${event?.note}`,
    level: rig.lines[0]?.level,
    fields: rig.lines[0]?.fields,
    metrics,
  };
}

Deno.test("rule 16: why the finalizer went, and what is left behind, is told in Event, log and metric", () => {
  const k = known(deleting({ status: inStep() }));
  const expected: Record<ReleaseCause, readonly [event: string, left: boolean]> = {
    deleted: ['Normal Deleted Delete: The database "db-1" is deleted', false],
    neverCreated: ["Normal Deleted Delete: No database was ever created", false],
    retain: [
      'Normal Retained Delete: The database "db-1" is kept (deletionPolicy Retain) and marked as retained',
      true,
    ],
    abandon: [
      'Warning Abandoned Delete: The database "db-1" is left as it is, as the abandon annotation asks',
      true,
    ],
    observeOnly: [
      'Normal Released Delete: The database "db-1" is left as it is, as it was only observed',
      true,
    ],
    crdDeleted: [
      'Normal Retained Delete: The database "db-1" is kept, as the CustomResourceDefinition itself is being deleted',
      true,
    ],
  };
  for (const [cause, [event, left]] of Object.entries(expected) as [ReleaseCause, [string, boolean]][]) {
    assertEquals(released(cause, k), {
      event,
      level: left ? "warn" : "info",
      fields: { namespace: "default", name: "orders", uid: UID, providerId: "db-1", cause },
      metrics: left ? [cause] : [],
    });
  }
});

Deno.test("rule 16: a database that no status names is named as it was seen; none is said to be none", () => {
  const unrecorded = known(deleting(), { observation: seen() });
  assert(released("retain", unrecorded).event.includes('"db-1"'));
  const none = known({ ...deleting(), status: undefined } as unknown as ExternalDatabase);
  assert(released("deleted", none).event.endsWith(": No database carries this resource's UID"));
  assert(released("abandon", none).event.includes("The database (none known) is left"));
});
