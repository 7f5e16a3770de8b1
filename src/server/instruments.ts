/**
 * Makes counters, gauges and histograms in one registry, remembers what each is, and keeps labels and numbers sane.
 *
 * @module
 */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { MetricDescription } from "./metrics.ts";

/** Different values of one label that are told apart; later ones count as `other`. */
export const MAX_LABEL_VALUES = 64;

/** The account of the flags as a label: no class can have this name, and an empty value would be no label at all. */
const FLAGS_ACCOUNT = "(flags)";

/** A class of databases, or the account of the flags, as the label `database_class`. */
export function accountLabel(databaseClass: string): string {
  return databaseClass === "" ? FLAGS_ACCOUNT : databaseClass;
}

/** The makers of one registry. */
export class Instruments {
  readonly #described: MetricDescription[] = [];

  constructor(private readonly registry: Registry) {}

  /** What was made so far, by name. */
  get described(): readonly MetricDescription[] {
    return this.#described.toSorted((a, b) => a.name < b.name ? -1 : 1);
  }

  /** A number that only grows; its name ends with `_total`. Without labels it begins with 0. */
  counter<L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> {
    this.#described.push({ name, help, labels: labelNames, type: "counter" });
    return new Counter<L>({ name, help, labelNames, registers: [this.registry] });
  }

  /** A number that goes up and down. */
  gauge<L extends string>(name: string, help: string, ...labelNames: L[]): Gauge<L> {
    this.#described.push({ name, help, labels: labelNames, type: "gauge" });
    return new Gauge<L>({ name, help, labelNames, registers: [this.registry] });
  }

  /** A distribution with upper bounds `buckets`. */
  histogram<L extends string>(
    name: string,
    help: string,
    buckets: readonly number[],
    ...labelNames: L[]
  ): Histogram<L> {
    this.#described.push({ name, help, labels: labelNames, type: "histogram" });
    return new Histogram<L>({ name, help, labelNames, buckets: [...buckets], registers: [this.registry] });
  }

  /** A gauge without labels whose value is asked for when the metrics are read. */
  read(name: string, help: string, value: () => number): void {
    this.#described.push({ name, help, labels: [], type: "gauge" });
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(finite(value()));
      },
    });
  }

  /** As {@linkcode Instruments.read}, of a number that only grows. */
  readCounter(name: string, help: string, value: () => number): void {
    this.#described.push({ name, help, labels: [], type: "counter" });
    new Counter({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(finite(value()));
      },
    });
  }
}

/** prom-client throws on NaN and Infinity; a broken number must not break what it measures. */
export function finite(value: number): number {
  return Number.isFinite(value) ? Math.max(0, value) : 0;
}

/** Lets {@linkcode MAX_LABEL_VALUES} values of each label through and calls the rest `other`. */
export function labelCap(): (label: string, value: string) => string {
  const seen = new Map<string, Set<string>>();
  return (label, value) => {
    let values = seen.get(label);
    if (!values) seen.set(label, values = new Set());
    if (values.has(value)) return value;
    if (values.size >= MAX_LABEL_VALUES) return "other";
    values.add(value);
    return value;
  };
}
