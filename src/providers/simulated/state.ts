/**
 * The simulated cloud's state as text, so that it outlives its process.
 *
 * @module
 */
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { CloudModel } from "./model.ts";
import type { Job, NewJob, Timeline } from "./timeline.ts";
import type { TokenRecord } from "./tokens.ts";
import type { CloudRecord, SnapshotRecord } from "./types.ts";

const FORMAT = 1;

const schema = z.object({
  format: z.literal(FORMAT),
  savedAt: z.number(),
  monotonic: z.number(),
  seq: z.int(),
  records: z.array(z.looseObject({ id: z.string(), seq: z.int(), account: z.string() })),
  tokens: z.array(z.looseObject({ account: z.string(), token: z.string(), id: z.string() })),
  snapshots: z.array(z.looseObject({ name: z.string() })),
  jobs: z.array(z.looseObject({ at: z.number(), kind: z.string() })),
});

/** The state as JSON. */
export function dumpState(model: CloudModel, timeline: Timeline, clock: Clock): string {
  const jobs = [...timeline.jobs()].sort((a, b) => a.at - b.at || a.order - b.order);
  return JSON.stringify({
    format: FORMAT,
    savedAt: clock.now(),
    monotonic: clock.monotonic(),
    seq: model.seq,
    records: [...model.store.all()],
    tokens: model.tokens.all(),
    snapshots: model.snapshots,
    jobs: jobs.filter((j) => j.kind !== "call" || j.call.verb !== "list"),
  });
}

/** Puts the state of {@linkcode dumpState} into an empty cloud. Monotonic times move to this process's origin. */
export function loadState(text: string, model: CloudModel, timeline: Timeline, clock: Clock): void {
  let state: z.infer<typeof schema>;
  try {
    state = schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error("Loading the cloud's state: this is not a state that this version wrote", { cause });
  }
  const slept = Math.max(0, clock.now() - state.savedAt);
  const shift = clock.monotonic() - state.monotonic - slept;
  model.seq = state.seq;
  for (const record of state.records as unknown as CloudRecord[]) {
    model.store.add({ ...record, listedFrom: record.listedFrom + shift });
  }
  for (const token of state.tokens as unknown as TokenRecord[]) {
    model.tokens.restore({ ...token, lastUsed: token.lastUsed + shift });
  }
  model.snapshots.push(...state.snapshots as unknown as SnapshotRecord[]);
  for (const job of state.jobs as unknown as Job[]) {
    const { order: _order, ...rest } = job;
    const moved = { ...rest, at: job.at + shift } as NewJob;
    // The ledger begins anew: the entry of a call that was in flight is no longer there.
    timeline.push(moved.kind === "call" ? { ...moved, entry: -1 } : moved);
  }
}
