/**
 * What the page and `/api/databases` show of each CR, and how a request selects from it.
 *
 * @module
 */
import { sayingMost } from "../statechart/attention.ts";

/** One CR as people see it. Times are RFC 3339. */
export interface FleetRow {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Wanted engine, version and size in GiB. */
  readonly engine: string;
  readonly version: string;
  readonly sizeGb: number;
  /** Top-level state of the statechart. */
  readonly state: string;
  /** Full state value, such as `Available.idle`. */
  readonly detail?: string | undefined;
  /** `spec.className`. */
  readonly className?: string | undefined;
  /** It waits for a person: its reason is not one that passes by itself. */
  readonly attention?: boolean | undefined;
  /** Status and reason of the condition `Synced`. */
  readonly synced?: { readonly status: "True" | "False" | "Unknown"; readonly reason: string } | undefined;
  /** Status of the condition `Ready`, with its reason and message. */
  readonly ready: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly endpoint?: string | undefined;
  readonly providerId?: string | undefined;
  /** `metadata.creationTimestamp`. */
  readonly createdAt?: string | undefined;
  /** When the actor does something by itself next (L4); absent when nothing is planned. */
  readonly nextTryAt?: string | undefined;
}

/** A database whose CR is gone (S2). */
export interface OrphanRow {
  readonly providerId: string;
  /** Of the CR that it was made for, as its tags have them. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly engine: string;
  readonly version: string;
  readonly sizeGb: number;
  readonly state: string;
  /** RFC 3339. */
  readonly createdAt?: string | undefined;
}

/** Rows on one page, when the request does not say. */
export const DEFAULT_LIMIT = 200;
/** Rows on one page at most. */
export const MAX_LIMIT = 1_000;

/** What a request asks for. */
export interface FleetQuery {
  readonly namespace?: string | undefined;
  readonly state?: string | undefined;
  readonly ready?: string | undefined;
  /** Of the condition that says most: {@linkcode saysMost}. */
  readonly reason?: string | undefined;
  /** `spec.className`; `""` selects those without. */
  readonly className?: string | undefined;
  /** Text that namespace, name, endpoint, provider id or message must hold, whatever its case. */
  readonly q?: string | undefined;
  /** Rows to skip. */
  readonly offset: number;
  readonly limit: number;
}

/** A part of the fleet. */
export interface FleetPage {
  readonly items: readonly FleetRow[];
  /** Rows that match, on all pages. */
  readonly total: number;
  readonly query: FleetQuery;
}

/** The query of a URL; what makes no sense falls back to its default. */
export function parseFleetQuery(parameters: URLSearchParams): FleetQuery {
  const number = (name: string, fallback: number, max: number) => {
    const text = parameters.get(name) ?? "";
    return /^\d{1,9}$/.test(text) ? Math.min(Number(text), max) : fallback;
  };
  const text = (name: string) => parameters.get(name)?.slice(0, 253) || undefined;
  return {
    namespace: text("namespace"),
    state: text("state"),
    ready: text("ready"),
    reason: text("reason"),
    className: parameters.has("class") ? (parameters.get("class") ?? "").slice(0, 253) : undefined,
    q: text("q"),
    offset: number("offset", 0, 999_999_999),
    limit: Math.max(1, number("limit", DEFAULT_LIMIT, MAX_LIMIT)),
  };
}

/** The rows that `query` selects, by namespace and name. */
export function selectFleet(rows: Iterable<FleetRow>, query: FleetQuery): FleetPage {
  const words = query.q?.toLowerCase();
  const matching: FleetRow[] = [];
  for (const row of rows) {
    if (
      (query.namespace === undefined || row.namespace === query.namespace) &&
      (query.state === undefined || row.state === query.state) &&
      (query.ready === undefined || row.ready === query.ready) &&
      (query.reason === undefined || saysMost(row) === query.reason) &&
      (query.className === undefined || (row.className ?? "") === query.className) &&
      (words === undefined || holds(row, words))
    ) matching.push(row);
  }
  matching.sort((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name));
  return { items: matching.slice(query.offset, query.offset + query.limit), total: matching.length, query };
}

/** The reason that says most of a row. */
export function saysMost({ ready, reason, synced }: FleetRow): string {
  return sayingMost({ status: ready, reason }, synced).reason;
}

function holds({ namespace, name, endpoint, providerId, message }: FleetRow, words: string): boolean {
  return [`${namespace}/${name}`, endpoint, providerId, message].some((text) =>
    text?.toLowerCase().includes(words)
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
