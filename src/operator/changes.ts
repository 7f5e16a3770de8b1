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

/** For how long it is remembered when the tags of a database were written, in milliseconds: no call waits as long for its turn. */
const TAGGED_MS = 3_600_000;

/** What a {@linkcode Turn} is asked for with. */
export interface TurnOptions {
  /** It writes tags, and with them whose the database is. */
  readonly tags?: boolean | undefined;
  /** Who reads before it changes: what was read is known by it. */
  readonly reader?: AbortSignal | undefined;
}

/** The turn of one change. */
export interface Turn {
  /** When the database was read that the change goes by, in monotonic milliseconds. */
  readonly readAt: number;
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
  /** Until when a delete of unknown outcome may take effect, by id, in monotonic milliseconds. */
  readonly #doomed = new Map<string, number>();
  /** Until when tags that were written with unknown outcome may show, by id, in monotonic milliseconds. */
  readonly #retagging = new Map<string, number>();
  /** When the tags of a database were written last, or may have been, by id, in monotonic milliseconds. */
  readonly #tagged = new Map<string, number>();
  /** When whoever is known by a signal sent the last read of a database, by id, in monotonic milliseconds. */
  readonly #reads = new WeakMap<AbortSignal, Map<string, number>>();

  /** `effectBoundMs`: how long after its time-out a call may take effect. */
  constructor(private readonly clock: Clock, private readonly effectBoundMs: () => number) {}

  /** A read of a database was sent. */
  read(id: string, reader: AbortSignal): void {
    const reads = this.#reads.get(reader) ?? new Map<string, number>();
    this.#reads.set(reader, reads.set(id, this.clock.monotonic()));
  }

  /** A change of a database is asked for, by what was read of it. */
  turn(id: string, kind: ChangeKind, { tags = false, reader }: TurnOptions = {}): Turn {
    let mine = false;
    const read = reader && this.#reads.get(reader)?.get(id);
    const readAt = read ?? this.clock.monotonic();
    return {
      readAt,
      take: () => {
        if (mine) return;
        if (this.#sent.has(id)) throw refused("is under way");
        if (kind === "values" && this.#isWithin(this.#unsure, id)) throw refused("may still take effect");
        // Neither retained nor adopted is what may be deleted yet (S3, rule 16).
        if (tags && this.#isWithin(this.#doomed, id)) throw refused("may still take effect");
        // Nor is what another may have adopted changed or deleted, whatever a read shows meanwhile (S3).
        if (kind !== "marks" && this.#isWithin(this.#retagging, id)) throw refused("may still take effect");
        // Whose it is was read before that: it may be another's by now (S3).
        if ((this.#tagged.get(id) ?? Number.NEGATIVE_INFINITY) > readAt) {
          throw refused("was made since it was read");
        }
        mine = true;
        this.#sent.add(id);
      },
      end: (error) => {
        if (!mine) return;
        this.#sent.delete(id);
        if (tags && (error === undefined || isUnknown(error))) this.#noteTagged(id);
        if (!isUnknown(error)) return;
        const until = this.clock.monotonic() + this.effectBoundMs();
        if (tags) this.#retagging.set(id, until);
        if (kind === "marks") return;
        (kind === "values" ? this.#unsure : this.#doomed).set(id, until);
      },
    };
  }

  #noteTagged(id: string): void {
    const now = this.clock.monotonic();
    for (const [each, at] of this.#tagged) {
      if (at > now - TAGGED_MS) break; // in the order in which they were noted
      this.#tagged.delete(each);
    }
    this.#tagged.delete(id);
    this.#tagged.set(id, now);
  }

  #isWithin(times: Map<string, number>, id: string): boolean {
    const now = this.clock.monotonic();
    for (const [each, until] of times) if (until <= now) times.delete(each);
    return times.has(id);
  }
}

/** Whether what was sent may have taken effect, or may yet: all but an answer and a definite refusal. */
function isUnknown(error: unknown): boolean {
  return error !== undefined && (!(error instanceof ProviderError) || error.errorClass === "unknown");
}

function refused(what: string): ProviderError {
  return new ProviderError("retryable", `Another change of this database ${what}`);
}
