/**
 * What a person is told when a command fails.
 *
 * @module
 */
import { maskUrls } from "../server/mask.ts";

/** How many causes are followed. */
const MAX_CAUSES = 4;

/** One line: the message and its causes; only an error of the program itself keeps its stack. */
export function describeFailure(error: unknown): string {
  if (isBug(error)) return maskUrls(`this is a defect, please report it: ${error.stack ?? error.message}`);
  const parts: string[] = [];
  for (let each = error; each !== undefined && each !== null && parts.length <= MAX_CAUSES;) {
    const text = (each instanceof Error ? each.message || each.name : String(each)).replace(/\s+/g, " ")
      .trim();
    if (!parts.some((part) => part.includes(text))) parts.push(text);
    each = each instanceof Error ? each.cause : undefined;
  }
  return maskUrls(parts.join(": ")).slice(0, 2_048);
}

/** What only a mistake in the code throws; `fetch` throws a TypeError for the network, with a cause or a known text. */
function isBug(error: unknown): error is Error {
  return error instanceof ReferenceError || error instanceof RangeError ||
    (error instanceof TypeError && error.cause === undefined &&
      /undefined|null|not a function/.test(error.message));
}
