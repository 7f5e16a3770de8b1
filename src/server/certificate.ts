/**
 * The server's certificate and key: read, checked, and read again when their files change, as cert-manager changes them.
 *
 * @module
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { messageOf } from "../core/text.ts";
import { sleep } from "../core/wait.ts";

/** Where the pair is. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate, with those of its issuers after it, and its key; PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
  /** When the certificate expires, Unix milliseconds. */
  readonly expiresAt: number;
}

/** The pair cannot be used; the message names the file. */
export class PairError extends Error {
  override readonly name = "PairError";
}

/** How often the files are looked at, in milliseconds. */
export const LOOK_MS = 10_000;

/** Reads the pair. Rejects with {@linkcode PairError}. */
export async function readPair(files: PairFiles): Promise<Pair> {
  // Files that are changed one after the other do not match for a moment.
  const pair = await readOnce(files) ?? await readOnce(files);
  if (pair !== undefined) return pair;
  throw new PairError(`Certificate "${files.certFile}" and key "${files.keyFile}" do not belong together`);
}

/** The pair; `undefined` where the two do not belong together. */
async function readOnce({ certFile, keyFile }: PairFiles): Promise<Pair | undefined> {
  // Where both cannot be read it is always the certificate that is told of: the same word each time, told once.
  const [cert, key] = (await Promise.allSettled([
    readFile("--tls-cert-file", certFile),
    readFile("--tls-key-file", keyFile),
  ])).map((read) => {
    if (read.status === "rejected") throw read.reason;
    return read.value;
  }) as [string, string];
  const certificate = parsed(
    () => new X509Certificate(cert),
    `--tls-cert-file "${certFile}" holds no certificate in PEM`,
  );
  const privateKey: KeyObject = parsed(
    () => createPrivateKey(key),
    `--tls-key-file "${keyFile}" holds no private key in PEM without a passphrase`,
  );
  if (!certificate.checkPrivateKey(privateKey)) return undefined;
  return { cert, key, expiresAt: Date.parse(certificate.validTo) };
}

async function readFile(flag: string, path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    throw new PairError(`Reading the file of ${flag} failed: ${messageOf(cause)}`, { cause });
  }
}

function parsed<T>(parse: () => T, otherwise: string): T {
  try {
    return parse();
  } catch (cause) {
    throw new PairError(otherwise, { cause });
  }
}

/** What {@linkcode followPair} takes. */
export interface FollowOptions extends PairFiles {
  /** The pair that is in use. */
  readonly current: Pair;
  readonly clock: Clock;
  readonly log: Logger;
  /** Takes a new pair into use; what it throws counts as a pair that cannot be used. */
  readonly use: (pair: Pair) => void;
  /** Told when a changed pair cannot be used. */
  readonly onFailure?: (() => void) | undefined;
}

/** Looks at the files until the signal aborts. A pair that cannot be used is told once, and the one before stays. */
export async function followPair(options: FollowOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, use, onFailure } = options;
  let { current } = options;
  let told: string | undefined;
  while (!signal.aborted) {
    await sleep(clock, LOOK_MS, signal).catch(() => {}); // the abort itself
    if (signal.aborted) return;
    try {
      const pair = await readPair(options);
      if (pair.cert !== current.cert || pair.key !== current.key) {
        use(pair);
        current = pair;
        log.log("info", "The server's certificate was changed", {
          expires: new Date(pair.expiresAt).toISOString(),
        });
      }
      told = undefined;
    } catch (error) {
      const message = messageOf(error);
      if (message === told) continue;
      told = message;
      onFailure?.();
      log.log("error", "The server's new certificate cannot be used; the one before stays", {
        error: message,
      });
    }
  }
}
