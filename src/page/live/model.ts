/**
 * What the page knows, as signals: the views read them, the feed and the browser's address write them.
 *
 * @module
 */
import { computed, signal } from "@preact/signals";
import type {
  ChartAnswer,
  DatabaseDetail,
  FleetRow,
  FleetSummary,
  OrphanRow,
} from "../../server/api/types.ts";
import type { FleetFilter } from "../fleet/query.ts";
import { parseFilter, selectRows, tally, tellingReason } from "../fleet/query.ts";
import type { Route } from "../route.ts";
import type { Connection } from "./feed.ts";

/** Something that is asked for once: not there yet, there, or why not. */
export type Loaded<T> =
  | { readonly state: "loading" }
  | { readonly state: "here"; readonly value: T }
  | { readonly state: "failed"; readonly why: string };

/** Wall time in milliseconds, once a second. */
export const now = signal(0);
/** Where the reader is. */
export const route = signal<Route>({ view: "fleet" });
/** The URL's query, with its question mark. */
export const search = signal("");
/** Whether what is shown is up to date. */
export const connection = signal<Connection>({ state: "connecting" });
/** All rows, absent until the first snapshot is here; a new array at each change. */
export const rows = signal<readonly FleetRow[] | undefined>(undefined);
/** What is known of the fleet as a whole. */
export const summary = signal<FleetSummary | undefined>(undefined);
/** The database of the view, whole; `null`: there is none. */
export const database = signal<DatabaseDetail | null | undefined>(undefined);
/** The statechart. */
export const chart = signal<Loaded<ChartAnswer>>({ state: "loading" });
/** Databases whose resource is gone. */
export const orphans = signal<readonly OrphanRow[]>([]);
/** What a screen reader is told next. */
export const announcement = signal("");

/** What the URL asks of the fleet. */
export const filter = computed<FleetFilter>(() => parseFilter(search.value));
/** The rows that it selects. */
export const selected = computed(() => selectRows(rows.value ?? [], filter.value));
/** Values to choose from, with how many rows have them. */
export const namespaces = computed(() => tally(rows.value ?? [], (row) => row.namespace));
/** The same of reasons. */
export const reasons = computed(() => tally(rows.value ?? [], tellingReason));
/** The same of classes. */
export const classes = computed(() => tally(rows.value ?? [], (row) => row.className ?? ""));
