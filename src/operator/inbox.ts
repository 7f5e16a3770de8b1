/**
 * A coalescing queue between the reflector and the actors: the newest object per UID, handed on in slices, so that a
 * relist of thousands neither blocks the event loop nor delivers what is already old.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import type { Clock, TimerId } from "../core/clock.ts";

/** What waits for one UID. */
export type Delivery =
  | {
    readonly kind: "upsert";
    readonly object: ExternalDatabase;
    /** The cluster went back in time: the resourceVersion of the newer copy that is no more. */
    readonly lost?: string | undefined;
  }
  | { readonly kind: "gone"; readonly object: ExternalDatabase };

/** Objects handed on before the event loop gets its turn. */
const SLICE = 100;

/** Bounded by the number of UIDs. */
export class Inbox {
  readonly #waiting = new Map<string, Delivery>();
  #timer: TimerId | undefined;
  #closed = false;

  constructor(
    private readonly clock: Clock,
    private readonly deliver: (delivery: Delivery) => void,
    /** Told when a delivery threw: the others are still delivered (F4). */
    private readonly onError: (delivery: Delivery, error: unknown) => void,
  ) {}

  /** Deliveries that wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Queues a delivery; one that waits for the same UID is replaced. */
  push(delivery: Delivery): void {
    if (this.#closed) return;
    const { uid } = delivery.object.metadata;
    const before = this.#waiting.get(uid);
    // What comes after the news that the cluster went back does not take that news away.
    const lost = before?.kind === "upsert" && delivery.kind === "upsert" && delivery.lost === undefined
      ? before.lost
      : undefined;
    this.#waiting.set(uid, lost === undefined ? delivery : { ...delivery, lost } as Delivery);
    this.#timer ??= this.clock.setTimeout(() => this.#drain(), 0);
  }

  /** Drops what waits and takes nothing more. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    if (this.#timer !== undefined) this.clock.clearTimeout(this.#timer);
  }

  #drain(): void {
    this.#timer = undefined;
    let n = 0;
    for (const [uid, delivery] of this.#waiting) {
      if (n++ >= SLICE) break;
      this.#waiting.delete(uid);
      try {
        this.deliver(delivery);
      } catch (error) {
        this.onError(delivery, error);
      }
    }
    if (this.#waiting.size > 0) this.#timer = this.clock.setTimeout(() => this.#drain(), 0);
  }
}
