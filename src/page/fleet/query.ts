/**
 * What of the fleet is shown, and in which order: a pure function of the rows and of the URL's query.
 *
 * @module
 */
import type { FleetRow } from "../../server/api/types.ts";

/** Orders that the fleet can be shown in. */
export const SORTS = ["attention", "name", "state", "next", "age"] as const;
/** One of them. */
export type Sort = (typeof SORTS)[number];

/** What a reader asked for; an absent field asks for nothing. */
export interface FleetFilter {
  readonly q?: string | undefined;
  readonly namespace?: string | undefined;
  readonly state?: string | undefined;
  /** Full path of the statechart, such as `Available.idle`. */
  readonly detail?: string | undefined;
  readonly reason?: string | undefined;
  /** `""`: none. */
  readonly class?: string | undefined;
  readonly attention?: boolean | undefined;
  readonly sort?: Sort | undefined;
}

const TEXTS = ["q", "namespace", "state", "detail", "reason"] as const;

/** The filter of a URL's query. */
export function parseFilter(search: string): FleetFilter {
  const parameters = new URLSearchParams(search);
  const filter: Record<string, unknown> = {};
  for (const name of TEXTS) {
    const value = parameters.get(name)?.slice(0, 253);
    if (value) filter[name] = value;
  }
  const className = parameters.get("class");
  if (className !== null) filter.class = className.slice(0, 253);
  if (parameters.get("attention") === "true") filter.attention = true;
  const sort = SORTS.find((each) => each === parameters.get("sort"));
  if (sort !== undefined && sort !== "attention") filter.sort = sort;
  return filter;
}

/** The query of a filter, with its question mark; empty for one that asks for nothing. */
export function formatFilter(filter: FleetFilter): string {
  const parameters = new URLSearchParams();
  for (const name of TEXTS) if (filter[name]) parameters.set(name, filter[name]);
  if (filter.class !== undefined) parameters.set("class", filter.class);
  if (filter.attention) parameters.set("attention", "true");
  if (filter.sort !== undefined && filter.sort !== "attention") parameters.set("sort", filter.sort);
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** The reason that says most of a row: that of `Ready`, or of `Synced` where the database is ready and out of step. */
export function tellingReason(row: FleetRow): string {
  return row.ready === "True" && row.synced !== undefined && row.synced.status !== "True"
    ? row.synced.reason
    : row.reason;
}

/** Whether a filter narrows anything. */
export function isNarrow(filter: FleetFilter): boolean {
  return formatFilter({ ...filter, sort: undefined }) !== "";
}

/** `rows` by namespace and name: the order that {@linkcode selectRows} assumes. */
export function byName(rows: readonly FleetRow[]): FleetRow[] {
  return rows.toSorted((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name));
}

/** The rows that `filter` selects, in its order; `rows` are by namespace and name, and are left as they are. */
export function selectRows(rows: readonly FleetRow[], filter: FleetFilter): FleetRow[] {
  const words = (filter.q ?? "").toLowerCase().split(/\s+/).filter((word) => word !== "");
  const selected = rows.filter((row) =>
    (filter.namespace === undefined || row.namespace === filter.namespace) &&
    (filter.state === undefined || row.state === filter.state) &&
    (filter.detail === undefined || row.detail === filter.detail) &&
    (filter.reason === undefined || tellingReason(row) === filter.reason) &&
    (filter.class === undefined || (row.className ?? "") === filter.class) &&
    (!filter.attention || row.attention === true) &&
    words.every((word) => matches(row, word))
  );
  switch (filter.sort ?? "attention") {
    case "attention": {
      const ranks: FleetRow[][] = [[], [], [], []];
      for (const row of selected) ranks[rank(row)]?.push(row);
      return ranks.flat();
    }
    case "name":
      return selected;
    case "state":
      return selected.sort((a, b) => compare(a.state, b.state));
    case "next":
      // RFC 3339 in UTC sorts as text; what has no time comes last.
      return selected.sort((a, b) => compare(a.nextTryAt ?? "~", b.nextTryAt ?? "~"));
    case "age":
      return selected.sort((a, b) => compare(b.createdAt ?? "", a.createdAt ?? ""));
  }
}

function matches(row: FleetRow, word: string): boolean {
  const { namespace, name, engine, version, message, endpoint = "", providerId = "", uid } = row;
  return `${namespace}/${name}\n${engine} ${version}\n${message}\n${endpoint}\n${providerId}\n${uid}`
    .toLowerCase()
    .includes(word);
}

/** What needs a person comes first, then what is not usable, then what is not known. */
function rank(row: FleetRow): number {
  if (row.attention) return 0;
  return row.ready === "False" ? 1 : row.ready === "Unknown" ? 2 : 3;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How many rows have each value of `key`, the most frequent first. */
export function tally(
  rows: readonly FleetRow[],
  key: (row: FleetRow) => string,
): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(key(row), (counts.get(key(row)) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || compare(a, b));
}
