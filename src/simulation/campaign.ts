/**
 * Runs many seeds, and adds up what they bring.
 *
 * @module
 */
import { runAndCompare } from "./compare.ts";
import { Coverage } from "./coverage.ts";
import { drawPlan } from "./draw.ts";
import { pinFlags, pinned, type Pins } from "./pins.ts";
import type { Plan } from "./plan.ts";
import type { RunOptions, RunResult, Violation } from "./run.ts";

/** A world in which a promise was broken. */
export interface Failure {
  /** What people call it. */
  readonly name: string;
  /** The seed, where it is one's. */
  readonly seed: number;
  readonly violation: Violation;
  /** The command that runs it again. */
  readonly replay: string;
}

/** What a batch of worlds brought. */
export interface Batch {
  readonly count: number;
  readonly failures: readonly Failure[];
  readonly coverage: Coverage["counts"];
  /** The slowest to settle after its faults, in milliseconds. */
  readonly settledAfterMs: number;
  /** Virtual milliseconds simulated. */
  readonly virtualMs: number;
  /** Hash of everything that happened, by name of the world; where it was asked for. */
  readonly digests: Readonly<Record<string, string>>;
}

/** Adds up runs. */
export class Tally {
  readonly #coverage = new Coverage();
  readonly #failures: Failure[] = [];
  readonly #digests: Record<string, string> = {};
  #count = 0;
  #settledAfterMs = 0;
  #virtualMs = 0;

  /** Runs one world; an error of the simulation itself is a failure too. */
  async run(
    world: Omit<Failure, "violation">,
    plan: Plan,
    options: RunOptions,
  ): Promise<RunResult | undefined> {
    this.#count++;
    let result: RunResult;
    try {
      result = await runAndCompare(plan, options);
    } catch (error) {
      const what = error instanceof Error ? error.stack ?? error.message : String(error);
      this.#failures.push({ ...world, violation: { oracle: "simulation", what, at: 0 } });
      return undefined;
    }
    this.#coverage.merge(result.coverage);
    this.#settledAfterMs = Math.max(this.#settledAfterMs, result.settledAfterMs ?? 0);
    this.#virtualMs += result.ms;
    if (options.digest === true) this.#digests[world.name] = result.digest;
    if (result.violation !== undefined) this.#failures.push({ ...world, violation: result.violation });
    return result;
  }

  /** Adds what others added up. */
  add(batch: Batch): void {
    this.#count += batch.count;
    this.#failures.push(...batch.failures);
    this.#coverage.merge(batch.coverage);
    this.#settledAfterMs = Math.max(this.#settledAfterMs, batch.settledAfterMs);
    this.#virtualMs += batch.virtualMs;
    Object.assign(this.#digests, batch.digests);
  }

  get batch(): Batch {
    return {
      count: this.#count,
      failures: this.#failures,
      coverage: this.#coverage.counts,
      settledAfterMs: this.#settledAfterMs,
      virtualMs: this.#virtualMs,
      digests: this.#digests,
    };
  }
}

/** What {@linkcode runSeeds} may be told beside what a run may. */
export interface SeedsOptions extends RunOptions {
  readonly pins?: Pins;
  /** Hashes everything that happens. @default false */
  readonly digests?: boolean;
  /** Ends it early, between two seeds. */
  readonly stop?: () => boolean;
}

/** Runs `count` seeds from `from`. */
export async function runSeeds(from: number, count: number, options: SeedsOptions = {}): Promise<Batch> {
  const { pins = {}, digests = false, stop, ...run } = options;
  const tally = new Tally();
  for (let seed = from; seed < from + count && !stop?.(); seed++) {
    const replay = `deno task simulate --seed ${seed}${pinFlags(pins)}`;
    const plan = pinned(drawPlan(seed), pins);
    await tally.run({ name: `seed ${seed}`, seed, replay }, plan, { ...run, digest: digests });
  }
  return tally.batch;
}
