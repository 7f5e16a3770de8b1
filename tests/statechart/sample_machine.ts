/**
 * A machine of the operator's shape for the drawing tests: nested states, invoked actors, guards, named and fixed
 * delays, `always`, transitions of the machine itself, and one that only acts.
 *
 * @module
 */
import { and, assign, fromPromise, not, setup } from "xstate";

const effect = fromPromise(() => Promise.resolve(1));

/** Never run in the tests, only drawn. */
export const sampleMachine = setup({
  types: {
    context: {} as { tries: number },
    events: {} as { type: "SEEN" | "DELETE" | "POLL" | "REFRESH" | "PAUSE" },
  },
  actors: {
    finalize: effect,
    lookup: effect,
    create: effect,
    record: effect,
    observe: effect,
    modify: effect,
    remove: effect,
    release: effect,
    report: effect,
  },
  guards: {
    exists: () => true,
    isNew: () => true,
    settled: () => true,
    ready: () => true,
    drifted: () => true,
    repairable: () => true,
    gone: () => true,
    retains: () => true,
    paused: () => true,
  },
  delays: { backoff: 1, poll: 1, settle: 1 },
  actions: { count: assign({ tries: ({ context }) => context.tries + 1 }), reset: assign({ tries: 0 }) },
}).createMachine({
  id: "externalDatabase",
  description: "One external database, kept in step with one resource.",
  context: { tries: 0 },
  initial: "Pending",
  on: { DELETE: { target: ".Deleting", guard: not("paused") }, SEEN: { actions: "reset" } },
  states: {
    Pending: {
      description: "Validated, finalizer written, looked up",
      initial: "finalizing",
      states: {
        finalizing: {
          invoke: {
            src: "finalize",
            onDone: [{ target: "#externalDatabase.Creating.sending", guard: "isNew" }, { target: "looking" }],
            onError: { target: "waiting", actions: "count" },
          },
        },
        looking: {
          invoke: {
            src: "lookup",
            onDone: [
              { target: "#externalDatabase.Available", guard: and(["exists", "ready"]) },
              { target: "#externalDatabase.Creating", guard: "exists" },
              { target: "#externalDatabase.Creating.sending", guard: "settled" },
              { target: "settling" },
            ],
            onError: { target: "waiting", actions: "count" },
          },
        },
        settling: { after: { settle: "looking" } },
        waiting: { after: { backoff: "finalizing" }, on: { REFRESH: "finalizing" } },
      },
    },
    Creating: {
      description: "Create sent or found, awaited",
      initial: "recording",
      states: {
        sending: {
          invoke: { src: "create", onDone: "recording", onError: "#externalDatabase.Pending.looking" },
        },
        recording: { invoke: { src: "record", onDone: "watching", onError: "recording" } },
        watching: {
          invoke: {
            src: "observe",
            onDone: [{ target: "#externalDatabase.Available", guard: "ready" }, { target: "resting" }],
            onError: "resting",
          },
        },
        resting: { after: { backoff: "watching" } },
      },
    },
    Available: {
      description: "In step",
      initial: "reporting",
      states: {
        reporting: { invoke: { src: "report", onDone: "idle", onError: "idle" } },
        idle: {
          always: { target: "#externalDatabase.Drifted", guard: "drifted" },
          after: { poll: "looking" },
          on: { POLL: "looking", REFRESH: "looking" },
        },
        looking: { invoke: { src: "observe", onDone: "idle", onError: "idle" } },
      },
    },
    Drifted: {
      description: "Differs: repair planned, sent, awaited",
      initial: "deciding",
      states: {
        deciding: { always: [{ target: "repairing", guard: "repairable" }, { target: "reported" }] },
        repairing: { invoke: { src: "modify", onDone: "awaiting", onError: "backingOff" } },
        awaiting: {
          after: { 5000: "checking" },
        },
        checking: {
          invoke: {
            src: "observe",
            onDone: [{ target: "#externalDatabase.Available", guard: not("drifted") }, {
              target: "deciding",
            }],
            onError: "awaiting",
          },
        },
        reported: { on: { REFRESH: "checking", POLL: "checking" } },
        backingOff: { after: { backoff: "deciding" } },
      },
    },
    Deleting: {
      description: "Deletion policy carried out, absence awaited",
      initial: "removing",
      states: {
        removing: {
          always: { target: "releasing", guard: "retains" },
          invoke: { src: "remove", onDone: "absence", onError: "backingOff" },
        },
        absence: {
          invoke: {
            src: "lookup",
            onDone: [{ target: "releasing", guard: "gone" }, { target: "backingOff" }],
            onError: "backingOff",
          },
        },
        backingOff: { after: { backoff: "removing" } },
        releasing: {
          invoke: { src: "release", onDone: "#externalDatabase.Finalized", onError: "backingOff" },
        },
      },
    },
    Finalized: { type: "final", description: "Finalizer removed" },
  },
});
