/**
 * The simulated cloud's knobs.
 *
 * @module
 */

/** Every knob. All may be changed while the cloud runs; all are plain JSON. Times are in milliseconds, chances in 0–1. */
export interface CloudSettings {
  /** Identity of the account that calls are made under. Another name is another, at first empty, account (A2). */
  account: string;
  /** Whether `GET /v1` is known; `false` answers 404. */
  describesItself: boolean;
  /** Whether client tokens are honoured. */
  clientTokens: boolean;
  /** How long a token is remembered after its last use; 0 is for ever. Never less than the effect bound (cloud-api.md). */
  tokenMemoryMs: number;
  /** Upper bound of the time for which a new database is missing from lists. */
  readLagMs: number;
  /** The longest time after sending in which a call may still take effect. */
  effectBoundMs: number;
  /** Time from sending a call to its answer; the effect is half-way. */
  latencyMs: number;
  provisionMs: number;
  modifyMs: number;
  deleteMs: number;
  /** Spread of all the times above, as a fraction. */
  jitter: number;
  /** Calls a second before 429; 0 is no limit. */
  ratePerSecond: number;
  /** Calls that may come at once before the rate counts. */
  burst: number;
  /** Chance that a call takes effect and its answer is lost. */
  loseAnswers: number;
  /** Chance that a call fails with 503 before its effect. */
  failBefore: number;
  /** Chance that a call fails with 500 after its effect. */
  failAfter: number;
  /** Chance that a mutating call's answer is lost and its effect comes late, within the effect bound. */
  lateEffects: number;
  /** Chance that provisioning ends in `Failed`. */
  provisionFailures: number;
  /** The storage grows once by itself (20 → 35) this long after the first `Available`; 0 is never (R2). */
  autogrowAfterMs: number;
  /** The minor version rises once by itself this long after the first `Available`; 0 is never (R3). */
  minorUpgradeAfterMs: number;
  /** How the engine's name is reported (R6). */
  engineCase: "as-is" | "lower" | "upper" | "title";
  /** A version without a minor part is reported with this one (`14` → `14.2`); `null` leaves it. */
  minorVersion: number | null;
  /** Engines and the version prefixes they come in; `null` takes any. */
  engines: Record<string, string[]> | null;
  /** What `GET /v1` says of passwords; they are taken all the same. */
  passwords: "always" | "asked" | "never";
  /** Whether final snapshots can be taken; `false` refuses a delete that wants one. */
  snapshots: boolean;
  /** Chance that a delete fails with `SnapshotFailed` where it wants a snapshot that is not there yet (D7). */
  snapshotFailures: number;
  /** Deletion protection can be set by a create and by a change, and is shown; else it is the console's alone (D5). */
  protectable: boolean;
  /** New databases have deletion protection (D5). */
  deletionProtection: boolean;
  /** Changes of these fields are accepted and never happen (R6). */
  stubborn: ("sizeGb" | "version")[];
  /** Databases show an accepted change as `pending` (R4). */
  showPending: boolean;
  /** Page tokens are offsets, so that pages shift when a database goes (rule 10). */
  shiftingPages: boolean;
}

/** What a cloud is like that nobody configured: fast, honest, with client tokens and a little read lag. */
export const DEFAULT_SETTINGS: Readonly<CloudSettings> = {
  account: "simulated",
  describesItself: true,
  clientTokens: true,
  tokenMemoryMs: 0,
  readLagMs: 1_000,
  effectBoundMs: 10_000,
  latencyMs: 20,
  provisionMs: 5_000,
  modifyMs: 2_000,
  deleteMs: 2_000,
  jitter: 0.1,
  ratePerSecond: 0,
  burst: 10,
  loseAnswers: 0,
  failBefore: 0,
  failAfter: 0,
  lateEffects: 0,
  provisionFailures: 0,
  autogrowAfterMs: 0,
  minorUpgradeAfterMs: 0,
  engineCase: "as-is",
  minorVersion: null,
  engines: null,
  passwords: "asked",
  snapshots: true,
  snapshotFailures: 0,
  protectable: false,
  deletionProtection: false,
  stubborn: [],
  showPending: false,
  shiftingPages: false,
};

const CHANCES: ReadonlySet<string> = new Set([
  "loseAnswers",
  "failBefore",
  "failAfter",
  "lateEffects",
  "provisionFailures",
  "snapshotFailures",
]);

/** Throws unless `value` may be the setting `key`: the right type, no negative number, chances at most 1. */
export function checkSetting(key: string, value: unknown): void {
  const wrong = (what: string) => new Error(`Configuring the cloud: the setting "${key}" ${what}`);
  if (!Object.hasOwn(DEFAULT_SETTINGS, key)) throw wrong("does not exist");
  const example = (DEFAULT_SETTINGS as unknown as Record<string, unknown>)[key];
  if (example === null) return; // engines, minorVersion: null or something of their own
  if (Array.isArray(example) ? !Array.isArray(value) : typeof value !== typeof example) {
    throw wrong(
      `must be a ${Array.isArray(example) ? "list" : typeof example}, not ${JSON.stringify(value)}`,
    );
  }
  if (typeof value !== "number") return;
  if (!(value >= 0)) throw wrong(`must not be ${value}`);
  if (CHANCES.has(key) && value > 1) throw wrong(`is a chance between 0 and 1, not ${value}`);
}
