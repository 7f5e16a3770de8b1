/**
 * How far a campaign is: a bar where a person watches, a line every half a minute where not.
 *
 * @module
 */
import { write } from "../say.ts";

/** Time between two lines where nobody watches, in milliseconds. */
const LINE_MS = 30_000;
/** Time between two drawings of the bar, in milliseconds. */
const BAR_MS = 200;
const WIDTH = 24;

/** Tells of the way from nothing to `total` things called `what`. */
export class Progress {
  readonly #begun = performance.now();
  readonly #terminal = Deno.stderr.isTerminal();
  #done = 0;
  #told: number;

  constructor(private readonly total: number, private readonly what: string) {
    this.#told = this.#begun;
  }

  /** `done` more are done, `broken` of all so far broke a promise. */
  add(done: number, broken: number): void {
    this.#done += done;
    const now = performance.now();
    if (now - this.#told < (this.#terminal ? BAR_MS : LINE_MS)) return;
    this.#told = now;
    const line = progressLine(this.#done, this.total, (now - this.#begun) / 1_000, this.what, broken);
    write(Deno.stderr, this.#terminal ? `\r\x1b[K${line}` : `${line}\n`);
  }

  /** Room for other lines. */
  clear(): void {
    if (this.#terminal) write(Deno.stderr, "\r\x1b[K");
  }
}

/** One line: bar, count, rate and time left. */
export function progressLine(
  done: number,
  total: number,
  seconds: number,
  what: string,
  broken: number,
): string {
  const part = total === 0 ? 1 : done / total;
  const full = Math.round(WIDTH * part);
  const rate = done / Math.max(seconds, 0.001);
  const left = done === 0 ? "?" : clock((total - done) / rate);
  return `${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${done} of ${total} ${what} (${
    Math.floor(100 * part)
  } %), ${rate.toFixed(1)}/s, ${left} left, ${broken === 0 ? "no violation" : `${broken} broken`}`;
}

function clock(seconds: number): string {
  const s = Math.ceil(seconds);
  const [h, m] = [Math.floor(s / 3_600), Math.floor(s / 60) % 60];
  return h > 0 ? `${h} h ${m} min` : m > 0 ? `${m} min ${s % 60} s` : `${s} s`;
}
