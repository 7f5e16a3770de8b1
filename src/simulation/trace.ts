/**
 * What happened in a world, line by line, and a hash of it that tells two runs apart.
 *
 * @module
 */

/** Collects lines. */
export class Trace {
  readonly lines: string[] = [];
  /** Somebody wants the lines or their hash: only then they need to be written. */
  readonly on: boolean;
  #a = 0x811c9dc5;
  #b = 0x9e3779b9;

  /** `keep` keeps the lines, `hash` their hash. */
  constructor(private readonly keep: boolean, hash = true) {
    this.on = keep || hash;
  }

  /** Adds a line; `time` is in milliseconds after the beginning. */
  add(time: number, who: string, what: string): void {
    if (!this.on) return;
    const line = `${(time / 1_000).toFixed(3).padStart(10)} ${who.padEnd(6)} ${what}`;
    for (let i = 0; i < line.length; i++) {
      const code = line.charCodeAt(i);
      this.#a = Math.imul(this.#a ^ code, 0x01000193);
      this.#b = Math.imul(this.#b + code, 0x85ebca6b) ^ (this.#b >>> 15);
    }
    if (this.keep) this.lines.push(line);
  }

  /** 64 bits, as hexadecimal text; empty where nobody wanted a hash. */
  get digest(): string {
    if (!this.on) return "";
    return [this.#a, this.#b].map((n) => (n >>> 0).toString(16).padStart(8, "0")).join("");
  }
}
