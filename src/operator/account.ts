/**
 * What the provider says of itself, kept fresh: its account (A2), its promises (rule 5), or why it does not answer.
 *
 * @module
 */
import { backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { jitter, type Random } from "../core/random.ts";
import { sleep } from "../core/wait.ts";
import { ProviderError, type ProviderInfo } from "../providers/port.ts";
import type { ProviderGateway } from "./gateway.ts";

/** Time between two looks at the account while all is well, in milliseconds: credentials may be changed under us. */
const REFRESH_MS = 60_000;

/** Watches the account. */
export class AccountWatch {
  #info: ProviderInfo | undefined;
  #error: string | undefined;

  constructor(
    private readonly options: {
      readonly gateway: ProviderGateway;
      readonly clock: Clock;
      readonly random: Random;
      readonly log: Logger;
      /** Told when anything of it changed. */
      readonly onChange: () => void;
    },
  ) {}

  /** The newest answer; `undefined` before the first. */
  get info(): ProviderInfo | undefined {
    return this.#info;
  }

  /** Why there is no answer, for people. */
  get error(): string | undefined {
    return this.#error;
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.options;
    let failures = 0;
    while (!signal.aborted) {
      const ok = await this.refresh(signal);
      failures = ok ? 0 : failures + 1;
      const waitMs = ok
        ? jitter(random, REFRESH_MS)
        : backoffMs({ baseMs: 1_000, capMs: 30_000 }, failures - 1, random);
      await sleep(clock, waitMs, signal).catch(() => {}); // the abort itself; the loop sees it
    }
  }

  /** Asks once; false when there was no answer. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const { gateway, log, onChange } = this.options;
    try {
      const info = await gateway.info(signal);
      const before = this.#info;
      this.#info = info;
      this.#error = undefined;
      if (JSON.stringify(before) !== JSON.stringify(info)) {
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
        log.log("warn", "Provider does not answer", { provider: gateway.name, error: message });
        if (this.#info === undefined) onChange();
      }
      return false;
    }
  }
}
