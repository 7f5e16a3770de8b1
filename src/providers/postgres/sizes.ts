/**
 * How much the databases of one server hold, measured within bounds.
 *
 * Promised: nobody's database is hidden by the size of another; and one that could not be measured this time, for want
 * of time, is told as it was measured last, so that nothing is written of a size that comes and goes (S5).
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { sqlState } from "./errors.ts";
import { type CatalogRow, MEASURE_SECONDS } from "./rows.ts";

/** After sizes took too long none are asked for, for so many milliseconds. */
const UNMEASURED_MS = 600_000;
/** Sizes that are remembered. */
const MAX_SIZES = 20_000;
/** SQLSTATE of a statement that its time-out ended. */
const QUERY_CANCELED = "57014";

type Sized = Pick<CatalogRow, "name" | "size">;

/** The sizes of one server's databases. */
export class Sizes {
  readonly #clock: Pick<Clock, "monotonic">;
  /** By name, as they were measured last. */
  readonly #last = new Map<string, number>();
  #from = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** None are asked for at the moment. */
  get paused(): boolean {
    return this.#clock.monotonic() < this.#from;
  }

  /**
   * Runs a query with sizes. Where they take longer than a statement may (a tenant can have millions of files) it is run
   * without, and so are the next ones for a while.
   */
  async rows<Row extends Sized>(query: (sizes: boolean) => Promise<Row[]>): Promise<Row[]> {
    if (this.paused) return this.#filled(await query(false));
    const begun = this.#clock.monotonic();
    try {
      const rows = await query(true);
      // One that is not there by then may not be measured, or its turn came too late.
      const late = this.#clock.monotonic() - begun >= MEASURE_SECONDS * 1_000;
      for (const row of rows) this.#note(row, late);
      return late ? this.#filled(rows) : rows;
    } catch (error) {
      if (sqlState(error) !== QUERY_CANCELED) throw error;
      this.#from = this.#clock.monotonic() + UNMEASURED_MS;
      return this.#filled(await query(false));
    }
  }

  #note({ name, size }: Sized, late: boolean): void {
    if (name === null || (size === null && late)) return;
    this.#last.delete(name); // so that it becomes the newest
    if (size !== null) this.#last.set(name, size);
    for (const oldest of this.#last.keys()) {
      if (this.#last.size <= MAX_SIZES) break;
      this.#last.delete(oldest);
    }
  }

  #filled<Row extends Sized>(rows: readonly Row[]): Row[] {
    return rows.map((row) => ({ ...row, size: row.size ?? this.#last.get(row.name ?? "") ?? null }));
  }
}
