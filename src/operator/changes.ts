/**
 * One change of a database at a time, whoever asks for it (rules 8 and 14): one that a resource adopts may be being
 * deleted, or may still be changed by a call of unknown outcome, for another that had it before.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { ProviderError } from "../providers/port.ts";

/** What is changed: tags and protection, which another call's late effect does not harm, or values, which it undoes. */
export type ChangeKind = "marks" | "values" | "delete";

/** The turn of one change. */
export interface Turn {
  /** Takes the turn, in the tick that sends the change; throws a `retryable` error where it is another's. */
  take(): void;
  /** The change ended, with its error where it failed. */
  end(error?: unknown): void;
}

/** The changes of an account's databases that may still take effect. */
export class Changes {
  /** Ids of databases that a change or a delete was sent for and not answered. */
  readonly #sent = new Set<string>();
  /** Until when a change of unknown outcome may take effect, by id, in monotonic milliseconds. */
  readonly #unsure = new Map<string, number>();

  /** `effectBoundMs`: how long after its time-out a call may take effect. */
  constructor(private readonly clock: Clock, private readonly effectBoundMs: () => number) {}

  /** A change of a database is asked for. */
  turn(id: string, kind: ChangeKind): Turn {
    let mine = false;
    return {
      take: () => {
        if (mine) return;
        if (this.#sent.has(id)) throw refused("is under way");
        if (kind === "values" && this.#isUnsure(id)) throw refused("may still take effect");
        mine = true;
        this.#sent.add(id);
      },
      end: (error) => {
        if (!mine) return;
        this.#sent.delete(id);
        if (kind === "values" && isUnknown(error)) {
          this.#unsure.set(id, this.clock.monotonic() + this.effectBoundMs());
        }
      },
    };
  }

  #isUnsure(id: string): boolean {
    const now = this.clock.monotonic();
    for (const [each, until] of this.#unsure) if (until <= now) this.#unsure.delete(each);
    return this.#unsure.has(id);
  }
}

/** Whether what was sent may have taken effect, or may yet: all but an answer and a definite refusal. */
function isUnknown(error: unknown): boolean {
  return error !== undefined && (!(error instanceof ProviderError) || error.errorClass === "unknown");
}

function refused(what: string): ProviderError {
  return new ProviderError("retryable", `Another change of this database ${what}`);
}
