/** Fleets and databases for the page's tests, in the types of the API. @module */
import type {
  AccountSummary,
  DatabaseDetail,
  FleetRow,
  FleetSummary,
  HistoryEntry,
  OrphanRow,
} from "../../src/server/api/types.ts";

/** The present of every sample. */
export const NOW = Date.UTC(2026, 10, 30, 9, 0, 0);

/** RFC 3339, so many seconds from {@linkcode NOW}. */
export function at(seconds: number, now = NOW): string {
  return new Date(now + seconds * 1_000).toISOString();
}

/** One row. */
export function sampleRow(change: Partial<FleetRow> = {}): FleetRow {
  return {
    namespace: "shop",
    name: "orders",
    uid: "5b0f3f0e-0000-4000-8000-000000000001",
    engine: "postgres",
    version: "14.2",
    sizeGb: 20,
    state: "Available",
    detail: "Available.idle",
    ready: "True",
    reason: "Available",
    synced: { status: "True", reason: "Available" },
    message: "The database is as the spec asks",
    endpoint: "orders.db.example:5432",
    providerId: "db-000001",
    createdAt: at(-86_400),
    nextTryAt: at(42),
    ...change,
  };
}

const NAMES = ["orders", "catalogue", "analytics", "payments", "sessions", "ledger", "search", "profiles"];
const SPACES = ["shop", "billing", "search", "platform", "data", "identity"];

type Kind = Pick<FleetRow, "state" | "detail" | "ready" | "reason" | "message" | "synced"> & {
  readonly attention?: boolean;
};
const KINDS: readonly (readonly [number, Kind])[] = [
  [100, kind("Creating.waiting", "False", "Creating", "The provider creates the database")],
  [140, kind("Drifted.modify", "True", "Available", "sizeGb is 20 and is being changed to 40", "Updating")],
  [160, kind("Pending.lookup", "Unknown", "Pending", "The database is looked for")],
  [178, kind("Deleting.confirm", "False", "Deleting", "The provider deletes the database")],
  [190, kind("Available.observe", "True", "Available", "The database is as the spec asks")],
  [194, {
    ...kind(
      "Deleting.waiting",
      "False",
      "DeletionProtected",
      "Deletion protection is on: lift it in the spec or at the provider",
    ),
    attention: true,
  }],
  [197, {
    ...kind(
      "Creating.backingOff",
      "False",
      "CreateFailed",
      'The provider refused the spec: engine "oracle" is not offered',
    ),
    attention: true,
  }],
  [199, {
    ...kind(
      "Drifted.waiting",
      "True",
      "Available",
      "The engine differs and cannot be changed: wanted postgres, observed mysql",
      "ImmutableFieldChanged",
    ),
    attention: true,
  }],
];

function kind(detail: string, ready: Kind["ready"], reason: string, message: string, synced?: string): Kind {
  const good = ready === "True" && synced === undefined;
  return {
    state: detail.split(".")[0] ?? "",
    detail,
    ready,
    reason,
    message,
    synced: { status: good ? "True" : "False", reason: synced ?? reason },
  };
}

/** A fleet of so many, the same at every call. */
export function sampleFleet(count: number, now = NOW): FleetRow[] {
  return Array.from({ length: count }, (_, index) => {
    const number = Math.floor(index * 2_654_435_761 % 4_294_967_296 / 65_536);
    const [, special] = KINDS.find(([from], at) => {
      const roll = number % 2_000;
      return roll >= from && roll < (KINDS[at + 1]?.[0] ?? 200);
    }) ?? [];
    return sampleRow({
      namespace: SPACES[number % SPACES.length] ?? "shop",
      name: `${NAMES[index % NAMES.length]}-${String(index).padStart(5, "0")}`,
      uid: `5b0f3f0e-0000-4000-8000-${String(index).padStart(12, "0")}`,
      engine: number % 3 === 0 ? "mysql" : "postgres",
      version: number % 3 === 0 ? "8.0" : number % 2 === 0 ? "16" : "14.2",
      sizeGb: 10 * (1 + number % 20),
      className: number % 4 === 0 ? "europe" : undefined,
      providerId: `db-${String(index).padStart(6, "0")}`,
      createdAt: at(-60 * (number % 40_000), now),
      nextTryAt: at(number % 60, now),
      ...special,
    });
  });
}

/** Two accounts, one of them throttled. */
function sampleAccounts(now = NOW): AccountSummary[] {
  return [
    {
      class: "",
      provider: "http",
      identity: "account-7",
      queue: { urgent: 0, create: 3, followUp: 1, poll: 12 },
      running: 6,
      concurrency: 64,
      ratePerSecond: 50,
      callsLastMinute: { list: 12, read: 340, create: 41, modify: 9, delete: 3 },
      failuresLastMinute: { throttled: 4, unavailable: 1 },
      lastListAt: at(-8, now),
    },
    {
      class: "europe",
      provider: "aws-rds",
      identity: "123456789012/eu-west-1",
      queue: { urgent: 2, create: 18, followUp: 7, poll: 44 },
      running: 0,
      concurrency: 16,
      ratePerSecond: 5,
      callsLastMinute: { list: 4, read: 96, create: 12 },
      failuresLastMinute: { throttled: 31 },
      pausedUntil: at(18, now),
      lastListAt: at(-31, now),
    },
  ];
}

