/**
 * The operator's mind by table: what is known and seen → state, step and what the conditions say.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import { decide } from "../../src/statechart/decide.ts";
import { isEffect } from "../../src/statechart/decision.ts";
import type { ExternalState, Knowledge } from "../../src/statechart/knowledge.ts";
import { statusOf } from "../../src/statechart/status.ts";
import { REASONS } from "../../src/statechart/vocabulary.ts";
import type { View } from "../../src/statechart/view.ts";
import {
  absent,
  condition,
  cr,
  db,
  deleting,
  inStep,
  known,
  NOW,
  seen,
  SETTLE,
  tags,
  TOKENLESS,
  UID,
  view,
  WALL,
} from "./support.ts";

interface Row {
  readonly k: Knowledge;
  readonly v?: Partial<View>;
  /** `state/step`. */
  readonly is: string;
  /** Reason of `Synced`. */
  readonly synced?: string;
  /** `status/reason` of `Ready`. */
  readonly ready?: string;
  readonly waitMs?: number | undefined;
  readonly message?: RegExp;
  readonly cause?: string;
  /** Id of the database that the step is about. */
  readonly id?: string;
}

/** Whatever the status says already, a rest is looked at and not the report before it. */
function decided(row: Row) {
  const v = view(row.v);
  const first = decide(row.k, v);
  if (first.step !== "report") return first;
  const until = NOW + 5;
  const failure = {
    effect: "report" as const,
    state: first.state,
    errorClass: "kubernetes",
    message: "",
    attempt: 1,
    until,
  };
  return { ...decide({ ...row.k, failures: { ...row.k.failures, report: failure } }, v), reported: true };
}

function table(area: string, rows: Readonly<Record<string, Row>>): void {
  for (const [name, row] of Object.entries(rows)) {
    Deno.test(`decide, ${area}: ${name}`, () => {
      const d = decided(row);
      assertEquals(`${d.state}/${d.step}`, row.is);
      for (const type of ["Ready", "Synced"] as const) {
        const verdict = type === "Ready" ? d.ready : d.synced;
        const allowed: readonly string[] = REASONS[verdict.reason];
        if (!isEffect(d.step) && d.step !== "end") {
          assert(allowed.includes(type), `${verdict.reason} is no reason of ${type}`);
          assert(verdict.message.length > 0, "a condition says why");
        }
      }
      if (row.synced !== undefined) assertEquals(d.synced.reason, row.synced);
      if (row.ready !== undefined) assertEquals(`${d.ready.status}/${d.ready.reason}`, row.ready);
      if ("waitMs" in row && !("reported" in d)) assertEquals(d.waitMs, row.waitMs);
      if (row.message !== undefined) assert(row.message.test(d.synced.message), d.synced.message);
      if (row.cause !== undefined) assertEquals(d.cause, row.cause);
      if (row.id !== undefined) assertEquals(d.database?.id, row.id);
    });
  }
}

const fresh = cr({ meta: { finalizers: [] } });
const withId = (more: Parameters<typeof cr>[0] = {}) => cr({ status: inStep(), ...more });
const lookup = (found: readonly ExternalState[], ageMs = 50) => ({ sentAt: NOW - ageMs, found });
const failed = (effect: "create" | "observe" | "modify" | "remove", errorClass: string, leftMs = 4_000) => ({
  [effect]: {
    effect,
    state: "Creating" as const,
    errorClass,
    message: "no",
    attempt: 2,
    until: NOW + leftMs,
  },
});

table("before anything else", {
  "a resource that is gone ends, whatever else is known": {
    k: known(withId(), { gone: true, observation: seen() }),
    is: "Finalized/end",
  },
  "a new resource gets its finalizer": { k: known(fresh), is: "Pending/finalize" },
  "rule 1: a stripped finalizer is put back first": {
    k: known(withId({ meta: { finalizers: ["other/finalizer"] } })),
    is: "Pending/finalize",
  },
  "rule 1: it is put back on a paused resource too": {
    k: known(withId({ meta: { finalizers: [] }, spec: { paused: true } })),
    is: "Pending/finalize",
  },
  "rule 1: and on one whose spec is not valid": {
    k: known(withId({ meta: { finalizers: [] }, spec: { sizeGb: -1 } })),
    is: "Pending/finalize",
  },
  "an invalid new resource says so and gets no finalizer": {
    k: known(cr({ meta: { finalizers: [] }, spec: { sizeGb: 0 } })),
    is: "Pending/idle",
    synced: "InvalidSpec",
    ready: "False/InvalidSpec",
    message: /sizeGb/,
  },
  "an invalid edit of a served database leaves Ready as it is": {
    k: known(withId({ spec: { version: "" } }), { observation: seen() }),
    is: "Available/idle",
    synced: "InvalidSpec",
    ready: "True/Available",
  },
  "H2: a stored pollInterval of days is refused, not obeyed": {
    k: known(withId({ spec: { pollInterval: "90d" } })),
    is: "Available/idle",
    synced: "InvalidSpec",
    message: /pollInterval/,
  },
  "a paused new resource waits without finalizer": {
    k: known(cr({ meta: { finalizers: [] }, spec: { paused: true } })),
    is: "Pending/idle",
    synced: "Paused",
  },
  "a paused drifted one stays as it is": {
    k: known(withId({ spec: { paused: true, sizeGb: 50 } }), { observation: seen() }),
    is: "Available/idle",
    synced: "Paused",
    ready: "True/Available",
  },
  "a provider that has not answered yet is waited for": {
    k: known(cr()),
    v: { provider: undefined, providerError: "the connection was refused" },
    is: "Pending/idle",
    synced: "ProviderUnavailable",
    message: /the connection was refused/,
  },
  "A2: another account changes nothing, and Ready stays": {
    k: known(withId(), { observation: seen() }),
    v: { provider: { ...TOKENLESS, account: "other" } },
    is: "Available/wait",
    synced: "Conflict",
    ready: "True/Available",
    message: /"other".*"acct"/,
  },
  "A2: an account that is not told is no other account": {
    k: known(withId(), { observation: seen() }),
    v: { provider: { ...TOKENLESS, account: undefined } },
    is: "Available/idle",
    synced: "Available",
  },
  "A2: another account in the middle of a drift keeps the state": {
    k: known(withId({ status: inStep({ state: "Drifted" }) })),
    v: { provider: { ...TOKENLESS, account: "other" } },
    is: "Drifted/wait",
    synced: "Conflict",
  },
});

