/**
 * Engine versions: when an observed one satisfies a wanted one (R3).
 *
 * @module
 */

function normal(version: string): string {
  return version.trim().toLowerCase().replace(/^v(?=\d)/, "");
}

/** What a version is made of: numbers and words, in order. */
function parts(version: string): readonly (number | string)[] {
  return (version.match(/\d+|[^\d._+-]+/g) ?? []).map((part) => /^\d/.test(part) ? Number(part) : part);
}

/**
 * How an observed version stands to a wanted one.
 *
 * - `satisfied`: equal, starts with the wanted one, or a newer minor of the same major
 * - `older`: an upgrade is due
 * - `newerMajor`: beyond the wanted major; versions are never lowered, so this can only be reported
 * - `different`: other words, of which none is the newer
 */
export type VersionMatch = "satisfied" | "older" | "newerMajor" | "different";

/** Compares two versions number by number and word by word: `14.2-R10` is newer than `14.2-R2`, and both than `14.2`. */
export function matchVersion(wanted: string, observed: string): VersionMatch {
  const w = normal(wanted);
  const o = normal(observed);
  if (o === w || o.startsWith(w) && /^[._+-]/.test(o.slice(w.length))) return "satisfied";
  const wp = parts(w);
  const op = parts(o);
  for (let i = 0; i < Math.max(wp.length, op.length); i++) {
    const a = wp[i] ?? 0;
    const b = op[i] ?? 0;
    if (a === b) continue;
    // The observed one ends where the wanted one goes on with a word: that is a build of it that came later.
    if (op[i] === undefined && typeof a === "string") return "older";
    if (typeof a === "string" || typeof b === "string") return "different";
    if (b < a) return "older";
    return i === 0 ? "newerMajor" : "satisfied";
  }
  return "satisfied"; // 14 and 14.0
}
