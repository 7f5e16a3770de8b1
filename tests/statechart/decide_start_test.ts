/**
 * The operator's mind by table: before anything else.
 *
 * @module
 */
import { TAG } from "../../src/api/constants.ts";
import { condition, cr, db, inStep, known, seen, tags, TOKENLESS } from "./support.ts";

import { table } from "./decide_table.ts";

const fresh = cr({ meta: { finalizers: [] } });
const withId = (more: Parameters<typeof cr>[0] = {}) => cr({ status: inStep(), ...more });
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
  "S6: one whose status was wiped is not called ready by another's database that it named before (seed 6826)":
    {
      k: known(cr({ spec: { paused: true }, status: { conditions: [condition("Ready")] } }), {
        observation: seen(db({ tags: tags({ [TAG.uid]: "someone" }) })),
      }),
      is: "Pending/idle",
      synced: "Paused",
      ready: "False/Paused",
    },
  "a provider that has not answered yet is waited for": {
    k: known(cr()),
    v: { provider: undefined, providerError: "the connection was refused" },
    is: "Pending/idle",
    synced: "ProviderUnavailable",
    message: /the connection was refused/,
  },
  "F2: one that refuses the credentials is told apart": {
    k: known(cr()),
    v: { provider: undefined, providerError: "401", providerErrorClass: "unauthorised" },
    is: "Pending/idle",
    synced: "Unauthorised",
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
  "A2, S6: one whose id a person took out of the status is not called ready for ever": {
    k: known(cr({ status: { ...inStep(), providerId: undefined, incarnation: 2 } })),
    v: { provider: { ...TOKENLESS, account: "other" } },
    is: "Pending/wait",
    synced: "Conflict",
    ready: "False/Conflict",
  },
  "A2: another account in the middle of a drift keeps the state": {
    k: known(withId({ status: inStep({ state: "Drifted" }) })),
    v: { provider: { ...TOKENLESS, account: "other" } },
    is: "Drifted/wait",
    synced: "Conflict",
  },
});
