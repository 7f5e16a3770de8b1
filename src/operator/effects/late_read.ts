/**
 * A read of the CR that a queued mutation relies on, made again where its turn at the cloud comes late.
 *
 * @module
 */
import type { ExternalDatabase } from "../../api/schema.ts";
import { PROOF_MS } from "../../statechart/facts.ts";
import type { Knowledge } from "../../statechart/knowledge.ts";
import type { Learned } from "../../statechart/learned.ts";
import { type EffectEnv, readObject } from "./env.ts";

/** A read of a CR, and when it was sent (monotonic milliseconds). */
export interface Read {
  readonly object: ExternalDatabase;
  readonly readAt: number;
}

/** What was read before a mutation was queued, read anew before it is sent: watches may have been silent since (rule 14). */
export class LateRead {
  /** What it showed, where it was made: no object where that UID is gone. */
  shown: { readonly object: ExternalDatabase | undefined } | undefined;

  /** `judge` throws a {@linkcode SupersededError} where what it shows does not ask for the mutation. */
  constructor(
    private readonly env: EffectEnv,
    private readonly read: Read,
    private readonly signal: AbortSignal,
    private readonly judge: (object: ExternalDatabase | undefined) => void,
  ) {}

  /** Reads again, if the read is older than {@linkcode PROOF_MS}; rejects as `judge` and {@linkcode readObject} do. */
  async whenLate(): Promise<void> {
    const { env, read } = this;
    if (env.clock.monotonic() - read.readAt <= PROOF_MS) return;
    const object = await readObject(env, read.object, this.signal);
    this.shown = { object };
    this.judge(object);
  }
}

/** What a late read of a CR that is not known to be gone showed; nothing where there was none. */
export function showed({ shown }: LateRead): Learned {
  if (shown === undefined) return {};
  return shown.object === undefined ? { gone: true } : { object: shown.object };
}

/** What is known where a change was superseded: by what was read late, or else by what a watch told. */
export function superseded({ object }: Knowledge, again: LateRead): Learned {
  return again.shown === undefined ? { object } : showed(again);
}
