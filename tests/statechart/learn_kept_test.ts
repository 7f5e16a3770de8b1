/**
 * What knowledge must not keep or let go: each of these was a planted bug that nothing had caught.
 */
import { assertEquals } from "@std/assert";
import { plan } from "../../src/statechart/decide.ts";
import { initialKnowledge } from "../../src/statechart/knowledge.ts";
import { learn } from "../../src/statechart/learn.ts";
import { settledAt } from "../../src/statechart/facts.ts";
import { cr, db, deleting, inStep, known, NOW, seen, SETTLE, view } from "./support.ts";

Deno.test("rule 1: a CR that loses finalizer and status before its create is not proven new any more (A4)", () => {
  const before = known(cr(), { provenNew: true, untouched: true });
  const stripped = cr({ meta: { resourceVersion: "101", finalizers: [] } });
  const k = learn(before, { object: stripped }, NOW);
  assertEquals([k.provenNew, k.untouched], [false, false]);
  const written = cr({ meta: { resourceVersion: "102" } });
  assertEquals(learn(k, { object: written, finalizerWrittenOnNew: true }, NOW).provenNew, false);
});

Deno.test("rules 3, 5 and 15: a finalizer that this process is not known to have written opens the settle window", () => {
  const fresh = known(cr({ meta: { finalizers: [] } }));
  assertEquals(fresh.bornHere, true);
  const written = cr({ meta: { resourceVersion: "101" } });
  const foreign = learn(fresh, { object: written }, NOW);
  assertEquals([foreign.bornHere, foreign.lifeSeen?.at], [false, NOW]);
  assertEquals(settledAt(foreign, view()), NOW + SETTLE);
  const ours = learn(foreign, { object: written, finalizerWritten: true }, NOW + 1);
  assertEquals([ours.bornHere, ours.lifeSeen], [true, undefined]);
});

Deno.test("rules 3, 5 and 15: so does a status, though the finalizer was stripped since: its writer may have sent a create (A4, seed 3709)", () => {
  const meta = { resourceVersion: "101", finalizers: [] };
  const said = (reason: string) => {
    const { conditions = [] } = inStep();
    return cr({
      meta,
      status: {
        state: "Pending",
        conditions: conditions.map((c) => ({ ...c, status: "False" as const, reason })),
      },
    });
  };
  const fresh = known(cr({ meta: { finalizers: [] } }));
  const stripped = said("Pending");
  const foreign = learn(fresh, { object: stripped }, NOW);
  assertEquals([foreign.bornHere, foreign.lifeSeen?.at], [false, NOW]);
  assertEquals(settledAt(foreign, view()), NOW + SETTLE);
  const reported = { text: "", resourceVersion: "101" };
  const ours = learn(
    learn(fresh, { object: stripped, heard: true }, NOW),
    { object: stripped, reported },
    NOW + 1,
  );
  assertEquals([ours.bornHere, ours.lifeSeen], [true, undefined]);
  const finalized = cr({ meta: { resourceVersion: "102" }, status: stripped.status ?? {} });
  const another = learn(ours, { object: finalized }, NOW + 2);
  assertEquals([another.bornHere, another.lifeSeen?.at], [false, NOW + 2]);
  for (const reason of ["Paused", "InvalidSpec", "NotAllowed"]) {
    assertEquals(learn(fresh, { object: said(reason) }, NOW).bornHere, true, reason);
  }
});

Deno.test("rule 18: tags of an adoption are remembered as a create of unknown outcome is, until a create is sent", () => {
  const k = learn(known(cr()), { tagged: { id: "db-9", at: NOW } }, NOW);
  assertEquals([k.unknownSince, k.adopting], [NOW, "db-9"]);
  assertEquals(learn(k, { create: { outcome: "refused", at: NOW + 1 } }, NOW + 1).adopting, undefined);
});

Deno.test("rule 18: a database that the spec names waits until no earlier create can bring another", () => {
  const named = known(cr({ spec: { providerId: "db-9" } }), { unknownSince: NOW - 1_000 });
  assertEquals(plan(named, view()).step, "lookup");
  const looked = { ...named, lookup: { sentAt: NOW, found: [] } };
  assertEquals(plan(looked, view()).step, "wait");
  const over = view({ now: NOW + SETTLE });
  assertEquals(plan(looked, over).step, "lookup");
  assertEquals(plan({ ...looked, lookup: { sentAt: NOW + SETTLE, found: [] } }, over).step, "adopt");
});

