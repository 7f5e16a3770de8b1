/**
 * The operator's mind by table: drift (R2 to R8).
 *
 * @module
 */
import { ANNOTATION } from "../../src/api/constants.ts";
import { cr, db, inStep, known, NOW, seen, WALL } from "./support.ts";

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
  "S6: a state that nobody knows is not called ready, whatever the spec asks": {
    k: known(withId(grown), {
      observation: seen(db({ state: "Modifying", providerState: "Stopped", unknownState: true })),
    }),
    is: "Drifted/wait",
    synced: "Unreadable",
    ready: "Unknown/Unreadable",
    message: /"db-1" is "Stopped"/,
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
