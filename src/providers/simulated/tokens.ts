/**
 * Client tokens: what makes a repeated create give the first database.
 *
 * @module
 */
import { fingerprint } from "./bodies.ts";
import type { CloudSettings } from "./settings.ts";
import { conflict } from "./store.ts";
import type { CreateBody } from "./types.ts";

/** What a client token stands for. */
export interface TokenRecord {
  readonly account: string;
  readonly token: string;
  readonly fingerprint: string;
  /** Id of the database that was made. */
  readonly id: string;
  /** Monotonic; a token is forgotten `tokenMemoryMs` after it. */
  lastUsed: number;
}

/** The tokens of all accounts. */
export class TokenBook {
  readonly #records = new Map<string, TokenRecord>();

  constructor(private readonly settings: CloudSettings) {}

  /** All of them, for the disk. */
  all(): TokenRecord[] {
    return [...this.#records.values()];
  }

  /** Puts one back from the disk. */
  restore(record: TokenRecord): void {
    this.#records.set(word(record.account, record.token), record);
  }

  /** The id that the token of `body` gave, if it is remembered. Throws 409 `IdempotencyMismatch` for another request. */
  use(body: CreateBody, account: string, at: number): string | undefined {
    const { clientToken } = body;
    if (clientToken === undefined || !this.settings.clientTokens) return undefined;
    const known = this.#records.get(word(account, clientToken));
    if (known === undefined || !this.#remembered(known, at)) return undefined;
    known.lastUsed = at;
    if (known.fingerprint !== fingerprint(body)) {
      throw conflict("IdempotencyMismatch", "The client token was used with other parameters");
    }
    return known.id;
  }

  /** Remembers that the token of `body` made `id`. */
  remember(body: CreateBody, account: string, id: string, at: number): void {
    const { clientToken: token } = body;
    if (token === undefined || !this.settings.clientTokens) return;
    this.restore({ account, token, fingerprint: fingerprint(body), id, lastUsed: at });
  }

  #remembered(token: TokenRecord, at: number): boolean {
    const { tokenMemoryMs, effectBoundMs } = this.settings;
    return tokenMemoryMs === 0 || at - token.lastUsed <= Math.max(tokenMemoryMs, effectBoundMs);
  }
}

function word(account: string, token: string): string {
  return `${account}\n${token}`;
}
