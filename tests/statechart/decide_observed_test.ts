/**
 * The operator's mind by table: a recorded database that is there.
 *
 * @module
 */
import { TAG } from "../../src/api/constants.ts";
import { condition, cr, db, inStep, known, NOW, seen, tags } from "./support.ts";

import { table } from "./decide_table.ts";

const withId = (more: Parameters<typeof cr>[0] = {}) => cr({ status: inStep(), ...more });
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

table("observed", {
  "observedGeneration: what was said of an older spec is read anew before it is said of this one (seed 65763)":
    {
      k: known(withId({ meta: { generation: 2 }, status: inStep({ observedGeneration: 2 }) })),
      is: "Available/observe",
    },
  "nor is anything read at a start where it was said of this one": {
    k: known(withId({ meta: { generation: 1 } })),
    is: "Available/idle",
  },
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
  "after a restart what a list missed is read at once": {
    k: known(withId(), { unlistedAt: NOW }),
    is: "Available/observe",
  },
  "rule 11: a poll interval of its own is waited for, where that is sooner": {
    k: known(withId({ spec: { pollInterval: "1m" } }), { observation: seen(), lastReadAt: NOW - 10_000 }),
    is: "Available/idle",
    waitMs: 50_000,
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
  "S6, rule 11: nor once the read for it failed and its generation was told (seed 12742)": {
    k: known(
      withId({ meta: { generation: 2 }, spec: { sizeGb: 20 }, status: inStep({ observedGeneration: 2 }) }),
      { observation: seen(db(), 300_001), failures: failed("observe", "retryable") },
    ),
    is: "Available/backOff",
    synced: "ProviderUnavailable",
  },
  "rule 11: a read that failed before what was last seen is no reason for another": {
    k: known(withId(), {
      observation: seen(db(), 300_001),
      failures: failed("observe", "retryable", -300_002),
    }),
    is: "Available/idle",
    synced: "Available",
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
    k: known(withId({ spec: { sizeGb: 50 } }), {
      observation: seen(db({ tags: {} })),
      lookup: { sentAt: NOW, found: [] },
    }),
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
