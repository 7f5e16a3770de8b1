/**
 * String formats that the API server checks in a custom resource; unknown formats are not checked.
 *
 * @module
 */

const CHECKS: Readonly<Record<string, (value: string) => boolean>> = {
  "date-time": (value) =>
    /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(value) &&
    !Number.isNaN(Date.parse(value)),
  date: (value) => /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
  duration: (value) => parseGoDuration(value) !== undefined,
  email: (value) => /^[^@\s]+@[^@\s]+$/.test(value),
  ipv4: (value) =>
    /^(\d{1,3}\.){3}\d{1,3}$/.test(value) && value.split(".").every((part) => Number(part) < 256),
  ipv6: (value) => /^[0-9A-Fa-f:.]+$/.test(value) && value.includes(":"),
  cidr: (value) => /^[0-9A-Fa-f:.]+\/\d{1,3}$/.test(value),
  uri: (value) => URL.canParse(value),
  hostname: (value) => /^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$/.test(value),
  uuid: (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
  byte: (value) => /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0,
};

/** Whether a value has the format. */
export function formatFits(format: string, value: string): boolean {
  return CHECKS[format]?.(value) ?? true;
}

const UNIT_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  "µs": 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

/** A Go duration such as `1h30m` in nanoseconds, or `undefined` where it is none (`90d`). */
export function parseGoDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const match = /^([-+]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/.exec(text);
  if (match === null) return undefined;
  let total = 0;
  for (const [, number, unit] of match[2]!.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(number) * (UNIT_NS[unit!] ?? 0);
  }
  return match[1] === "-" ? -total : total;
}
