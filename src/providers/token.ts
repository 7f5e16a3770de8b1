/**
 * The bearer token: given, or in a file that somebody else rotates (F5).
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";

/** How long a token from a file is used before the file is read again, in milliseconds. */
const FRESH_MS = 60_000;

/** Where the token comes from. */
export interface TokenOptions {
  readonly clock: Clock;
  readonly token?: string | undefined;
  /** Path of a file; white space around the token is ignored. */
  readonly tokenFile?: string | undefined;
  /** @default Deno.readTextFile */
  readonly readFile?: ((path: string) => Promise<string>) | undefined;
}

/** Gives the token in force. */
export interface TokenSource {
  /** The token, or `undefined` where there is none to send. Rejects when the file cannot be read or holds no token. */
  current(): Promise<string | undefined>;
  /** The cloud refused `token`: the next call reads the file again. */
  refused(token: string | undefined): void;
}

/** Makes the source. Throws when the given token cannot be sent. */
export function createTokenSource(options: TokenOptions): TokenSource {
  const { clock, token, tokenFile, readFile = Deno.readTextFile } = options;
  if (tokenFile === undefined) {
    const fixed = token === undefined ? undefined : sendable(token);
    return { current: () => Promise.resolve(fixed), refused: () => {} };
  }
  let held: { readonly token: string; readonly at: number } | undefined;
  return {
    async current() {
      const at = clock.monotonic();
      if (held === undefined || at - held.at >= FRESH_MS) {
        held = { token: sendable(await readFile(tokenFile)), at };
      }
      return held.token;
    },
    refused(used) {
      if (held?.token === used) held = undefined;
    },
  };
}

/** The token without white space around it. Throws, without quoting it, when it cannot stand in a header. */
function sendable(text: string): string {
  const token = text.trim();
  if (!/^[\x21-\x7e]{1,16384}$/.test(token)) {
    throw new Error(
      "Reading the provider's token: it is empty, too long, or has characters that a header cannot carry",
    );
  }
  return token;
}