table("creation", {
  "rule 3: the finalizer just written on a new resource is proof enough": {
    k: known(cr(), { provenNew: true }),
    v: { provider: TOKENLESS, settleSince: NOW },
    is: "Creating/create",
  },
  "rule 5: with tokens too, for they may be forgotten before a list shows the first": {
    k: known(cr()),
    v: { settleSince: NOW - 1_000 },
    is: "Pending/lookup",
  },
  "rule 5: without tokens it looks first": {
    k: known(cr()),
    v: { settleSince: NOW - 1_000, provider: TOKENLESS },
    is: "Pending/lookup",
  },
  "rule 5: and waits while the settle window is open": {
    k: known(cr(), { lookup: lookup([], 500) }),
    v: { settleSince: NOW - 1_000, provider: TOKENLESS },
    is: "Pending/wait",
  },
  "rule 5: then creates": {
    k: known(cr(), { lookup: lookup([], 500) }),
    v: { settleSince: NOW - SETTLE, provider: TOKENLESS },
    is: "Creating/create",
  },
  "rule 5: a create of unknown outcome opens the window anew": {
    k: known(cr(), { unknownSince: NOW - SETTLE + 1, lookup: lookup([], 500) }),
    v: { provider: TOKENLESS },
    is: "Pending/wait",
    waitMs: 1,
  },
  "rule 4: what the tags show is recorded": {
    k: known(cr(), { lookup: lookup([db()]) }),
    is: "Creating/record",
    id: "db-1",
  },
  "S1: of two the oldest": {
    k: known(cr(), {
      lookup: lookup([db({ id: "db-2", createdAt: "2026-01-01T00:00:00Z" }), db({ id: "db-1" })]),
    }),
    is: "Creating/record",
    id: "db-1",
  },
  "S3: what carries another UID is not taken": {
    k: known(cr(), { lookup: lookup([db({ tags: tags({ [TAG.uid]: "someone" }) })]) }),
    v: { provider: TOKENLESS },
    is: "Creating/create",
  },
  "rule 20: nor what carries another cluster's": {
    k: known(cr(), { lookup: lookup([db({ tags: tags({ [TAG.cluster]: "cluster-2" }) })]) }),
    v: { provider: TOKENLESS },
    is: "Creating/create",
  },
  "rule 7: a dying one of this incarnation is left behind": {
    k: known(cr(), { lookup: lookup([db({ state: "Deleting" })]) }),
    is: "Pending/reincarnate",
  },
  "rule 7: a dying one of the last incarnation is waited out": {
    k: known(cr({ status: { incarnation: 2 } }), { lookup: lookup([db({ state: "Deleting" })]) }),
    is: "Pending/wait",
    message: /is deleted/,
  },
  "rule 4: a create that exists is looked up, not repeated": {
    k: known(cr(), { createExists: "AlreadyExists", unknownSince: NOW - 60_000 }),
    is: "Pending/lookup",
    synced: "CreateFailed",
    message: /"AlreadyExists"/,
  },
  "rule 4: and again, slowly": {
    k: known(cr(), {
      createExists: "AlreadyExists",
      unknownSince: NOW - 60_000,
      lookup: lookup([], 1_000),
    }),
    is: "Pending/wait",
    waitMs: 59_000,
  },
  "rule 4: a token of another spec whose database never shows raises the incarnation after the window": {
    k: known(cr(), { createExists: "IdempotencyMismatch", unknownSince: NOW - 60_000, lookup: lookup([]) }),
    is: "Pending/reincarnate",
  },
  "rule 4: a used-up token whose database never shows raises the incarnation after the window": {
    k: known(cr(), { createExists: "TokenUsed", unknownSince: NOW - 60_000, lookup: lookup([]) }),
    is: "Pending/reincarnate",
  },
  "rule 4: and not before": {
    k: known(cr(), { createExists: "TokenUsed", unknownSince: NOW - 5_000, lookup: lookup([]) }),
    is: "Pending/wait",
  },
  "rule 18: a named database is adopted, not created": {
    k: known(cr({ spec: { providerId: "db-9" } }), { provenNew: true }),
    is: "Pending/adopt",
  },
  "rule 6: a create's answer is recorded at once": {
    k: known(cr(), { observation: seen(db({ state: "Provisioning" })) }),
    is: "Creating/record",
    id: "db-1",
  },
  "rule 6: even while the provider's account is not known": {
    k: known(cr(), { observation: seen(db({ state: "Provisioning" })) }),
    v: { provider: undefined },
    is: "Creating/record",
  },
  "rule 7: a create answered with a dying database starts over": {
    k: known(cr(), { observation: seen(db({ state: "Deleting" })) }),
    is: "Creating/reincarnate",
  },
  "rule 20: one answered with another cluster's is a conflict": {
    k: known(cr(), { observation: seen(db({ tags: tags({ [TAG.cluster]: "cluster-2" }) })) }),
    is: "Pending/idle",
    synced: "Conflict",
  },
  "A4: a wiped status does not make a stranger's database ours": {
    k: known(cr(), { observation: seen(db({ tags: tags({ [TAG.uid]: "someone" }) })) }),
    is: "Creating/create",
  },
  "a failed create backs off and says why": {
    k: known(cr(), { provenNew: true, failures: failed("create", "rejected") }),
    is: "Creating/backOff",
    synced: "CreateFailed",
    ready: "False/CreateFailed",
    message: /retry step 2/,
  },
  "a throttled one says that": {
    k: known(cr(), { provenNew: true, failures: failed("create", "throttled") }),
    is: "Creating/backOff",
    synced: "Throttled",
  },
  "and is sent again in its time": {
    k: known(cr(), { provenNew: true, failures: failed("create", "rejected", 0) }),
    is: "Creating/create",
  },
  "the failure of another effect holds nothing back": {
    k: known(cr(), { provenNew: true, failures: failed("observe", "retryable") }),
    is: "Creating/create",
  },
});