/** The summary of `rows`. */
export function sampleSummary(
  rows: readonly FleetRow[],
  now = NOW,
  change: Partial<FleetSummary> = {},
): FleetSummary {
  const tally = (key: (row: FleetRow) => string | undefined) => {
    const counts: Record<string, number> = {};
    for (const row of rows) {
      const name = key(row);
      if (name !== undefined) counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  };
  return {
    at: at(0, now),
    phase: "leading",
    total: rows.length,
    states: tally((row) => row.state),
    reasons: tally((row) => row.reason),
    classes: tally((row) => row.className ?? ""),
    attention: tally((row) => row.attention ? row.reason : undefined),
    orphans: 1,
    accounts: sampleAccounts(now),
    configurations: tally((row) => row.detail),
    flow: [
      { from: "Pending.lookup", to: "Creating.create", total: 311, lastMinute: 4 },
      { from: "Creating.observe", to: "Available.idle", total: 309, lastMinute: 7 },
      { from: "Available.idle", to: "Drifted.modify", total: 128, lastMinute: 23 },
      { from: "Drifted.observe", to: "Available.idle", total: 121, lastMinute: 21 },
      { from: "Available.idle", to: "Deleting.remove", total: 44, lastMinute: 2 },
      { from: "Deleting.release", to: "Finalized", total: 40, lastMinute: 1 },
      { from: "Available.idle", to: "Available.observe", total: 10_400, lastMinute: 1_200 },
    ],
    ...change,
  };
}

/** One orphan. */
export const sampleOrphans: readonly OrphanRow[] = [{
  providerId: "db-9f31aa",
  namespace: "shop",
  name: "old-orders",
  uid: "0a4f9a6b-1111-4000-8000-000000000000",
  engine: "postgres",
  version: "13.4",
  sizeGb: 50,
  state: "Available",
  createdAt: at(-86_400 * 40),
}];

/** A history that creates a database, loses step with it and repairs it. */
export function sampleHistory(now = NOW): HistoryEntry[] {
  const base = {
    ready: "Available",
    synced: "Available",
    via: [] as string[],
    calls: [] as HistoryEntry["calls"],
  };
  const entries: Omit<HistoryEntry, "n">[] = [
    {
      ...base,
      at: at(-600, now),
      event: "object.changed",
      cause: "watch ADDED, resourceVersion 1041",
      from: "Pending.deciding",
      to: "Pending.finalize",
      durationMs: 1,
      generation: 1,
      ready: "Pending",
      synced: "Pending",
    },
    {
      ...base,
      at: at(-599.9, now),
      event: "finalize done",
      cause: "the finalizer was written",
      from: "Pending.finalize",
      via: ["Pending.deciding", "Creating.deciding"],
      to: "Creating.create",
      durationMs: 21,
      generation: 1,
      ready: "Creating",
      synced: "Creating",
      calls: [{
        to: "kubernetes",
        verb: "patch",
        outcome: "ok",
        detail: "added db.my.domain/finalizer",
        at: at(-599.95, now),
        durationMs: 18,
      }],
    },
    {
      ...base,
      at: at(-599.5, now),
      event: "create done",
      cause: "the provider accepted the create as db-000001",
      from: "Creating.create",
      via: ["Creating.deciding"],
      to: "Creating.record",
      durationMs: 402,
      generation: 1,
      ready: "Creating",
      synced: "Creating",
      calls: [{
        to: "cloud",
        verb: "create",
        outcome: "ok",
        detail: "db-000001, token 5b0f3f0e-1",
        at: at(-599.8, now),
        durationMs: 388,
      }],
    },
    {
      ...base,
      at: at(-420, now),
      event: "external.listed",
      cause: "the list of 08:53:00 shows it Available",
      from: "Creating.waiting",
      via: ["Creating.deciding", "Available.deciding"],
      to: "Available.idle",
      durationMs: 179_400,
      generation: 1,
    },
    {
      ...base,
      at: at(-120, now),
      event: "external.listed",
      cause: "the list of 08:58:00 shows it unchanged",
      from: "Available.idle",
      to: "Available.idle",
      durationMs: 30_000,
      generation: 1,
      repeated: 9,
    },
    {
      ...base,
      at: at(-62, now),
      event: "external.listed",
      cause: "the list of 08:58:58 shows sizeGb 10, wanted 20",
      from: "Available.idle",
      via: ["Available.deciding", "Drifted.deciding"],
      to: "Drifted.modify",
      durationMs: 58_000,
      generation: 2,
      synced: "Updating",
    },
    {
      ...base,
      at: at(-61.4, now),
      event: "modify failed",
      cause: "the provider is throttling; tried again after 0.6 s",
      from: "Drifted.modify",
      via: ["Drifted.deciding"],
      to: "Drifted.backingOff",
      durationMs: 230,
      generation: 2,
      synced: "Throttled",
      calls: [{
        to: "cloud",
        verb: "modify",
        outcome: "throttled",
        detail: "Rate exceeded",
        at: at(-61.6, now),
        durationMs: 210,
      }],
    },
    {
      ...base,
      at: at(-60, now),
      event: "modify done",
      cause: "the provider accepted the change",
      from: "Drifted.modify",
      via: ["Drifted.deciding"],
      to: "Drifted.observe",
      durationMs: 310,
      generation: 2,
      synced: "Updating",
      calls: [
        { to: "cloud", verb: "read", outcome: "ok", at: at(-60.4, now), durationMs: 90 },
        {
          to: "cloud",
          verb: "modify",
          outcome: "ok",
          detail: "sizeGb 10 → 20",
          at: at(-60.3, now),
          durationMs: 205,
        },
      ],
    },
    {
      ...base,
      at: at(-58, now),
      event: "observe done",
      cause: "the read shows it as the spec asks",
      from: "Drifted.observe",
      via: ["Drifted.deciding", "Available.deciding"],
      to: "Available.idle",
      durationMs: 1_900,
      generation: 2,
      calls: [{ to: "cloud", verb: "read", outcome: "ok", at: at(-58.2, now), durationMs: 88 }],
    },
  ];
  return entries.map((entry, index) => ({ n: index + 1, ...entry }));
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
