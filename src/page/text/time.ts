/**
 * Times and durations in words. `now` is wall time in milliseconds; times of the API are RFC 3339.
 *
 * @module
 */

/** A duration in its largest unit or two: `850 ms`, `12 s`, `3 m 20 s`, `5 h`, `12 d`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  return coarse(ms);
}

/** The same in whole seconds, for what is counted up or down before one's eyes. */
export function coarse(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes} m` : `${minutes} m ${seconds % 60} s`;
  if (minutes < 120) return `${minutes} m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** `3 m ago`, `in 12 s`, `now`; a dash for no time. */
export function relative(text: string | undefined, now: number): string {
  const at = text === undefined ? NaN : Date.parse(text);
  if (Number.isNaN(at)) return "–";
  if (Math.abs(at - now) < 1_000) return "now";
  return at > now ? `in ${coarse(at - now)}` : `${coarse(now - at)} ago`;
}

/** The time of day with milliseconds, in the reader's zone: `14:03:07.250`. */
export function timeOfDay(text: string): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return "–";
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${
    String(at.getMilliseconds()).padStart(3, "0")
  }`;
}

/** `12,345`. */
export function count(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `999`, `1.2k`, `12k`: where there is little room. */
export function brief(value: number): string {
  if (value < 1_000) return count(value);
  return value < 9_950 ? `${(value / 1_000).toFixed(1)}k` : `${count(value / 1_000)}k`;
}

/** `1 database`, `2 databases`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
