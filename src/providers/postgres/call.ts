/**
 * One call of the port on its way: its signal, its fence, and whether anything that changes something was sent.
 *
 * @module
 */
import { ACTIONS, type CallVerb } from "../classify.ts";
import { ProviderError } from "../port.ts";

/** State of one call. */
export class Call {
  #sent = false;
  #fence: { readonly error: unknown } | undefined;

  constructor(
    readonly verb: CallVerb,
    readonly signal: AbortSignal,
    private readonly beforeSend?: (() => void) | undefined,
    private readonly isLate: () => boolean = () => false,
  ) {}

  /** Whether a mutating statement was handed to the driver: from then on a lost answer is an unknown outcome. */
  get sent(): boolean {
    return this.#sent;
  }

  /**
   * To be called in the tick that hands over a mutating statement. Asks the fence (rule 21) before the first: the
   * others follow on the same session, which the server ends when it hears nothing of it for some seconds. Throws when it
   * is too late for a statement to end within the call: how long a call may take effect would not be bounded (rule 5).
   */
  send(): void {
    this.signal.throwIfAborted();
    if (this.isLate()) {
      const what = this.#sent ? "no time left for the next step" : "no time left to send it";
      throw new ProviderError(this.#sent ? "unknown" : "retryable", `${ACTIONS[this.verb]}: ${what}`, {
        code: "Timeout",
      });
    }
    if (this.#sent) return;
    try {
      this.beforeSend?.();
    } catch (error) {
      this.#fence = { error };
      throw error;
    }
    this.#sent = true;
  }

  /** Nothing of it is there any more: what had been made was taken back. */
  takenBack(): void {
    this.#sent = false;
  }

  /** Whether `error` is what `beforeSend` threw. */
  isFence(error: unknown): boolean {
    return this.#fence !== undefined && this.#fence.error === error;
  }
}
