/**
 * Engine versions: when an observed one satisfies a wanted one (R3).
 *
 * @module
 */

function normal(version: string): string {
  return version.trim().toLowerCase().replace(/^v(?=\d)/, "");
}

function numbers(version: string): readonly number[] | undefined {
  return /^\d+(\.\d+)*$/.test(version) ? version.split(".").map(Number) : undefined;
}

/**
 * How an observed version stands to a wanted one.
 *
 * - `satisfied`: equal, starts with the wanted one, or a newer minor of the same major
 * - `older`: an upgrade is due
 * - `newerMajor`: beyond the wanted major; versions are never lowered, so this can only be reported
 * - `different`: not comparable by number and not equal
 */
export type VersionMatch = "satisfied" | "older" | "newerMajor" | "different";

/** Compares two versions by number where both are numeric, by text otherwise. */
export function matchVersion(wanted: string, observed: string): VersionMatch {
  const w = normal(wanted);
  const o = normal(observed);
  if (o === w || o.startsWith(`${w}.`)) return "satisfied";
  const wn = numbers(w);
  const on = numbers(o);
  if (wn === undefined || on === undefined) return "different";
  for (let i = 0; i < Math.max(wn.length, on.length); i++) {
    const a = wn[i] ?? 0;
    const b = on[i] ?? 0;
    if (a === b) continue;
    if (b < a) return "older";
    return i === 0 ? "newerMajor" : "satisfied";
  }
  return "satisfied"; // 14 and 14.0
}
