import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import type { Condition } from "../../src/api/schema.ts";
import type { Decision } from "../../src/statechart/decision.ts";
import type { Failure } from "../../src/statechart/knowledge.ts";
import { recordedStatus } from "../../src/statechart/recorded.ts";
import { statusDiffers, statusOf, withTimes } from "../../src/statechart/status.ts";
import { failureReason, failureVerdict, normalise } from "../../src/statechart/verdicts.ts";
import { absent, condition, cr, db, inStep, known, NOW, seen, UID, view } from "./support.ts";

const ok = { status: "True", reason: "Available", message: "as before" } as const;
const decision = (change: Partial<Decision> = {}): Decision => ({
  state: "Available",
  step: "idle",
  ready: ok,
  synced: ok,
  ...change,
});
const withId = (more: Parameters<typeof cr>[0] = {}) => cr({ status: inStep(), ...more });

Deno.test("R1: a status that says the same does not differ, whatever the order of its fields and its times", () => {
  const k = known(withId(), { observation: seen() });
  const status = statusOf(k, decision());
  assert(!statusDiffers(k.object.status, status));
  const turned = Object.fromEntries(Object.entries(k.object.status ?? {}).toReversed());
  assert(!statusDiffers({ ...turned, conditions: k.object.status?.conditions?.toReversed() }, status));
});

Deno.test("a new generation differs even when nothing else does (kubectl wait relies on it)", () => {
  const object = withId({ meta: { generation: 2 } });
  const status = statusOf(known(object, { observation: seen() }), decision());
  assert(statusDiffers(object.status, status));
  assertEquals(status.observedGeneration, 2);
  assertEquals(status.conditions.map((c) => c.observedGeneration), [2, 2]);
});

Deno.test("what others wrote into the status is kept: fields and conditions", () => {
  const foreign: Condition = { ...condition("Ready"), type: "Backup", reason: "Done" };
  const before = { ...inStep(), conditions: [...(inStep().conditions ?? []), foreign], extra: "kept" };
  const object = cr({ status: before });
  const status = statusOf(known(object, { observation: seen() }), decision());
  assertEquals((status as unknown as { extra: string }).extra, "kept");
  assert(!statusDiffers(before, status));
  assertEquals(withTimes(before, status.conditions, "2026-02-02T00:00:00Z").at(-1), foreign);
});

Deno.test("a condition keeps its time while its status stays, whatever its reason", () => {
  const before = inStep();
  const after = [
    { type: "Ready", status: "True" as const, reason: "Available", message: "other words" },
    { type: "Synced", status: "False" as const, reason: "Updating", message: "" },
  ];
  assertEquals(withTimes(before, after, "2026-02-02T00:00:00Z").map((c) => c.lastTransitionTime), [
    "2025-12-31T00:00:00Z",
    "2026-02-02T00:00:00Z",
  ]);
  assertEquals(withTimes(undefined, after, "2026-02-02T00:00:00Z").length, 2);
});

Deno.test("C5: what is not known stays: the endpoint, the id, what was observed", () => {
  const k = known(withId());
  const status = statusOf(
    k,
    decision({ synced: { status: "Unknown", reason: "Unreadable", message: "500" } }),
  );
  assertEquals([status.endpoint, status.providerId, status.observed?.sizeGb], [
    "db-1.example:5432",
    "db-1",
    20,
  ]);
});

Deno.test("R2: what the provider shows is told, an endpoint that it no longer shows is kept", () => {
  const grown = db({ sizeGb: 35, providerState: "storage-optimization", endpoint: undefined });
  const status = statusOf(known(withId(), { observation: seen(grown) }), decision());
  assertEquals([status.observed?.sizeGb, status.providerState, status.endpoint], [
    35,
    "storage-optimization",
    "db-1.example:5432",
  ]);
});

Deno.test("K3: a changed endpoint is told", () => {
  const moved = db({ endpoint: "db-1b.example:5432" });
  assertEquals(
    statusOf(known(withId(), { observation: seen(moved) }), decision()).endpoint,
    "db-1b.example:5432",
  );
});

Deno.test("what is seen of another database than the recorded one is not told", () => {
  const status = statusOf(known(withId(), { observation: seen(db({ id: "db-2", sizeGb: 99 })) }), decision());
  assertEquals([status.providerId, status.observed?.sizeGb], ["db-1", 20]);
});

