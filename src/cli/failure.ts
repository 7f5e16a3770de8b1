/**
 * What a person is told when a command fails.
 *
 * @module
 */
import { maskUrls } from "../server/mask.ts";

/** How many causes are followed. */
const MAX_CAUSES = 4;
/** From how many characters on the end of a message and the beginning of its cause are the same words said twice. */
const MIN_OVERLAP = 16;

/** One line: the message and its causes; only an error of the program itself keeps its stack. */
export function describeFailure(error: unknown): string {
  if (isBug(error)) return maskUrls(`this is a defect, please report it: ${error.stack ?? error.message}`);
  let said = "";
  let each = error;
  for (let depth = 0; each !== undefined && each !== null && depth <= MAX_CAUSES; depth++) {
    const text = (each instanceof Error ? each.message || each.name : String(each)).replace(/\s+/g, " ")
      .trim();
    said = said === "" ? text : joined(said, text);
    each = each instanceof Error ? each.cause : undefined;
  }
  return maskUrls(said).slice(0, 2_048);
}

/** What was said and its cause, without the words that both have where they meet, and without a cause that was said. */
function joined(said: string, cause: string): string {
  if (said.includes(cause)) return said;
  for (let length = Math.min(said.length, cause.length); length >= MIN_OVERLAP; length--) {
    if (said.endsWith(cause.slice(0, length))) return said + cause.slice(length);
  }
  return `${said}: ${cause}`;
}

/** What only a mistake in the code throws; `fetch` throws a TypeError for the network, with a cause or a known text. */
function isBug(error: unknown): error is Error {
  return error instanceof ReferenceError || error instanceof RangeError ||
    (error instanceof TypeError && error.cause === undefined &&
      /undefined|null|not a function/.test(error.message));
}