table("observed", {
  "in step": {
    k: known(withId(), { observation: seen() }),
    is: "Available/idle",
    synced: "Available",
    ready: "True/Available",
    waitMs: 899_900,
  },
  "after a restart the list is waited for and nothing is said anew": {
    k: known(withId()),
    is: "Available/idle",
    synced: "Available",
    ready: "True/Available",
  },
  "after a restart what was not in step is not called so unread": {
    k: known(withId({
      status: inStep({ conditions: [condition("Ready"), condition("Synced", "Unknown", "Throttled")] }),
    })),
    is: "Available/idle",
    synced: "Throttled",
    ready: "True/Available",
  },
  "F4: after a crash it is read at once": {
    k: known(withId({
      status: inStep({
        conditions: [
          condition("Ready", "Unknown", "ActorFailed"),
          condition("Synced", "Unknown", "ActorFailed"),
        ],
      }),
    })),
    is: "Available/observe",
  },
  "after a restart a new generation is read at once": {
    k: known(withId({ meta: { generation: 2 } })),
    is: "Available/observe",
  },
  "after a restart what was in transition is read at once": {
    k: known(withId({ status: inStep({ state: "Creating" }) })),
    is: "Creating/observe",
  },
  "rule 10: what a list does not show is read by id": {
    k: known(withId(), { observation: seen(), unlistedAt: NOW - 50 }),
    is: "Available/observe",
  },
  "rule 10: a list older than the observation is no reason": {
    k: known(withId(), { observation: seen(), unlistedAt: NOW - 150 }),
    is: "Available/idle",
  },
  "F3: what a person asked for is read": {
    k: known(withId(), { observation: seen(), refreshSince: NOW - 50 }),
    is: "Available/observe",
  },
  "S6: an edit is not judged by a stale observation": {
    k: known(withId({ meta: { generation: 2 }, spec: { sizeGb: 50 } }), { observation: seen(db(), 300_001) }),
    is: "Available/observe",
  },
  "an edit is judged by one that is fresh enough": {
    k: known(withId({ meta: { generation: 2 }, spec: { sizeGb: 50 } }), { observation: seen(db(), 299_999) }),
    is: "Drifted/modify",
  },
  "rule 11: a shorter interval of its own reads by itself": {
    k: known(withId({ spec: { pollInterval: "10s" } }), { observation: seen(), lastReadAt: NOW - 10_000 }),
    is: "Available/observe",
  },
  "rule 11: when it is due": {
    k: known(withId({ spec: { pollInterval: "10s" } }), { observation: seen(), lastReadAt: NOW - 4_000 }),
    is: "Available/idle",
    waitMs: 6_000,
  },
  "rule 11: a longer one leaves it to the list": {
    k: known(withId({ spec: { pollInterval: "24h" } }), { observation: seen(), lastReadAt: NOW - 600_000 }),
    is: "Available/idle",
  },
  "C5: an unreadable list makes Synced unknown and Ready stays": {
    k: known(withId(), {
      observation: seen(),
      unreadable: { errorClass: "unauthorised", message: "Forbidden" },
    }),
    is: "Available/idle",
    synced: "Unauthorised",
    ready: "True/Available",
    message: /Forbidden/,
  },
  "C5: throttled": {
    k: known(withId(), { observation: seen(), unreadable: { errorClass: "throttled", message: "slow" } }),
    is: "Available/idle",
    synced: "Throttled",
  },
  "C5: anything else": {
    k: known(withId(), { observation: seen(), unreadable: { errorClass: "retryable", message: "500" } }),
    is: "Available/idle",
    synced: "Unreadable",
  },
  "C5: one that reads by itself does not hang on the list": {
    k: known(withId({ spec: { pollInterval: "10s" } }), {
      observation: seen(),
      unreadable: { errorClass: "unauthorised", message: "Forbidden" },
    }),
    is: "Available/idle",
    synced: "Available",
  },
  "C5: Ready becomes unknown after three periods, the endpoint is kept": {
    k: known(withId(), {
      observation: seen(db(), 900_000),
      lastReadAt: NOW - 900_000,
      unreadable: { errorClass: "retryable", message: "500" },
    }),
    is: "Available/idle",
    synced: "Unreadable",
    ready: "Unknown/ProviderUnavailable",
    waitMs: undefined,
  },
  "C5: and not a millisecond before": {
    k: known(withId(), { observation: seen(db(), 899_999), lastReadAt: NOW - 899_999 }),
    is: "Available/idle",
    ready: "True/Available",
    waitMs: 1,
  },
  "C5: a failed read backs off and keeps Ready": {
    k: known(withId(), {
      observation: seen(),
      unlistedAt: NOW,
      failures: failed("observe", "retryable"),
    }),
    is: "Available/backOff",
    synced: "ProviderUnavailable",
    ready: "True/Available",
  },
  "provisioning is polled": {
    k: known(withId({ status: inStep({ state: "Creating" }) }), {
      observation: seen(db({ state: "Provisioning" })),
    }),
    is: "Creating/wait",
    synced: "Creating",
    ready: "False/Creating",
    waitMs: 400,
  },
  "at a quarter of its age, half a second to thirty": {
    k: known(withId({ status: inStep({ state: "Creating" }) }), {
      observation: seen(db({ state: "Provisioning" }), 29_999),
      transitionalSince: NOW - 3_600_000,
    }),
    is: "Creating/wait",
    waitMs: 1,
  },
  "and read then": {
    k: known(withId(), {
      observation: seen(db({ state: "Provisioning" }), 500),
      transitionalSince: NOW - 500,
    }),
    is: "Creating/observe",
  },
  "K4: available without an endpoint is not ready": {
    k: known(withId(), { observation: seen(db({ endpoint: undefined })) }),
    is: "Creating/wait",
    synced: "Creating",
    ready: "False/Creating",
  },
  "S3: a database that lost its UID tag is not touched": {
    k: known(withId({ spec: { sizeGb: 50 } }), { observation: seen(db({ tags: {} })) }),
    is: "Drifted/idle",
    synced: "Conflict",
    ready: "False/Conflict",
  },
  "rule 20: nor one of another cluster": {
    k: known(withId(), { observation: seen(db({ tags: tags({ [TAG.cluster]: "other" }) })) }),
    is: "Drifted/idle",
    synced: "Conflict",
    message: /--cluster-id/,
  },
  "F3: a conflict is looked at again when a person asks": {
    k: known(withId(), { observation: seen(db({ tags: {} })), refreshSince: NOW }),
    is: "Available/observe",
  },
  "S1: more than one is reported": {
    k: known(withId(), { observation: seen(), duplicates: ["db-2", "db-3"] }),
    is: "Available/idle",
    synced: "Duplicate",
    ready: "True/Available",
    message: /"db-2", "db-3"/,
  },
  "a database that dies at the provider is not ready": {
    k: known(withId(), { observation: seen(db({ state: "Deleting" })) }),
    is: "Drifted/wait",
    synced: "ExternalMissing",
    ready: "False/ExternalMissing",
  },
  "rule 7: one that we removed is awaited as part of creating": {
    k: known(withId(), { observation: seen(db({ state: "Deleting" })), removals: { "db-1": NOW - 10 } }),
    is: "Creating/wait",
    synced: "ProvisioningFailed",
  },
  "rule 7: failed before it was available: replaced": {
    k: known(
      cr({ status: { providerId: "db-1", state: "Creating", observedGeneration: 1, removing: "db-1" } }),
      { observation: seen(db({ state: "Failed" })) },
    ),
    is: "Creating/discard",
    synced: "ProvisioningFailed",
  },
  "rule 7: three in a row are enough": {
    k: known(
      cr({
        status: { providerId: "db-1", state: "Creating", observedGeneration: 1, provisioningFailures: 2 },
      }),
      { observation: seen(db({ state: "Failed" })) },
    ),
    is: "Creating/idle",
    synced: "ProvisioningFailed",
    ready: "False/ProvisioningFailed",
  },
  "rule 7: until a person edits the spec": {
    k: known(
      cr({
        meta: { generation: 2 },
        status: {
          providerId: "db-1",
          state: "Creating",
          observedGeneration: 1,
          provisioningFailures: 2,
          removing: "db-1",
        },
      }),
      { observation: seen(db({ state: "Failed" })) },
    ),
    is: "Creating/discard",
  },
  "rule 7: what was ever available is never replaced because it says Failed": {
    k: known(withId(), { observation: seen(db({ state: "Failed" })) }),
    is: "Drifted/idle",
    synced: "DatabaseFailed",
    ready: "False/DatabaseFailed",
  },
});

