/**
 * The operator's mind by table: a database that is not there (R7, rule 12).
 *
 * @module
 */
import { ANNOTATION } from "../../src/api/constants.ts";
import type { ExternalState } from "../../src/statechart/knowledge.ts";
import { absent, cr, db, inStep, known, NOW, SETTLE } from "./support.ts";

import { table } from "./decide_table.ts";

const withId = (more: Parameters<typeof cr>[0] = {}) => cr({ status: inStep(), ...more });
const lookup = (found: readonly ExternalState[], ageMs = 50) => ({ sentAt: NOW - ageMs, found });

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
  "rule 7: the second in a row waits a minute": {
    k: known(withId({ status: inStep({ losses: 1, lastLossTime: "2025-12-31T23:59:30Z" }) }), gone),
    is: "Drifted/wait",
    synced: "ExternalMissing",
  },
  "rule 7: and comes after that": {
    k: known(withId({ status: inStep({ losses: 1, lastLossTime: "2025-12-31T23:59:00Z" }) }), gone),
    is: "Drifted/reincarnate",
  },
  "rule 7: the wait grows with their number": {
    k: known(withId({ status: inStep({ losses: 4, lastLossTime: "2025-12-31T23:53:00Z" }) }), gone),
    is: "Drifted/wait",
  },
  "rule 7: to a quarter of an hour": {
    k: known(withId({ status: inStep({ losses: 90, lastLossTime: "2025-12-31T23:45:00Z" }) }), gone),
    is: "Drifted/reincarnate",
  },
  "rule 7: a row ends after hours": {
    k: known(withId({ status: inStep({ losses: 90, lastLossTime: "2025-12-31T19:00:00Z" }) }), gone),
    is: "Drifted/reincarnate",
  },
  "rule 7: a loss that is a little to come is waited for": {
    k: known(withId({ status: inStep({ losses: 1, lastLossTime: "2026-01-01T00:00:30Z" }) }), gone),
    is: "Drifted/wait",
  },
  "rule 7: one that a wrong clock put far ahead is not (seed 3161)": {
    k: known(withId({ status: inStep({ losses: 1, lastLossTime: "2026-01-01T00:55:00Z" }) }), gone),
    is: "Drifted/reincarnate",
  },
  "rule 7: a person who edits the spec need not wait": {
    k: known(
      withId({ status: inStep({ losses: 9, lastLossTime: "2025-12-31T23:59:59Z", observedGeneration: 0 }) }),
      gone,
    ),
    is: "Drifted/reincarnate",
  },
  "rule 7: an incarnation at its limit is said, not tried": {
    k: known(withId({ status: inStep({ incarnation: 2_147_483_647 }) }), gone),
    is: "Drifted/idle",
    synced: "ProvisioningFailed",
  },
  "R7: not within the settle window": {
    k: known(withId(), gone),
    v: { settleSince: NOW - 1_000 },
    is: "Drifted/wait",
    synced: "ExternalMissing",
    ready: "False/ExternalMissing",
    waitMs: 1_900, // two seconds after the last look, which was made 100 ms ago
  },
  "R7: not within the settle window of a create or change that was answered: the read may not know of it yet":
    {
      k: known(withId(), { ...gone, bornHere: true, mutatedAt: NOW - 1_000 }),
      is: "Drifted/wait",
      synced: "ExternalMissing",
      waitMs: 1_900,
    },
  "S1, R7: nor within that of another's removal: the id was edited away, and what it named may still be there (tokenless seed 32792)":
    {
      k: known(withId(), {
        ...gone,
        lookup: lookup([db({ id: "db-0", state: "Failed" })]),
        removals: { "db-0": NOW - 1_000 },
      }),
      is: "Drifted/wait",
      synced: "ExternalMissing",
      waitMs: 1_900,
    },
  "R7: once that is over a new incarnation begins": {
    k: known(withId(), { ...gone, bornHere: true, mutatedAt: NOW - SETTLE - 50 }),
    is: "Drifted/reincarnate",
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
  "L1: not where only the read's turn and the lookup's lay so far apart, at a slow cloud (seed 10041)": {
    k: known(withId(), { observation: absent(90_000), lookup: lookup([], 2_000) }),
    is: "Drifted/reincarnate",
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
  "S3: not by an old lookup: another may have adopted it since (tokenless seed 83336)": {
    k: known(withId(), { observation: absent(62_000), lookup: lookup([db({ id: "db-7" })], 61_000) }),
    is: "Drifted/confirm",
  },
  "L1: by one that is as old as the account's last word, which comes once a minute (tokenless seed 32588)": {
    k: known(withId(), { observation: absent(32_000), lookup: lookup([db({ id: "db-7" })], 31_000) }),
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
  "rule 7: nobody is told to restore what we removed ourselves, while its end waits for the account's word": {
    k: known(withId({ spec: { onMissing: "Report" } }), {
      observation: absent(),
      removals: { "db-1": NOW - 500 },
    }),
    v: { accountAt: NOW - 101 },
    is: "Creating/wait",
    synced: "ExternalMissing",
    message: /is gone, as it had failed and was removed; another is created$/,
  },
});