Deno.test("F3: a reconcile request is acknowledged once it was answered, and not before", () => {
  const object = withId({ meta: { annotations: { [ANNOTATION.reconcile]: "42" } } });
  const of = (change: Parameters<typeof known>[1]) => statusOf(known(object, change), decision());
  assertEquals(of({ refreshSince: NOW, observation: seen(db(), 1) }).lastHandledReconcile, undefined);
  assertEquals(of({ refreshSince: NOW, observation: seen(db(), 0) }).lastHandledReconcile, "42");
  assertEquals(of({ refreshSince: NOW }).lastHandledReconcile, undefined);
  // Without a database the answer is the next try, which a failure shows.
  const bare = cr({ meta: { annotations: { [ANNOTATION.reconcile]: "42" } } });
  const failure = {
    effect: "create",
    state: "Creating",
    errorClass: "rejected",
    message: "no",
    attempt: 1,
    until: NOW,
  } as const;
  assertEquals(statusOf(known(bare), decision()).lastHandledReconcile, undefined);
  assertEquals(statusOf(known(bare, { failure }), decision()).lastHandledReconcile, "42");
});

Deno.test("rule 12: a confirmation is used up once the database is there, and not before", () => {
  const object = withId({ meta: { annotations: { [ANNOTATION.confirmAbsence]: "yes" } } });
  const k = known(object, { observation: seen() });
  assertEquals(statusOf(k, decision()).lastHandledConfirmation, "yes");
  const missing = decision({ synced: { status: "False", reason: "MassAbsence", message: "" } });
  assertEquals(
    statusOf(known(object, { observation: absent() }), missing).lastHandledConfirmation,
    undefined,
  );
  const differs = decision({ synced: { status: "False", reason: "DriftReported", message: "" } });
  assertEquals(statusOf(k, differs).lastHandledConfirmation, "yes");
  assertEquals(statusOf({ ...k, unlistedAt: NOW }, differs).lastHandledConfirmation, undefined);
});

Deno.test("rule 7: failures of provisioning are forgotten once a database is available", () => {
  const object = cr({ status: inStep({ provisioningFailures: 2 }) });
  assertEquals(statusOf(known(object, { observation: seen() }), decision()).provisioningFailures, undefined);
  const provisioning = seen(db({ state: "Provisioning" }));
  assertEquals(statusOf(known(object, { observation: provisioning }), decision()).provisioningFailures, 2);
});

Deno.test("R6: repair counts stand in the status while their field differs", () => {
  const repair = [{
    field: "sizeGb" as const,
    wanted: "50",
    attempts: 2,
    lastAttemptTime: "2026-01-01T00:00:00Z",
  }];
  const object = withId({ spec: { sizeGb: 50 } });
  assertEquals(statusOf(known(object, { observation: seen(), repair }), decision()).repair, repair);
  const grown = seen(db({ sizeGb: 50 }));
  assertEquals(statusOf(known(object, { observation: grown, repair }), decision()).repair, undefined);
});

Deno.test("rule 6: the write that records an id says all that is known, in one", () => {
  const k = known(cr(), { observation: seen(db({ state: "Provisioning" })) });
  const { status, decision } = recordedStatus(k, db({ state: "Provisioning" }), view());
  assertEquals([status.providerId, status.account, status.incarnation, status.state, status.adopted], [
    "db-1",
    "acct",
    1,
    "Creating",
    undefined,
  ]);
  assertEquals(decision.step, "wait");
  const adopted = recordedStatus(known(cr({ spec: { providerId: "db-1" } })), db(), view());
  assertEquals([adopted.status.adopted, adopted.status.state, adopted.status.endpoint], [
    true,
    "Available",
    "db-1.example:5432",
  ]);
  const unnamed = recordedStatus(k, db(), view({ provider: { ...view().provider!, account: undefined } }));
  assertEquals(unnamed.status.account, undefined);
});

Deno.test("rule 16: a UID that the reader is to copy stands in the condition, and no line is broken", () => {
  const message = `annotate it with ${ANNOTATION.abandon}=${UID}\nor wait`;
  const status = statusOf(
    known(withId()),
    decision({ synced: { status: "False", reason: "Conflict", message } }),
  );
  assertEquals(status.conditions[1]?.message, `annotate it with ${ANNOTATION.abandon}=${UID} or wait`);
});

Deno.test("L4: what differs from try to try is taken out of a message, and what would break a line", () => {
  const same = (a: string, b: string) => assertEquals(normalise(a), normalise(b));
  same("request id: abc-1 failed", "request id: def-2 failed");
  same("RequestID=abc", "RequestID=def");
  same("at 2026-01-01T00:00:00Z", "at 2026-01-01T00:00:01.5+02:00");
  same("no answer within 30000 ms", "no answer within 29999.5 ms");
  same(
    "op 11111111-2222-3333-4444-555555555555",
    "op 66666666-7777-8888-9999-000000000000",
  );
  assertEquals(normalise("a\r\n\u2028b\u0000c"), "a b c");
  assert(normalise("x".repeat(9_999)).length <= 512);
  assert(normalise("size 20 is not 50") !== normalise("size 20 is not 60"));
});

