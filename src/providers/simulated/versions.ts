/**
 * Order of version strings: what "lower" means to the simulated cloud.
 *
 * @module
 */

/** Negative, zero or positive as `a` is lower than, equal to or higher than `b`; numbers by value, the rest by text, a missing part lowest. */
export function compareVersions(a: string, b: string): number {
  const left = a.split(/[._+-]/);
  const right = b.split(/[._+-]/);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const l = left[i] ?? "";
    const r = right[i] ?? "";
    if (l === r) continue;
    const bothNumbers = /^\d+$/.test(l) && /^\d+$/.test(r);
    const order = bothNumbers ? Number(l) - Number(r) : l < r ? -1 : 1;
    if (order !== 0) return order;
  }
  return 0;
}

/** Whether `wanted` is `version` or a prefix of it that ends at a dot (`14` of `14.2`, not of `140`). */
export function isVersionPrefix(wanted: string, version: string): boolean {
  return wanted === version || version.startsWith(`${wanted}.`);
}

/** `version` with its second part raised by one: `14` → `14.1`, `14.2` → `14.3`, `14.2.1` → `14.3`. */
export function nextMinor(version: string): string {
  const [major = version, minor] = version.split(".");
  return `${major}.${/^\d+$/.test(minor ?? "") ? Number(minor) + 1 : 1}`;
}
