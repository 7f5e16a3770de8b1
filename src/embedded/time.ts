/**
 * Times as Kubernetes writes and shows them.
 *
 * @module
 */
import { isObject, type Json, type JsonObject } from "./types.ts";

/** `metav1.Time`: RFC 3339 in UTC, to the second. */
export function kubeTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, "Z");
}

/** An age as kubectl shows it (`duration.HumanDuration` of apimachinery). */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (days < 365 * 8) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`;
  return `${years}y`;
}

/** The age of a time stamp as a cell; `<unknown>` where there is none. */
export function ageCell(timestamp: Json | undefined, nowMs: number): string {
  if (typeof timestamp !== "string") return "<unknown>";
  const at = Date.parse(timestamp);
  return Number.isNaN(at) ? "<invalid>" : humanDuration(nowMs - at);
}

const MICRO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]\d{2}:\d{2})$/;

/** What Go's parser says of a `metav1.MicroTime` without exactly six digits of fraction; null is none. */
export function microTimeError(object: JsonObject, path: readonly string[]): string | undefined {
  let value: Json | undefined = object;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  if (typeof value !== "string" || MICRO_TIME.test(value)) return undefined;
  const rest = JSON.stringify(value.slice(19));
  return `parsing time ${
    JSON.stringify(value)
  } as "2006-01-02T15:04:05.000000Z07:00": cannot parse ${rest} as ".000000"`;
}
