/**
 * Facts that many steps of many actors have in common, kept once.
 *
 * @module
 */
import { maskUrls } from "../../server/mask.ts";

/** Entries that one table holds; what comes after is not shared, so that no cloud's words can make it grow for ever. */
const MAX_ENTRIES = 2_000;

/** Makes a table that gives one value for each pair of keys. */
export function shared<T>(make: (first: string, second: string) => T): (first: string, second: string) => T {
  const table = new Map<string, Map<string, T>>();
  let size = 0;
  return (first, second) => {
    let row = table.get(first);
    let value = row?.get(second);
    if (value !== undefined) return value;
    value = make(first, second);
    if (size >= MAX_ENTRIES) return value;
    if (row === undefined) table.set(first, row = new Map());
    row.set(second, value);
    size++;
    return value;
  };
}

/** The same text for equal texts: one that came with an answer does not keep that answer's copy. */
export const sharedText: (text: string) => string = (() => {
  const of = shared((text) => text);
  return (text: string) => of(text, "");
})();

/** Characters of a message that are kept. */
const MAX_MESSAGE = 400;

/** What is kept of a message: masked first and cut after, so that no cut hides the end of a credential from the mask. */
export function messageKept(message: string): string {
  return cut(maskUrls(message.slice(0, 4 * MAX_MESSAGE)), MAX_MESSAGE);
}

/** The first `most` characters of a text, and a sign that there were more; what is cut off is kept by nobody. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  // A slice alone would keep the whole text alive.
  return JSON.parse(JSON.stringify(`${text.slice(0, most - 1)}…`));
}