const again = WALL - 4 * 3_600_000;
const repair = (field: "sizeGb" | "version", wanted: string, attempts: number, at = WALL - 1_000) => ({
  field,
  wanted,
  attempts,
  lastAttemptTime: new Date(at).toISOString(),
});
const grown = { spec: { sizeGb: 50 }, status: inStep({ state: "Drifted" }) } as const;

table("drift", {
  "too small: repaired": { k: known(withId(grown), { observation: seen() }), is: "Drifted/modify" },
  "R2: larger is in step": {
    k: known(withId(), { observation: seen(db({ sizeGb: 35 })) }),
    is: "Available/idle",
    synced: "Available",
  },
  "R3: a newer minor is in step": {
    k: known(withId(), { observation: seen(db({ version: "14.9" })) }),
    is: "Available/idle",
    synced: "Available",
  },
  "R3: a newer major is reported, never lowered": {
    k: known(withId(), { observation: seen(db({ version: "15.0" })) }),
    is: "Drifted/idle",
    synced: "DriftNotRepairable",
    ready: "True/Available",
  },
  "R4: a change under way is awaited": {
    k: known(withId(grown), { observation: seen(db({ state: "Modifying" })) }),
    is: "Drifted/wait",
    synced: "Updating",
    ready: "True/Available",
  },
  "R4: so is one that the provider shows as pending": {
    k: known(withId(grown), { observation: seen(db({ pending: { sizeGb: 50 } })) }),
    is: "Drifted/wait",
    synced: "Updating",
  },
  "R1: the provider's own upkeep of one in step writes nothing": {
    k: known(withId(), { observation: seen(db({ state: "Modifying" })) }),
    is: "Available/wait",
    synced: "Available",
    ready: "True/Available",
  },
  "R5: another engine is reported": {
    k: known(withId(), { observation: seen(db({ engine: "mysql" })) }),
    is: "Drifted/idle",
    synced: "ImmutableFieldChanged",
    ready: "True/Available",
  },
  "R5: and the other fields stay managed": {
    k: known(withId(grown), { observation: seen(db({ engine: "mysql" })) }),
    is: "Drifted/modify",
  },
  "R6: case and space are no difference": {
    k: known(withId(), { observation: seen(db({ engine: " PostGres " })) }),
    is: "Available/idle",
    synced: "Available",
  },
  "R6: the third repair that did not stick is the last": {
    k: known(withId(grown), { observation: seen(), repair: [repair("sizeGb", "50", 3)] }),
    is: "Drifted/idle",
    synced: "DriftNotRepairable",
    ready: "True/Available",
  },
  "R6: two leave one more": {
    k: known(withId(grown), { observation: seen(), repair: [repair("sizeGb", "50", 2)] }),
    is: "Drifted/modify",
  },
  "R6: hours later it tries again": {
    k: known(withId(grown), { observation: seen(), repair: [repair("sizeGb", "50", 3, again)] }),
    is: "Drifted/modify",
  },
  "R6: a person who asks makes it try again": {
    k: known(withId({ ...grown, meta: { annotations: { [ANNOTATION.reconcile]: "now" } } }), {
      observation: seen(),
      repair: [repair("sizeGb", "50", 3)],
    }),
    is: "Drifted/modify",
  },
  "R6: an edit too": {
    k: known(withId({ ...grown, meta: { generation: 2 } }), {
      observation: seen(),
      repair: [repair("sizeGb", "50", 3)],
    }),
    is: "Drifted/modify",
  },
  "R6: another wanted value counts anew": {
    k: known(withId(grown), { observation: seen(), repair: [repair("sizeGb", "40", 3)] }),
    is: "Drifted/modify",
  },
  "R8: drift is only reported where the policy says so": {
    k: known(withId({ ...grown, spec: { sizeGb: 50, driftPolicy: "Report" } }), { observation: seen() }),
    is: "Drifted/idle",
    synced: "DriftReported",
    message: /sizeGb 20 → 50/,
  },
  "rule 19: and for an adopted database": {
    k: known(withId({ spec: { sizeGb: 50 }, status: inStep({ adopted: true }) }), { observation: seen() }),
    is: "Drifted/idle",
    synced: "DriftReported",
  },
  "A1: an adopted one is changed with an explicit Repair": {
    k: known(
      withId({ spec: { sizeGb: 50, driftPolicy: "Repair" }, status: inStep({ adopted: true }) }),
      { observation: seen() },
    ),
    is: "Drifted/modify",
  },
  "rule 8: after a modify of unknown outcome none is sent within the effect bound": {
    k: known(withId(grown), { observation: seen(), modifyUnknownSince: NOW - 9_999 }),
    is: "Drifted/wait",
    synced: "Updating",
  },
  "rule 8: then it is": {
    k: known(withId(grown), { observation: seen(), modifyUnknownSince: NOW - 10_000 }),
    is: "Drifted/modify",
  },
  "Q4: a busy database is no error": {
    k: known(withId(grown), { observation: seen(), failures: failed("modify", "busy") }),
    is: "Drifted/backOff",
    synced: "Updating",
    ready: "True/Available",
  },
  "a refused change is one": {
    k: known(withId(grown), { observation: seen(), failures: failed("modify", "rejected") }),
    is: "Drifted/backOff",
    synced: "UpdateFailed",
    ready: "True/Available",
  },
});