Deno.test("rule 23: a process that starts knows of the repairs that an earlier one counted", () => {
  const repair = [{
    field: "sizeGb" as const,
    wanted: "50",
    attempts: 3,
    lastAttemptTime: "2026-01-01T00:00:00Z",
  }];
  assertEquals(initialKnowledge(cr({ status: inStep({ repair }) }), NOW).repair, repair);
});

Deno.test("rule 10: a list that misses a database says nothing of it but that it is to be read", () => {
  const before = known(cr({ status: inStep() }), { observation: seen() });
  const k = learn(before, { unlistedAt: NOW }, NOW);
  assertEquals([k.observation, k.lookup, k.unlistedAt], [before.observation, undefined, NOW]);
  assertEquals(plan(k, view()).step, "observe");
});

Deno.test("A2: the account that a refused record saw holds no living resource, but its deletion until it is back (found by simulation, seeds 56763 and 32478)", () => {
  const living = known(cr(), { observation: seen(), mayExist: true });
  assertEquals(plan(learn(living, { seenUnder: "another" }, NOW), view()).step, "record");
  const lookup = { sentAt: NOW, found: [] };
  const dying = known(deleting(), { mayExist: true, lookup });
  assertEquals(plan(dying, view()).step, "release");
  const held = plan(learn(dying, { seenUnder: "another" }, NOW), view());
  assertEquals([held.step, held.synced.reason], ["wait", "Conflict"]);
});

Deno.test("S1, S2, A2: a cluster that goes back in time does not make forgotten in which account something may have been made", () => {
  const back = { object: cr({ meta: { resourceVersion: "50" } }), rewound: "100" };
  const lookup = { sentAt: NOW, found: [] };
  // A create of unknown outcome was sent to another account, which has said its name since.
  const unsure = learn(
    known(cr(), { unknownSince: NOW - 90_000, unknownUnder: "another" }),
    back,
    NOW - 60_000,
  );
  const accountLeft = { account: "another", sentAt: NOW - 30_000 };
  const { step, synced } = plan({ ...unsure, lookup }, view({ accountLeft }));
  assertEquals([step, synced.reason], ["wait", "Conflict"]);
  // A record was refused, of what was seen in another account.
  const made = learn(known(cr(), { seenUnder: "another", mayExist: true }), back, NOW - 60_000);
  const gone = plan({ ...made, object: deleting(), lookup }, view());
  assertEquals([gone.step, gone.synced.reason], ["wait", "Conflict"]);
});

Deno.test("S4: that no lookup had shown what was removed is remembered: later ones may not show it yet (seed 25372)", () => {
  const removed = { id: "db-1", at: NOW };
  const k = known(deleting(), { lookup: { sentAt: NOW - 50, found: [] } });
  assertEquals(learn(k, { removed }, NOW).unseenRemovedAt, NOW);
  assertEquals(learn({ ...k, lookup: undefined }, { removed }, NOW).unseenRemovedAt, NOW);
  const shown = { ...k, lookup: { sentAt: NOW - 50, found: [db()] } };
  assertEquals(learn(shown, { removed }, NOW).unseenRemovedAt, undefined);
});

Deno.test("rule 5: the record of one that only observes is no sign of another's life", () => {
  const watched = known(
    cr({ meta: { finalizers: [] }, spec: { providerId: "db-9", managementPolicy: "ObserveOnly" } }),
    {
      observation: {
        kind: "present",
        database: db({ id: "db-9", tags: {} }),
        sentAt: NOW,
        onlyObserved: true,
      },
    },
  );
  assertEquals(watched.bornHere, true);
  const answer = cr({
    meta: { finalizers: [], resourceVersion: "101" },
    spec: { providerId: "db-9", managementPolicy: "ObserveOnly" },
    status: inStep({ providerId: "db-9" }),
  });
  const k = learn(watched, { object: answer, recorded: true }, NOW);
  assertEquals([k.bornHere, settledAt(k, view())], [true, Number.NEGATIVE_INFINITY]);
});
