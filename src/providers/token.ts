/**
 * The bearer token: given, or in a file that somebody else rotates (F5).
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { DeadlineError, withDeadline } from "../core/wait.ts";

/** How long a token from a file is used before the file is read again, in milliseconds. */
const FRESH_MS = 60_000;

/** Where the token comes from. */
export interface TokenOptions {
  readonly clock: Clock;
  readonly token?: string | undefined;
  /** Path of a file; white space around the token is ignored. */
  readonly tokenFile?: string | undefined;
  /** Gives the token in force, asked before every call; stands over the other two. */
  readonly currentToken?: (() => Promise<string>) | undefined;
  /** @default Deno.readTextFile */
  readonly readFile?: ((path: string) => Promise<string>) | undefined;
}

/** Gives the token in force. */
export interface TokenSource {
  /**
   * The token, or `undefined` where there is none to send. Rejects, with an Error that names the file and quotes
   * nothing of it, when the file cannot be read in time or holds no token.
   */
  current(signal?: AbortSignal): Promise<string | undefined>;
  /** The cloud refused `token`: the next call reads the file again. */
  refused(token: string | undefined): void;
}

/** Makes the source. Throws when the given token cannot be sent. */
export function createTokenSource(options: TokenOptions): TokenSource {
  const { clock, token, tokenFile, currentToken } = options;
  if (currentToken !== undefined) {
    return { current: async () => sendable(await currentToken()), refused: () => {} };
  }
  if (tokenFile === undefined) {
    const fixed = token === undefined ? undefined : sendable(token);
    return { current: () => Promise.resolve(fixed), refused: () => {} };
  }
  let held: { readonly token: string; readonly at: number } | undefined;
  return {
    async current(signal) {
      const at = clock.monotonic();
      if (held === undefined || at - held.at >= FRESH_MS) {
        held = { token: await readTokenFile(tokenFile, options, signal), at };
      }
      return held.token;
    },
    refused(used) {
      if (held?.token === used) held = undefined;
    },
  };
}

/** Longest wait for a token file, in milliseconds: it may be on a network drive. */
const TOKEN_FILE_MS = 5_000;

/**
 * The token in a file. Rejects, with an Error that names the file and quotes nothing of it, when it cannot be read in
 * time or holds no token.
 */
export async function readTokenFile(
  path: string,
  { clock, readFile = Deno.readTextFile }: Pick<TokenOptions, "clock" | "readFile">,
  signal?: AbortSignal,
): Promise<string> {
  const action = `Reading the token file "${path}"`;
  const wait = { clock, ms: TOKEN_FILE_MS, action, signal };
  const text = await withDeadline(wait, () => readFile(path)).catch((cause: unknown) => {
    if (cause instanceof DeadlineError || signal?.aborted) throw cause;
    // Deno's own words end in the path once more.
    const why = cause instanceof Error ? cause.message.replace(/: readfile '.*'$/s, "") : String(cause);
    throw new Error(`${action}: ${why}`, { cause });
  });
  return sendable(text, action);
}

/** The token without white space around it. Throws, without quoting it, when it cannot stand in a header. */
function sendable(text: string, action = "Reading the provider's token"): string {
  const token = text.trim();
  if (!/^[\x21-\x7e]{1,16384}$/.test(token)) {
    throw new Error(`${action}: it is empty, too long, or has characters that a header cannot carry`);
  }
  return token;
}