const gone = { observation: absent(), lookup: lookup([]) };
table("missing", {
  "R7: an absence is confirmed by id and tag": {
    k: known(withId(), { observation: absent() }),
    is: "Drifted/confirm",
    synced: "ExternalMissing",
  },
  "R7: a lookup from before the absence does not count": {
    k: known(withId(), { observation: absent(100), lookup: lookup([], 101) }),
    is: "Drifted/confirm",
  },
  "R7: once confirmed a new incarnation begins": { k: known(withId(), gone), is: "Drifted/reincarnate" },
  "R7: not within the settle window": {
    k: known(withId(), gone),
    v: { settleSince: NOW - 1_000 },
    is: "Drifted/wait",
    synced: "ExternalMissing",
    ready: "False/ExternalMissing",
  },
  "R7: not before a whole list was counted": {
    k: known(withId(), gone),
    v: { roundAt: NOW - 101 },
    is: "Drifted/wait",
  },
  "A2: not before the account has said its name since": {
    k: known(withId(), gone),
    v: { accountAt: NOW - 101 },
    is: "Drifted/wait",
  },
  "S6: an old absence is read again": {
    k: known(withId(), { observation: absent(60_001), lookup: lookup([], 60_001) }),
    is: "Drifted/confirm",
  },
  "R7: onMissing Report only says so": {
    k: known(withId({ spec: { onMissing: "Report" } }), gone),
    is: "Drifted/idle",
    synced: "ExternalMissing",
  },
  "rule 19: an adopted one too": {
    k: known(withId({ status: inStep({ adopted: true }) }), gone),
    is: "Drifted/idle",
  },
  "a database named in the spec is never re-created under another name": {
    k: known(withId({ spec: { providerId: "db-1", onMissing: "Recreate" } }), gone),
    is: "Drifted/idle",
  },
  "another of its own is taken instead": {
    k: known(withId(), { observation: absent(), lookup: lookup([db({ id: "db-7" })]) }),
    is: "Creating/record",
    id: "db-7",
  },
  "rule 12: nothing is re-created in a mass absence": {
    k: known(withId(), gone),
    v: { massAbsent: true, massAbsence: true },
    is: "Drifted/idle",
    synced: "MassAbsence",
    ready: "False/MassAbsence",
  },
  "rule 12: unless a person confirms": {
    k: known(withId({ meta: { annotations: { [ANNOTATION.confirmAbsence]: "yes" } } }), gone),
    v: { massAbsent: true, massAbsence: true, roundAt: NOW - 1_000 },
    is: "Drifted/reincarnate",
  },
  "rule 12: an old confirmation confirms nothing": {
    k: known(
      withId({
        meta: { annotations: { [ANNOTATION.confirmAbsence]: "yes" } },
        status: inStep({ lastHandledConfirmation: "yes" }),
      }),
      gone,
    ),
    v: { massAbsent: true },
    is: "Drifted/idle",
    synced: "MassAbsence",
  },
  "rule 12: what was absent among many is read again when that is over": {
    k: known(withId(), gone),
    v: { massAbsenceOverAt: NOW },
    is: "Drifted/confirm",
  },
  "F3: a reported absence is looked at again when a person asks": {
    k: known(withId({ spec: { onMissing: "Report" } }), { ...gone, refreshSince: NOW }),
    is: "Drifted/confirm",
  },
  "rule 7: what we removed ourselves needs no confirmation": {
    k: known(withId(), { observation: absent(), removals: { "db-1": NOW - 500 } }),
    is: "Creating/reincarnate",
  },
});