Deno.test("L4: a failure says what was done, what came of it, and which step of the back-off it is", () => {
  const failure = {
    effect: "create",
    state: "Creating",
    errorClass: "rejected",
    message: "Version 99 is not offered",
    attempt: 3,
    until: NOW,
  } as const;
  assertEquals(failureVerdict(failure), {
    status: "False",
    reason: "CreateFailed",
    message:
      "Creating the database failed: Version 99 is not offered; an edit of the spec is tried at once (retry step 3, the next within 60 s)",
  });
  const message = (more: Partial<Failure>) => failureVerdict({ ...failure, ...more }).message;
  assertEquals(
    message({ message: "Creating the database: InvalidParameter: no" }),
    "Creating the database failed: InvalidParameter: no; an edit of the spec is tried at once (retry step 3, the next within 60 s)",
    "its own action is said once",
  );
  assertEquals(
    message({ message: "Listing databases: Unavailable" }),
    "Creating the database failed: Listing databases: Unavailable; an edit of the spec is tried at once (retry step 3, the next within 60 s)",
    "another's is kept: the create was not refused",
  );
  assertStringIncludes(
    message({ effect: "remove", code: "DeletionProtected", message: "Deleting the database: no" }),
    "Deleting the database failed: no; set spec.deletionProtection to false, lift the protection",
  );
  // Bounded, so that a failure of days is not a write a try.
  assertEquals(
    failureVerdict({ ...failure, attempt: 9 }).message,
    failureVerdict({ ...failure, attempt: 900 }).message,
  );
  assertStringIncludes(message({ attempt: 9 }), "(retry step 9 or later, the next within 10 min)");
  assertStringIncludes(message({ errorClass: "throttled" }), "(retry step 3)"); // the provider says how long
  assertEquals(failureVerdict({ ...failure, effect: "observe", errorClass: "retryable" }).status, "Unknown");
  const reason = (effect: Parameters<typeof failureReason>[0]["effect"], errorClass: string, code?: string) =>
    failureReason({ ...failure, effect, errorClass, code });
  assertEquals(reason("remove", "rejected", "DeletionProtected"), "DeletionProtected");
  assertEquals(reason("remove", "rejected", "SnapshotFailed"), "SnapshotFailed");
  assertEquals(reason("remove", "rejected", "SnapshotExists"), "Conflict");
  assertEquals(reason("adopt", "taken"), "Conflict");
  assertEquals(reason("adopt", "rejected"), "CreateFailed");
  assertEquals(reason("create", "busy"), "Pending", "Q4: another operation goes first");
  assertEquals(reason("adopt", "busy"), "Pending", "Q4: a database that is changing takes no tags");
  assertEquals(
    reason("adopt", "busy", "DatabaseFailed"),
    "CreateFailed",
    "L4: one that failed is for a person",
  );
  assertEquals(reason("modify", "busy"), "Updating");
  assertEquals(reason("remove", "busy"), "Deleting");
  assertEquals(reason("remove", "unknown"), "DeleteFailed");
  assertEquals(reason("observe", "throttled"), "Throttled");
  assertEquals(reason("lookup", "unauthorised"), "Unauthorised");
  assertEquals(reason("observe", "retryable"), "ProviderUnavailable");
  assertEquals(reason("create", "kubernetes"), "Pending");
  assertEquals(reason("record", "kubernetes"), "Creating");
  assertEquals(reason("modify", "bug"), "ActorFailed");
});

Deno.test("L4: what helps is told after a provider's words however long they are, and no line is longer than one may be", () => {
  const failure = {
    effect: "create",
    state: "Creating",
    errorClass: "rejected",
    message: "x".repeat(5_000),
    attempt: 3,
    until: NOW,
  } as const;
  const { message } = failureVerdict(failure);
  assertEquals(message.length, 512);
  assertStringIncludes(
    message,
    "xxx; an edit of the spec is tried at once (retry step 3, the next within 60 s)",
  );
  const told = (more: Partial<Failure>) => failureVerdict({ ...failure, message: "no", ...more }).message;
  assertStringIncludes(
    told({ errorClass: "throttled" }),
    "; all calls of the account wait, and go on by themselves",
  );
  assertStringIncludes(told({ errorClass: "unauthorised" }), "; renew the operator's credentials");
  assertStringIncludes(
    told({ effect: "lookup", errorClass: "retryable" }),
    "failed: no (retry step 3, the next within 4 s)",
  );
});
