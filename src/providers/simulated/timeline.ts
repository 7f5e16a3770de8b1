/**
 * What is still to happen in the cloud, in order of time. Nothing here sets a timer: whoever looks at the cloud lets
 * first happen what is due, so that a simulation has no events that nobody waits for.
 *
 * @module
 */
import type { CloudCall } from "./types.ts";

/** Something that is due at a monotonic time. `order` decides between equal times: first come, first served. */
export type Job =
  & { readonly at: number; readonly order: number }
  & (
    | {
      readonly kind: "call";
      readonly call: CloudCall;
      readonly account: string;
      /** Sequence number of the ledger's entry. */
      readonly entry: number;
    }
    | { readonly kind: "provisioned" | "modified" | "gone"; readonly id: string; readonly op: number }
    | { readonly kind: "autogrow" | "minorUpgrade"; readonly id: string }
  );

/** A {@linkcode Job} before it is put in. */
export type NewJob = Job extends infer J ? J extends Job ? Omit<J, "order"> : never : never;

function before(a: Job, b: Job): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** A binary heap of jobs, earliest first. */
export class Timeline {
  #heap: Job[] = [];
  #order = 0;

  /** Number of jobs that wait. */
  get size(): number {
    return this.#heap.length;
  }

  /** Puts a job in. */
  push(job: NewJob): void {
    const heap = this.#heap;
    const item = { ...job, order: this.#order++ } as Job;
    let i = heap.push(item) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (before(heap[parent]!, item)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = item;
  }

  /** Takes the earliest job that is due at `now`. */
  popDue(now: number): Job | undefined {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.at > now) return undefined;
    const last = heap.pop()!;
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(item: Job): void {
    const heap = this.#heap;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (before(item, heap[child]!)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = item;
  }

  /** The jobs that wait, in no order. */
  jobs(): readonly Job[] {
    return this.#heap;
  }

  /** The moment of the earliest job, or `undefined`. */
  next(): number | undefined {
    return this.#heap[0]?.at;
  }
}
