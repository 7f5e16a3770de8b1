/**
 * Versions as PostgreSQL counts them since 10: major and minor.
 *
 * @module
 */

/** A server's version, such as 16.14. */
export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
}

/** From `server_version_num`: 160014 is 16.14. */
export function versionOf(num: number): ServerVersion {
  return { major: Math.floor(num / 10_000), minor: num % 10_000 };
}

/** `16.14`. */
export function formatVersion({ major, minor }: ServerVersion): string {
  return `${major}.${minor}`;
}

/** Whether a server of `version` is what `wanted` (`16` or `16.3`) asks for: that major, that minor or a newer one (R3). */
export function satisfies(version: ServerVersion, wanted: string): boolean {
  const match = /^(\d{1,4})(?:\.(\d{1,4}))?$/.exec(wanted.trim());
  return match !== null && Number(match[1]) === version.major && Number(match[2] ?? 0) <= version.minor;
}
