/**
 * The history of one actor as steps that can be walked through: what the chart shows at each, and the same as text.
 *
 * @module
 */
import type { CallRecord, DatabaseDetail, HistoryAnswer, HistoryEntry } from "../../server/api/types.ts";
import { topOf } from "../../statechart/path.ts";
import { coarse, duration } from "../text/time.ts";
import { shown } from "../text/safe.ts";

/** What the chart shows at one moment. */
export interface Frame {
  /** The active state as a dotted path. */
  readonly active: string;
  /** Its top-level state. */
  readonly top: string;
  /** Where the step came from; absent: it is the present. */
  readonly from?: string | undefined;
  readonly via: readonly string[];
  /** The top-level states that the step led between, in order, where it left one. */
  readonly passed: readonly string[];
}

/** The innermost state that is active, as a dotted path. */
export function activeOf({ configuration, row }: DatabaseDetail): string {
  return configuration.at(-1) ?? row.state;
}

/** The present. */
export function presentFrame(detail: DatabaseDetail): Frame {
  const active = activeOf(detail);
  return { active, top: topOf(active), via: [], passed: [] };
}

/** One step of the history. */
export function stepFrame(entry: HistoryEntry): Frame {
  const passed = withoutRepeats(wayOf(entry).map(topOf).filter((top) => top !== ""));
  return {
    active: entry.to,
    top: topOf(entry.to),
    from: entry.from,
    via: entry.via,
    passed: passed.length > 1 ? passed : [],
  };
}

/** The states that a step led through, from the one it left to the one it entered; one alone where it stayed. */
export function wayOf({ from, via, to }: HistoryEntry): string[] {
  return withoutRepeats([from, ...via, to]);
}

function withoutRepeats(paths: readonly string[]): string[] {
  return paths.filter((path, index) => path !== paths[index - 1]);
}

/** Entries of one generation of the resource, the newest first. */
export interface Chapter {
  readonly generation: number;
  readonly entries: readonly HistoryEntry[];
}

/** The history by generation, the newest first. */
export function chapters(entries: readonly HistoryEntry[]): Chapter[] {
  const all: { generation: number; entries: HistoryEntry[] }[] = [];
  for (const entry of entries.toReversed()) {
    const last = all.at(-1);
    if (last?.generation === entry.generation) last.entries.push(entry);
    else all.push({ generation: entry.generation, entries: [entry] });
  }
  return all;
}

/** `n` of the entry `by` steps from the one numbered `at` (absent: the present); absent: the present. */
export function walk(
  entries: readonly HistoryEntry[],
  at: number | undefined,
  by: number,
): number | undefined {
  const here = at === undefined ? entries.length : indexAt(entries, at);
  const there = Math.max(0, here + by);
  return there >= entries.length ? undefined : entries[there]?.n;
}

/** Place of the entry numbered `at`, or of the oldest where it was dropped meanwhile. */
export function indexAt(entries: readonly HistoryEntry[], at: number): number {
  const index = entries.findIndex((entry) => entry.n >= at);
  return index < 0 ? entries.length - 1 : index;
}

/** Whether it led elsewhere or ended calls; else the actor took something in, decided anew, and stayed. */
export function isMove(entry: HistoryEntry): boolean {
  return entry.from !== entry.to || entry.calls.length > 0;
}

/** One call in words: `cloud modify: ok after 0.2 s – sizeGb 20`. */
function callText(call: CallRecord): string {
  const detail = call.detail ? ` – ${shown(call.detail)}` : "";
  return `${call.to} ${call.verb}: ${shown(call.outcome)} after ${duration(call.durationMs)}${detail}`;
}

/** The history as plain text, the oldest first. */
export function historyText(history: HistoryAnswer): string {
  const { namespace, name, uid, dropped, entries } = history;
  const lines = [`History of ${namespace}/${name} (uid ${uid}), oldest first`];
  if (dropped > 0) lines.push(`(${dropped} earlier steps are no longer held)`);
  let generation: number | undefined;
  for (const entry of entries) {
    if (entry.generation !== generation) lines.push("", `generation ${entry.generation}`);
    generation = entry.generation;
    const way = wayOf(entry).join(" > ");
    const again = entry.repeated ? ` (and ${entry.repeated} more like it)` : "";
    lines.push(`${entry.at}  #${entry.n}  ${entry.event}${again}: ${shown(entry.cause)}`);
    lines.push(
      `    ${way} after ${duration(entry.durationMs)}; Ready ${entry.ready}, Synced ${entry.synced}`,
    );
    for (const call of entry.calls) lines.push(`    ${callText(call)}`);
  }
  return `${lines.join("\n")}\n`;
}

/** All that is known of one database as plain text, to be pasted into a ticket. */
export function detailText(detail: DatabaseDetail, now: number): string {
  const { row, fields, conditions, cache, policies } = detail;
  const next = detail.nextTryAt === undefined
    ? "none planned"
    : `${detail.nextTryAt} (in ${coarse(Date.parse(detail.nextTryAt) - now)})`;
  return [
    `${row.namespace}/${row.name} (uid ${row.uid})`,
    `State        ${activeOf(detail)}`,
    `Endpoint     ${shown(row.endpoint) || "none"}`,
    `Provider id  ${shown(row.providerId) || "none"}`,
    `Generation   ${detail.generation}, acted on ${detail.observedGeneration ?? "none"}`,
    `Next try     ${next}`,
    `Last read    ${cache.readAt ?? "none"} (${cache.kind})`,
    ...Object.entries(policies).map(([name, value]) => `${name.padEnd(12)} ${shown(value)}`),
    "",
    ...conditions.map((each) =>
      `${each.type}=${each.status} ${each.reason}: ${shown(each.message)}${
        each.since ? ` (since ${each.since})` : ""
      }`
    ),
    "",
    ...fields.map((each) =>
      `${each.field}: wanted ${shown(each.wanted) || "–"}, observed ${
        shown(each.observed) || "–"
      } (${each.verdict})`
    ),
    "",
    historyText(detail.history),
  ].join("\n");
}
