/** A CR whose database is being removed, for the tests of effects. @module */
import { type CrChange, deleting, inStep, known, seen } from "../statechart/support.ts";

/** The CR as it is read again: its removal was said in the status. */
export const last = (change: CrChange = {}) =>
  deleting({
    status: inStep({ removing: "db-1" }),
    ...change,
    meta: { resourceVersion: "101", ...change.meta },
  });

/** What its actor knows. */
export const doomed = known(deleting({ status: inStep({ removing: "db-1" }) }), { observation: seen() });
