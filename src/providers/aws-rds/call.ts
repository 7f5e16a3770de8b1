/**
 * One call of the port on its way to AWS: its signal, its fence, and what is known of what it sent.
 *
 * @module
 */
import type { CallVerb } from "../classify.ts";
import type { AwsKeys } from "./keys.ts";

/** Stands for what `beforeSend` threw, which no library shall touch on its way up. */
class FenceSignal extends Error {
  override readonly name = "FenceSignal";
}

/** State of one call. */
export class Call {
  #mayHaveEffect = false;
  #before = false;
  #fence: { readonly error: unknown } | undefined;
  /** `Retry-After` of the newest answer. */
  retryAfter: string | undefined;
  /** Signed with these. */
  keys: AwsKeys | undefined;

  constructor(
    readonly verb: CallVerb,
    readonly signal: AbortSignal,
    private readonly beforeSend?: (() => void) | undefined,
    /** Not to be seen in any message. */
    readonly secrets: readonly string[] = [],
  ) {}

  /** Whether a request that changes something was handed over and not refused: a lost answer is an unknown outcome. */
  get mayHaveEffect(): boolean {
    return this.#mayHaveEffect;
  }

  /**
   * To be called in the tick that hands a request over. Asks the fence before each that changes something (rule 21), a
   * second of the same call too.
   */
  send(mutates: boolean): void {
    this.signal.throwIfAborted();
    this.retryAfter = undefined;
    if (!mutates) return;
    try {
      this.beforeSend?.();
    } catch (error) {
      this.#fence = { error };
      throw new FenceSignal();
    }
    this.#before = this.#mayHaveEffect;
    this.#mayHaveEffect = true;
  }

  /** The newest request was refused by a definite answer: it changed nothing. */
  refused(): void {
    this.#mayHaveEffect = this.#before;
  }

  /** What `beforeSend` threw. */
  get fence(): { readonly error: unknown } | undefined {
    return this.#fence;
  }
}
