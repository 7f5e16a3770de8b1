/**
 * What the provider says of itself, kept fresh: its account (A2), its promises (rule 5), or why it does not answer.
 *
 * @module
 */
import { backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import { equal } from "../core/equal.ts";
import type { Logger } from "../core/log.ts";
import { jitter, type Random } from "../core/random.ts";
import { sleep } from "../core/wait.ts";
import { Summons } from "./summons.ts";
import { ProviderError, type ProviderErrorClass, type ProviderInfo } from "../providers/port.ts";
import type { ProviderGateway } from "./gateway.ts";

/** Time between two looks at the account while all is well, in milliseconds: credentials may be changed under us. */
const REFRESH_MS = 60_000;
const RETRY = { baseMs: 1_000, capMs: 30_000 };
/** Looks on request keep this distance, in milliseconds. */
const MIN_DISTANCE_MS = 1_000;
/** How many answers are remembered. */
const MAX_WORDS = 64;

/** Watches the account. */
export class AccountWatch {
  #info: ProviderInfo | undefined;
  #error: string | undefined;
  #errorClass: ProviderErrorClass | undefined;
  #infoAt = Number.NEGATIVE_INFINITY;
  #since = Number.NEGATIVE_INFINITY;
  #words: readonly number[] = [];
  #left: { readonly account: string | undefined; readonly sentAt: number } | undefined;
  #asking: Promise<boolean> | undefined;
  /** What ends a request that many wait for: not the end of the one who began it. */
  #running: AbortSignal | undefined;
  readonly #summons: Summons;

  constructor(
    private readonly options: {
      readonly gateway: ProviderGateway;
      readonly clock: Clock;
      readonly random: Random;
      readonly log: Logger;
      /** Told when anything of it changed. */
      readonly onChange: () => void;
    },
  ) {
    this.#summons = new Summons(options.clock, MIN_DISTANCE_MS);
  }

  /** The newest answer; `undefined` before the first. */
  get info(): ProviderInfo | undefined {
    return this.#info;
  }

  /** Sent time of the request that {@linkcode info} answers, monotonic milliseconds; −Infinity before the first. */
  get infoAt(): number {
    return this.#infoAt;
  }

  /** Answer times of the last requests that named this account, oldest first; none from before it changed. */
  get words(): readonly number[] {
    return this.#words;
  }

  /** Answer time of the first of the requests in a row that named this account; −Infinity where it never changed. */
  get since(): number {
    return this.#since;
  }

  /** The account that was named before this one, and when the last request that named it was sent. */
  get left(): { readonly account: string | undefined; readonly sentAt: number } | undefined {
    return this.#left;
  }

  /** Asks for a look soon: an absence counts only under an account that has said its name since (A2). */
  requestRefresh(): void {
    this.#summons.request();
  }

  /**
   * Resolves once the account has said its name in answer to a request of `since` (monotonic milliseconds) or later, or
   * did not answer, or the signal aborted. Many that wait share a request, which goes on when one of them leaves.
   */
  async heard(since: number, signal: AbortSignal): Promise<void> {
    while (this.#infoAt < since && !signal.aborted) {
      this.#asking ??= this.refresh(this.#running ?? signal).finally(() => this.#asking = undefined);
      if (!(await unlessAborted(this.#asking, signal))) return;
    }
  }

  /** Why there is no answer, for people. */
  get error(): string | undefined {
    return this.#error;
  }

  /** What kind of failure {@linkcode error} tells of. */
  get errorClass(): ProviderErrorClass | undefined {
    return this.#errorClass;
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { random } = this.options;
    this.#running = signal;
    let failures = 0;
    while (!signal.aborted) {
      this.#summons.answer();
      const ok = await this.refresh(signal);
      failures = ok ? 0 : failures + 1;
      // A request does not shorten the back-off of one that fails: many that ask would make it a loop.
      if (ok) await this.#summons.pause(jitter(random, REFRESH_MS), signal);
      else await sleep(this.options.clock, backoffMs(RETRY, failures - 1, random), signal).catch(() => {});
    }
  }

  /** Asks once; false when there was no answer. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const { gateway, clock, log, onChange } = this.options;
    const sentAt = clock.monotonic();
    try {
      const info = await gateway.info(signal);
      const before = this.#info;
      this.#info = info;
      const changed = before !== undefined && before.account !== info.account;
      const answeredAt = clock.monotonic();
      if (changed) {
        this.#since = answeredAt;
        this.#left = { account: before.account, sentAt: this.#infoAt };
      }
      this.#words = changed ? [answeredAt] : [...this.#words.slice(1 - MAX_WORDS), answeredAt];
      this.#infoAt = sentAt;
      this.#error = this.#errorClass = undefined;
      if (!equal(before, info)) {
        log.log("info", "Provider answered", {
          provider: gateway.name,
          account: info.account,
          clientTokens: info.clientTokens,
          readLagSeconds: info.readLagSeconds,
          effectBoundSeconds: info.effectBoundSeconds,
        });
        onChange();
      }
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const message = error instanceof ProviderError ? error.message : String(error);
      if (message !== this.#error) {
        this.#error = message;
        this.#errorClass = error instanceof ProviderError ? error.errorClass : undefined;
        log.log("warn", "Provider does not answer", { provider: gateway.name, error: message });
        if (this.#info === undefined) onChange();
      }
      return false;
    }
  }
}

/** What `answer` resolves with; false as soon as the signal aborts. */
function unlessAborted(answer: Promise<boolean>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const onAbort = () => resolve(false);
    signal.addEventListener("abort", onAbort, { once: true });
    answer.then(resolve).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
