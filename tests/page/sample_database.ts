/** One database and its history for the page's tests, in the types of the API. @module */
import type { CallRecord, DatabaseDetail, FleetRow, HistoryEntry } from "../../src/server/api/types.ts";
import { at, NOW, sampleRow } from "./samples.ts";

/** A history that creates a database, loses step with it and repairs it. */
export function sampleHistory(now = NOW): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  /** Adds a step of so many seconds from now, by what brought it, the states that it led through, and what is special. */
  const step = (
    seconds: number,
    event: string,
    cause: string,
    [from, ...way]: readonly [string, ...string[]],
    durationMs: number,
    change: Partial<HistoryEntry> = {},
  ) =>
    entries.push({
      n: entries.length + 1,
      at: at(seconds, now),
      event,
      cause,
      from,
      via: way.slice(0, -1),
      to: way.at(-1) ?? from,
      durationMs,
      generation: 1,
      ready: "Available",
      synced: "Available",
      calls: [],
      ...change,
    });
  const call = (
    to: CallRecord["to"],
    verb: string,
    outcome: string,
    seconds: number,
    durationMs: number,
    detail?: string,
  ): CallRecord => ({ to, verb, outcome, at: at(seconds, now), durationMs, ...(detail ? { detail } : {}) });
  const creating = { ready: "Creating", synced: "Creating" };

  step(
    -600,
    "object.changed",
    "watch ADDED, resourceVersion 1041",
    ["Pending.deciding", "Pending.finalize"],
    1,
    { ready: "Pending", synced: "Pending" },
  );
  step(
    -599.9,
    "finalize done",
    "the finalizer was written",
    ["Pending.finalize", "Pending.deciding", "Creating.deciding", "Creating.create"],
    21,
    { ...creating, calls: [call("kubernetes", "patch", "ok", -599.95, 18, "added db.my.domain/finalizer")] },
  );
  step(
    -599.5,
    "create done",
    "the provider accepted the create as db-000001",
    ["Creating.create", "Creating.deciding", "Creating.record"],
    402,
    { ...creating, calls: [call("cloud", "create", "ok", -599.8, 388, "db-000001, token 5b0f3f0e-1")] },
  );
  step(
    -420,
    "external.listed",
    "the list of 08:53:00 shows it Available",
    ["Creating.waiting", "Creating.deciding", "Available.deciding", "Available.idle"],
    179_400,
  );
  step(
    -120,
    "external.listed",
    "the list of 08:58:00 shows it unchanged",
    ["Available.idle", "Available.idle"],
    30_000,
    { repeated: 9 },
  );
  step(
    -62,
    "external.listed",
    "the list of 08:58:58 shows sizeGb 10, wanted 20",
    ["Available.idle", "Available.deciding", "Drifted.deciding", "Drifted.modify"],
    58_000,
    { generation: 2, synced: "Updating" },
  );
  step(
    -61.4,
    "modify failed",
    "the provider is throttling; tried again after 0.6 s",
    ["Drifted.modify", "Drifted.deciding", "Drifted.backingOff"],
    230,
    {
      generation: 2,
      synced: "Throttled",
      calls: [call("cloud", "modify", "throttled", -61.6, 210, "Rate exceeded")],
    },
  );
  step(
    -60,
    "modify done",
    "the provider accepted the change",
    ["Drifted.modify", "Drifted.deciding", "Drifted.observe"],
    310,
    {
      generation: 2,
      synced: "Updating",
      calls: [
        call("cloud", "read", "ok", -60.4, 90),
        call("cloud", "modify", "ok", -60.3, 205, "sizeGb 10 → 20"),
      ],
    },
  );
  step(
    -58,
    "observe done",
    "the read shows it as the spec asks",
    ["Drifted.observe", "Drifted.deciding", "Available.deciding", "Available.idle"],
    1_900,
    { generation: 2, calls: [call("cloud", "read", "ok", -58.2, 88)] },
  );
  return entries;
}

/** One database, whole. */
export function sampleDetail(
  row: FleetRow = sampleRow(),
  now = NOW,
  change: Partial<DatabaseDetail> = {},
): DatabaseDetail {
  return {
    row,
    configuration: [row.state, row.detail ?? row.state],
    asleep: false,
    fields: [
      { field: "engine", wanted: row.engine, observed: row.engine, verdict: "same" },
      { field: "version", wanted: row.version, observed: row.version, verdict: "same" },
      { field: "sizeGb", wanted: "40", observed: String(row.sizeGb), verdict: "differs" },
      { field: "deletionProtection", wanted: "true", verdict: "unknown" },
    ],
    conditions: [
      {
        type: "Ready",
        status: row.ready,
        reason: row.reason,
        message: row.message,
        since: at(-420, now),
        unwritten: false,
      },
      {
        type: "Synced",
        status: "False",
        reason: "Updating",
        message: "sizeGb is 20 and is being changed to 40",
        since: at(-4, now),
        unwritten: true,
      },
    ],
    generation: 3,
    observedGeneration: 2,
    policies: {
      deletionPolicy: "Delete",
      driftPolicy: "Repair",
      onMissing: "Recreate",
      managementPolicy: "Full",
    },
    nextTryAt: at(42, now),
    failures: [{
      effect: "modify",
      errorClass: "throttled",
      message: "Rate exceeded",
      attempts: 2,
      tryAt: at(7, now),
    }],
    cache: { kind: "present", readAt: at(-9, now) },
    history: {
      namespace: row.namespace,
      name: row.name,
      uid: row.uid,
      dropped: 0,
      entries: sampleHistory(now),
    },
    ...change,
  };
}
