/**
 * Turns scrapes of the metrics, taken at even intervals, into series as `promtool test rules` reads them.
 *
 * @module
 */

/** One series with a value, or none (`_`), for each scrape. */
export interface Series {
  readonly series: string;
  readonly values: string;
}

/** Gathers the scrapes of one scenario; several processes may be scraped at each tick. */
export class Scrapes {
  readonly #values = new Map<string, string[]>();
  #ticks = 0;

  /** `startedAt` is the wall time that becomes 0, in seconds: promtool's time begins at the epoch. */
  constructor(private readonly startedAt: number, private readonly wanted: ReadonlySet<string>) {}

  /** How many ticks there were. */
  get ticks(): number {
    return this.#ticks;
  }

  /** Takes in what one tick's scrapes gave: the text of each process, by its instance. */
  add(texts: Readonly<Record<string, string>>): void {
    for (const [instance, text] of Object.entries(texts)) {
      for (const line of text.split("\n")) {
        const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
        const [, name = "", labels = "", value = ""] = match ?? [];
        if (!match || !this.wanted.has(name)) continue;
        const all = [
          ...(labels ? [labels] : []),
          `instance="${instance}"`,
          'job="externaldatabase-operator"',
        ];
        const series = `${name}{${all.join(",")}}`;
        let values = this.#values.get(series);
        if (!values) this.#values.set(series, values = []);
        while (values.length < this.#ticks) values.push("_");
        values.push(name.endsWith("_timestamp_seconds") ? String(Number(value) - this.startedAt) : value);
      }
    }
    this.#ticks++;
  }

  /** The series so far. */
  series(): Series[] {
    return Array.from(this.#values, ([series, values]) => ({ series, values: values.join(" ") }));
  }
}
