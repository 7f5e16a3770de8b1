/**
 * The operator's mind by table: deletion (rules 12 to 16).
 *
 * @module
 */
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import type { ExternalState } from "../../src/statechart/knowledge.ts";
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
} from "./support.ts";

import { table } from "./decide_table.ts";

const lookup = (found: readonly ExternalState[], ageMs = 50) => ({ sentAt: NOW - ageMs, found });
const gone = { observation: absent(), lookup: lookup([]) };

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
  "K4: a paused one is not called ready before its connection Secret is in order (seeds 794, 930)": {
    k: known(
      dead({
        spec: { paused: true, connectionSecretRef: {} },
        status: inStep({ conditions: [condition("Ready", "False", "SecretPending"), condition("Synced")] }),
      }),
      { observation: seen() },
    ),
    v: { provider: { ...view().provider!, passwords: "always" } },
    is: "Deleting/idle",
    ready: "False/SecretPending",
    synced: "Paused",
  },
  "rule 6: the id of a create just answered is recorded first": {
    k: known(deleting(), { observation: seen(db({ state: "Provisioning" })) }),
    is: "Deleting/record",
  },
  "S3: what an old lookup found for it is looked up anew: another may have adopted it since": {
    k: known(deleting({ spec: { providerId: "db-1" } }), { lookup: lookup([db()], 31_000) }),
    is: "Deleting/lookup",
  },
  "rule 19: what was found just now is recorded": {
    k: known(deleting({ spec: { providerId: "db-1" } }), { lookup: lookup([db()], 29_000) }),
    is: "Deleting/record",
    id: "db-1",
  },
  "S3: so is what stands in for a database of another": {
    k: known(dead(), {
      observation: seen(db({ tags: tags({ [TAG.uid]: "someone" }) }), 32_000),
      lookup: lookup([db({ id: "db-2" })], 31_000),
    }),
    is: "Deleting/lookup",
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
  "rule 12: a mass absence that is over says nothing of a CR that never named a database": {
    k: known(deleting(), { bornHere: true, unknownSince: NOW - SETTLE - 10, lookup: lookup([], 10) }),
    v: { massAbsenceOverAt: NOW },
    is: "Deleting/release",
    cause: "deleted",
  },
  "A2: without an id the lookup is what the account said, and counts from when it did": {
    k: known(deleting(), { lookup: lookup([], 10), account: "acct", mayExist: true }),
    v: { accountSince: NOW - 1_000 },
    is: "Deleting/release",
    cause: "deleted",
  },
  "A2: a lookup from before the account changed is made again": {
    k: known(deleting(), { lookup: lookup([], 10), account: "acct", mayExist: true }),
    v: { accountSince: NOW - 9 },
    is: "Deleting/lookup",
  },
  "rule 12: what was asked for and never read here is awaited": {
    k: known(dead(), { removals: { "db-1": NOW - 100 } }),
    is: "Deleting/wait",
    waitMs: 400,
  },
  "rule 12: a mass absence that is over says nothing of a removal that we asked for": {
    k: known(dead(), { ...gone, removals: { "db-1": NOW - 60_000 } }),
    v: { massAbsenceOverAt: NOW },
    is: "Deleting/release",
    cause: "deleted",
  },
  "rule 12: what was absent among many is confirmed anew once that is over": {
    k: known(dead(), gone),
    v: { massAbsenceOverAt: NOW },
    is: "Deleting/confirm",
  },
  "F3: another's database that a list misses, or a person asks about, is read before all else": {
    k: known(dead(), {
      observation: seen(db({ tags: tags({ [TAG.uid]: "another" }) })),
      unlistedAt: NOW,
    }),
    is: "Deleting/confirm",
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
    message: /account "other", the database to "acct"; put the credentials of that one back$/,
  },
  "an available database is deleted": {
    k: known(dead({ status: removing }), { observation: seen() }),
    is: "Deleting/remove",
    id: "db-1",
  },
  "rule 10: what a list misses is read before its deletion is sent": {
    k: known(dead({ status: removing }), { observation: seen(), unlistedAt: NOW }),
    is: "Deleting/confirm",
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
    k: known(dead(), {
      observation: seen(db({ tags: tags({ [TAG.uid]: "someone" }) })),
      lookup: { sentAt: NOW, found: [] },
    }),
    is: "Deleting/wait",
    synced: "Conflict",
    message: /abandon/,
  },
  "S2: beside a foreign one its own is looked for": {
    k: known(dead(), { observation: seen(db({ tags: tags({ [TAG.uid]: "someone" }) })) }),
    is: "Deleting/lookup",
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
  "S2: but not within the settle window of a create that was answered: the read may not know of it yet": {
    k: known(dead(), { ...gone, bornHere: true, mutatedAt: NOW - 1_000 }),
    is: "Deleting/wait",
    synced: "Deleting",
  },
  "S2: once that is over it is": {
    k: known(dead(), { ...gone, bornHere: true, mutatedAt: NOW - SETTLE - 50 }),
    is: "Deleting/release",
  },
  "L2: what was deleted by us is not waited for like that": {
    k: known(dead(), {
      ...gone,
      ...{ bornHere: true, mutatedAt: NOW - 600, removals: { "db-1": NOW - 600 } },
    }),
    is: "Deleting/release",
  },
  "S4: but where no id is recorded any more lists may not show yet what is going (seed 25372)": {
    k: known(deleting(), {
      ...{ lookup: lookup([]), bornHere: true, mayExist: true },
      ...{ unseenRemovedAt: NOW - 600, removals: { "db-1": NOW - 600 } },
    }),
    is: "Deleting/wait",
  },
  "L2: what they have shown before it went is not waited for like that": {
    k: known(deleting(), {
      ...{ lookup: lookup([]), bornHere: true, mayExist: true },
      ...{ mutatedAt: NOW - 600, removals: { "db-1": NOW - 600 } },
    }),
    is: "Deleting/release",
  },
  "S4: once they would it is over": {
    k: known(deleting(), {
      ...{ lookup: lookup([]), bornHere: true, mayExist: true },
      ...{ unseenRemovedAt: NOW - SETTLE - 50, removals: { "db-1": NOW - SETTLE - 50 } },
    }),
    is: "Deleting/release",
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
