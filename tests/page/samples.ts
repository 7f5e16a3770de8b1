/** Fleets for the page's tests, in the types of the API. @module */
import { tally } from "../../src/page/fleet/query.ts";
import type { AccountSummary, FleetRow, FleetSummary, OrphanRow } from "../../src/server/api/types.ts";
import { topOf } from "../../src/statechart/path.ts";

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
    state: topOf(detail),
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
  const counted = (rows: readonly FleetRow[], key: (row: FleetRow) => string) =>
    Object.fromEntries(tally(rows, key));
  return {
    at: at(0, now),
    phase: "leading",
    total: rows.length,
    states: counted(rows, (row) => row.state),
    reasons: counted(rows, (row) => row.reason),
    classes: counted(rows, (row) => row.className ?? ""),
    attention: counted(rows.filter((row) => row.attention), (row) => row.reason),
    orphans: 1,
    accounts: sampleAccounts(now),
    configurations: counted(rows, (row) => row.detail ?? row.state),
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
