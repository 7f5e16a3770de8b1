/**
 * The last server-sent events of a stream, for clients that come back: bounded by number and by bytes.
 *
 * @module
 */

/** Events by their number, the oldest let go first. */
export class EventRing {
  readonly #bounds: { readonly events: number; readonly bytes: number };
  #events: { readonly seq: number; readonly bytes: Uint8Array }[] = [];
  #bytes = 0;
  #last = 0;

  constructor(bounds: { readonly events: number; readonly bytes: number }) {
    this.#bounds = bounds;
  }

  /** Number of the last event; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** Keeps the next event, made for its number. */
  add(make: (seq: number) => Uint8Array): Uint8Array {
    const bytes = make(++this.#last);
    this.#events.push({ seq: this.#last, bytes });
    this.#bytes += bytes.length;
    while (this.#events.length > this.#bounds.events || this.#bytes > this.#bounds.bytes) {
      this.#bytes -= this.#events.shift()?.bytes.length ?? 0;
    }
    return bytes;
  }

  /** The events after `seq`; `undefined` where they are not all held, or are more than `limit` bytes. */
  after(seq: number, limit: number): readonly Uint8Array[] | undefined {
    const first = this.#events[0]?.seq ?? this.#last + 1;
    if (!(seq >= first - 1 && seq <= this.#last)) return undefined;
    const missed = this.#events.slice(this.#events.length - (this.#last - seq)).map(({ bytes }) => bytes);
    return missed.reduce((sum, bytes) => sum + bytes.length, 0) > limit ? undefined : missed;
  }
}
