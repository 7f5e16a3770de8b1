/**
 * The difference between what is asked for and what is there.
 *
 * @module
 */
import { escapeUnsafe } from "../core/text.ts";
import type { ExternalDatabaseSpec } from "../api/schema.ts";
import type { ExternalState } from "./knowledge.ts";
import { matchVersion } from "./versions.ts";

/** A change that can be sent to a provider. */
export interface Change {
  readonly version?: string;
  readonly sizeGb?: number;
  readonly deletionProtection?: boolean;
}

/** What differs. */
export interface Drift {
  /** What a modify would send; empty when nothing can or need be sent. */
  readonly change: Change;
  /** The provider has accepted what is wanted but does not show it yet (R4). */
  readonly pending: boolean;
  /** Differences that no modify can mend, one sentence each (R3, R5). */
  readonly irreparable: readonly string[];
  /** The engine differs (R5). */
  readonly engine: boolean;
  /** The version is of a newer major than is asked for (R3). */
  readonly newerMajor: boolean;
}

/** The part of an observation that is compared. */
export type Compared = Pick<
  ExternalState,
  "engine" | "version" | "sizeGb" | "deletionProtection" | "pending"
>;

/** Compares a spec with an observation. A larger disk and a newer minor version are no drift (R2, R3, R6). */
export function driftOf(spec: ExternalDatabaseSpec, database: Compared): Drift {
  const change: { -readonly [K in keyof Change]: Change[K] } = {};
  const irreparable: string[] = [];
  let pending = false;
  const engine = database.engine.trim().toLowerCase() !== spec.engine.trim().toLowerCase();
  if (engine) {
    irreparable.push(`engine is ${quote(database.engine)}, not ${quote(spec.engine)}, and cannot be changed`);
  }
  const match = matchVersion(spec.version, database.version);
  const pendingVersion = database.pending?.version;
  if (match === "newerMajor") {
    irreparable.push(
      `version is ${quote(database.version)}, beyond ${quote(spec.version)}, and is never lowered`,
    );
  } else if (match !== "satisfied") {
    if (pendingVersion !== undefined && matchVersion(spec.version, pendingVersion) === "satisfied") {
      pending = true;
    } else change.version = spec.version;
  }
  if (database.sizeGb < spec.sizeGb) {
    if ((database.pending?.sizeGb ?? 0) >= spec.sizeGb) pending = true;
    else change.sizeGb = spec.sizeGb;
  }
  // Absent in the spec it is nobody's wish, and at the provider nothing that could be set (D5).
  const { deletionProtection: wanted } = spec;
  const { deletionProtection: has } = database;
  if (wanted !== undefined && has !== undefined && wanted !== has) change.deletionProtection = wanted;
  return { change, pending, irreparable, engine, newerMajor: match === "newerMajor" };
}

/** Whether a change sends nothing. */
export function isEmpty(change: Change): boolean {
  return change.version === undefined && change.sizeGb === undefined &&
    change.deletionProtection === undefined;
}

/** A change in words: `sizeGb 20 → 50, version 14.2 → 15`. */
export function describeChange(change: Change, database: ExternalState): string {
  const parts: string[] = [];
  if (change.sizeGb !== undefined) parts.push(`sizeGb ${database.sizeGb} → ${change.sizeGb}`);
  if (change.version !== undefined) parts.push(`version ${database.version} → ${change.version}`);
  if (change.deletionProtection !== undefined) {
    parts.push(`deletionProtection ${database.deletionProtection ?? false} → ${change.deletionProtection}`);
  }
  return parts.join(", ");
}

/** A value for people, quoted, and cut where it is long. */
export function quote(value: string): string {
  return escapeUnsafe(JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value));
}
