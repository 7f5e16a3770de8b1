/**
 * What the HTTP API reads of the operator: plain data, made when it is asked for.
 *
 * @module
 */
import type { FleetRow, OrphanRow } from "../fleet.ts";
import type { DatabaseDetail, FleetSummary, HistoryAnswer } from "./types.ts";

/** What of a {@linkcode FleetSummary} is not counted from the rows. */
export type FleetWhole = Pick<FleetSummary, "phase" | "orphans" | "accounts" | "configurations" | "flow">;

/** The fleet as it is now. */
export interface FleetView {
  /** One row for each live resource. */
  rows(): Iterable<FleetRow>;
  row(uid: string): FleetRow | undefined;
  /** UID of a live resource by its name. */
  find(namespace: string, name: string): string | undefined;
  detail(uid: string): DatabaseDetail | undefined;
  /** Also of one that went a while ago. */
  history(uid: string): HistoryAnswer | undefined;
  /** History of the resource of this name that went last. */
  lastGone(namespace: string, name: string): HistoryAnswer | undefined;
  whole(): FleetWhole;
  orphans(): readonly OrphanRow[];
  /** Tells of every resource that may show otherwise now, and of those that went; returns what ends that. */
  listen(listener: { changed(uid: string): void; gone(uid: string): void }): () => void;
}
