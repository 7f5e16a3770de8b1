/**
 * The operator's mind by table: creation (rules 3 to 7, 18).
 *
 * @module
 */
import { TAG } from "../../src/api/constants.ts";
import type { ExternalState } from "../../src/statechart/knowledge.ts";
import { cr, db, known, NOW, seen, SETTLE, tags, TOKENLESS } from "./support.ts";

import { table } from "./decide_table.ts";

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
  "S1: of two the oldest, where the provider leaves fractions out that are zero": {
    k: known(cr(), {
      lookup: lookup([
        db({ id: "db-2", createdAt: "2026-01-01T00:00:00.25Z" }),
        db({ id: "db-3", createdAt: "2026-01-01T00:00:00Z" }),
      ]),
    }),
    is: "Creating/record",
    id: "db-3",
  },
  "S1: of two the oldest, where the provider tells times of several zones": {
    k: known(cr(), {
      lookup: lookup([
        db({ id: "db-2", createdAt: "2026-01-01T00:30:00Z" }),
        db({ id: "db-3", createdAt: "2026-01-01T02:00:00+02:00" }),
      ]),
    }),
    is: "Creating/record",
    id: "db-3",
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
