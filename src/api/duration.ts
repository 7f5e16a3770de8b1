/**
 * Durations as Go and Kubernetes write them: `10s`, `5m`, `1h30m`, `500ms`.
 *
 * @module
 */

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Whether {@linkcode parseDuration} takes `text`. */
export function isDuration(text: string): boolean {
  return text.length <= 64 && /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text);
}

/** Milliseconds of a duration such as `30s`, `5m`, `1h30m` or `250ms`. Throws an Error that quotes a malformed one. */
export function parseDuration(text: string): number {
  if (isDuration(text)) {
    let ms = 0;
    for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
      ms += Number(amount) * (UNIT_MS[unit ?? ""] ?? NaN);
    }
    if (Number.isFinite(ms)) return ms;
  }
  throw new Error(`"${text.slice(0, 64)}" is not a duration; write it like 30s, 5m or 1h30m`);
}