const removing = inStep({ state: "Deleting", removing: "db-1" });
const ours = { status: inStep() };
const dead = (more: Parameters<typeof cr>[0] = {}) => deleting({ ...ours, ...more });
table("deletion", {
  "without our finalizer it is over": {
    k: known(dead({ meta: { finalizers: ["other/finalizer"] } })),
    is: "Finalized/end",
  },
  "rule 14: it wins over an invalid spec": {
    k: known(dead({ spec: { sizeGb: -1 } })),
    is: "Deleting/confirm",
  },
  "rule 16: abandon releases at once, whatever the cloud says": {
    k: known(dead({ meta: { annotations: { [ANNOTATION.abandon]: UID } } })),
    v: { provider: undefined },
    is: "Deleting/release",
    cause: "abandon",
  },
  "rule 16: another UID abandons nothing": {
    k: known(dead({ meta: { annotations: { [ANNOTATION.abandon]: "yes" } } })),
    is: "Deleting/confirm",
  },
  "D4: a paused one waits and says so": {
    k: known(dead({ spec: { paused: true } })),
    is: "Deleting/idle",
    synced: "Paused",
  },
  "rule 6: the id of a create just answered is recorded first": {
    k: known(deleting(), { observation: seen(db({ state: "Provisioning" })) }),
    is: "Deleting/record",
  },
  "rule 15: never created: released at once": {
    k: known(deleting(), { bornHere: true }),
    v: { provider: undefined },
    is: "Deleting/release",
    cause: "neverCreated",
  },
  "rule 15: not after a create of unknown outcome": {
    k: known(deleting(), { bornHere: true, unknownSince: NOW - 1_000 }),
    is: "Deleting/lookup",
  },
  "rule 15: nor in another process than the one that saw it new": {
    k: known(deleting()),
    is: "Deleting/lookup",
  },
  "rule 15: nor after a create that exists": {
    k: known(deleting(), { bornHere: true, createExists: "AlreadyExists", unknownSince: NOW - 1 }),
    is: "Deleting/lookup",
  },
  "rule 15: it stays empty for the whole window": {
    k: known(deleting(), { bornHere: true, unknownSince: NOW - SETTLE + 1, lookup: lookup([], 10) }),
    is: "Deleting/wait",
    waitMs: 1,
  },
  "rule 15: and once more after it": {
    k: known(deleting(), { bornHere: true, unknownSince: NOW - SETTLE, lookup: lookup([], 10) }),
    is: "Deleting/lookup",
  },
  "rule 15: then it goes": {
    k: known(deleting(), { bornHere: true, unknownSince: NOW - SETTLE - 10, lookup: lookup([], 10) }),
    is: "Deleting/release",
    cause: "deleted",
  },
  "a provider without answer is waited for": {
    k: known(dead()),
    v: { provider: undefined },
    is: "Deleting/idle",
    synced: "ProviderUnavailable",
  },
  "A2: another account holds the deletion": {
    k: known(dead()),
    v: { provider: { ...TOKENLESS, account: "other" } },
    is: "Deleting/wait",
    synced: "Conflict",
  },
  "an available database is deleted": {
    k: known(dead({ status: removing }), { observation: seen() }),
    is: "Deleting/remove",
    id: "db-1",
  },
  "Q4: a busy one is waited for": {
    k: known(dead(), { observation: seen(db({ state: "Modifying" })) }),
    is: "Deleting/wait",
    synced: "Deleting",
    message: /modifying/,
  },
  "one that is deleted already is awaited": {
    k: known(dead(), { observation: seen(db({ state: "Deleting" }), 500), transitionalSince: NOW - 500 }),
    is: "Deleting/confirm",
  },
  "S3: a foreign one is not touched": {
    k: known(dead(), { observation: seen(db({ tags: tags({ [TAG.uid]: "someone" }) })) }),
    is: "Deleting/idle",
    synced: "Conflict",
    message: /abandon/,
  },
  "F3: but looked at again when a person asks": {
    k: known(dead(), { observation: seen(db({ tags: {} })), refreshSince: NOW }),
    is: "Deleting/confirm",
  },
  "rule 12: one that an earlier process may have asked for is no absence to be counted": {
    k: known(dead({ status: removing }), gone),
    v: { massAbsence: true },
    is: "Deleting/release",
  },
  "rule 12: what was absent among many is read again when that is over": {
    k: known(dead(), gone),
    v: { massAbsenceOverAt: NOW },
    is: "Deleting/confirm",
  },
  "an asked-for one that is gone is confirmed": {
    k: known(dead(), { removals: { "db-1": NOW - 600 } }),
    is: "Deleting/confirm",
  },
  "S4: not found by id and then by tag: released": {
    k: known(dead(), { ...gone, removals: { "db-1": NOW - 600 } }),
    is: "Deleting/release",
    cause: "deleted",
  },
  "S4: a lookup sent before the read by id decides nothing": {
    k: known(dead(), { observation: absent(100), lookup: lookup([], 101), removals: { "db-1": 1 } }),
    is: "Deleting/confirm",
  },
  "S1: whatever else carries the UID is deleted too": {
    k: known(dead(), {
      observation: absent(),
      lookup: lookup([db({ id: "db-2" })]),
      removals: { "db-1": NOW - 1 },
    }),
    is: "Deleting/remove",
    id: "db-2",
  },
  "D9: an absence that nobody asked for is success too": {
    k: known(dead(), gone),
    is: "Deleting/release",
    cause: "deleted",
  },
  "rule 12: not in a mass absence": {
    k: known(dead(), gone),
    v: { massAbsence: true },
    is: "Deleting/idle",
    synced: "MassAbsence",
  },
  "rule 12: unless we asked for it": {
    k: known(dead(), { ...gone, removals: { "db-1": NOW - 600 } }),
    v: { massAbsence: true },
    is: "Deleting/release",
  },
  "rule 12: or a person confirms": {
    k: known(dead({ meta: { annotations: { [ANNOTATION.confirmAbsence]: "yes" } } }), gone),
    v: { massAbsence: true },
    is: "Deleting/release",
  },
  "rule 12: not before a whole list was counted": {
    k: known(dead(), gone),
    v: { roundAt: NOW - 101 },
    is: "Deleting/wait",
  },
  "A2: nor before the account has said its name since": {
    k: known(dead(), gone),
    v: { accountAt: NOW - 101 },
    is: "Deleting/wait",
  },
  "rule 16: Retain marks the database": {
    k: known(dead({ spec: { deletionPolicy: "Retain" } }), { observation: seen() }),
    is: "Deleting/retain",
  },
  "rule 16: then releases": {
    k: known(dead({ spec: { deletionPolicy: "Retain" } }), { retained: true }),
    is: "Deleting/release",
    cause: "retain",
  },
  "rule 19: an adopted database is kept without a policy": {
    k: known(dead({ status: inStep({ adopted: true }) })),
    is: "Deleting/retain",
  },
  "rule 16: an unknown create is resolved first": {
    k: known(deleting({ spec: { deletionPolicy: "Retain" } }), { unknownSince: NOW - 1_000 }),
    is: "Deleting/lookup",
  },
  "rule 16: one that is found is marked": {
    k: known(deleting({ spec: { deletionPolicy: "Retain" } }), { lookup: lookup([db()]) }),
    is: "Deleting/retain",
  },
  "rule 16: nothing found past the window: released": {
    k: known(deleting({ spec: { deletionPolicy: "Retain" } }), { lookup: lookup([]) }),
    is: "Deleting/release",
    cause: "retain",
  },
  "rule 13: a CRD that is being deleted means Retain": {
    k: known(dead(), { observation: seen(), crdTerminating: true }),
    is: "Deleting/retain",
  },
  "rule 13: and releases as such": {
    k: known(dead(), { crdTerminating: true, retained: true }),
    is: "Deleting/release",
    cause: "crdDeleted",
  },
  "D5: a protected database says so": {
    k: known(dead({ status: removing }), {
      observation: seen(),
      failures: {
        remove: {
          effect: "remove",
          state: "Deleting",
          errorClass: "rejected",
          code: "DeletionProtected",
          message: "it is protected",
          attempt: 1,
          until: NOW + 1_000,
        },
      },
    }),
    is: "Deleting/backOff",
    synced: "DeletionProtected",
    ready: "False/DeletionProtected",
  },
});

