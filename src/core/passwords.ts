/**
 * Secret randomness, injected like all randomness: passwords and the names of their revisions.
 *
 * @module
 */

/** A source of unpredictable bytes. */
export interface Entropy {
  /** `n` bytes. */
  bytes(n: number): Uint8Array;
}

/** The platform's cryptographic source. */
export const systemEntropy: Entropy = { bytes: (n) => crypto.getRandomValues(new Uint8Array(n)) };

/** Needs no escape in a URL, a shell, or any database's SQL. */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** 190 bits; RDS takes at most 41 characters. */
const PASSWORD_LENGTH = 32;
/** Of 62 characters: no two revisions of one database ever meet. */
const REVISION_LENGTH = 12;

/** A new password: 32 letters and digits. */
export function newPassword(entropy: Entropy): string {
  return text(entropy, PASSWORD_LENGTH);
}

/** A new name for a password, which says nothing of it. */
export function newRevision(entropy: Entropy): string {
  return text(entropy, REVISION_LENGTH);
}

function text(entropy: Entropy, length: number): string {
  let result = "";
  while (result.length < length) {
    for (const byte of entropy.bytes(length)) {
      // Of 64 values two have no character: left out, so that each is as likely.
      const char = ALPHABET[byte & 63];
      if (char !== undefined && result.length < length) result += char;
    }
  }
  return result;
}