Deno.test("rule 12: what is about to be removed is said first, so that a restart knows the absence that follows", () => {
  const failed = cr({ status: { providerId: "db-1", state: "Creating", observedGeneration: 1 } });
  for (
    const k of [
      known(dead(), { observation: seen() }),
      known(failed, { observation: seen(db({ state: "Failed" })) }),
    ]
  ) {
    const d = decide(k, view());
    assertEquals([d.step, d.removing, statusOf(k, d).removing], ["report", "db-1", "db-1"]);
    const said = { ...k, object: { ...k.object, status: statusOf(k, d) as typeof k.object.status } };
    assert(["remove", "discard"].includes(decide(said, view()).step));
  }
});

Deno.test("decide: a rest with news reports first, one without does not, and a failed report waits its time", () => {
  const k = known(withId(), { observation: seen() });
  assertEquals(decide(k, view()).step, "report"); // the old message says something else
  const failing = {
    ...k,
    failures: {
      report: {
        effect: "report" as const,
        state: "Available" as const,
        errorClass: "kubernetes",
        message: "500",
        attempt: 1,
        until: NOW + 700,
      },
    },
  };
  const waiting = decide(failing, view());
  assertEquals([waiting.state, waiting.step, waiting.waitMs], ["Available", "idle", 700]);
  assertEquals(decide(failing, view({ now: NOW + 700 })).step, "report");
});

Deno.test("decide: a status that the API server changed on its way in is written once, not for ever", () => {
  const k = known(withId(), { observation: seen() });
  const first = decide(k, view());
  assertEquals(first.step, "report");
  const text = JSON.stringify(statusOf(k, first));
  const written = { ...k, reported: { text, resourceVersion: "100" } };
  assertEquals(decide(written, view()).step, "idle");
  const touched = { ...written, object: withId({ meta: { resourceVersion: "101" } }) };
  assertEquals(decide(touched, view()).step, "report");
});
