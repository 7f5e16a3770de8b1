/**
 * All pages of a list, for a cloud whose pages might never end.
 *
 * @module
 */
import type { Database, DatabasePage, DatabaseProvider, ListOptions } from "./port.ts";
import { ProviderError } from "./port.ts";

/** Most pages of one list: with 100 a page a million databases. */
const MAX_PAGES = 10_000;

/**
 * For who must know of every database: throws a {@linkcode ProviderError} of class `retryable` when the page holds one
 * that cannot be read, for it may be the very one that is looked for (S6).
 */
export function refuseUnreadable({ unreadable = [] }: DatabasePage): void {
  const [first] = unreadable;
  if (first === undefined) return;
  throw new ProviderError("retryable", `Listing databases: the provider answered, but ${first.message}`, {
    code: "InvalidAnswer",
  });
}

/**
 * Every page of databases that carry all of `tags`, one after the other. Throws a {@linkcode ProviderError} of class
 * `retryable` when a page token comes again or the pages do not end: a list that goes in circles is not complete, and
 * what it lacks is not absent (S6). So does a page with a database that cannot be read.
 */
export async function* pages(
  provider: DatabaseProvider,
  options: Omit<ListOptions, "pageToken">,
): AsyncGenerator<readonly Database[]> {
  const seen = new Set<string>();
  let pageToken: string | undefined;
  for (let count = 0; count < MAX_PAGES; count++) {
    const page = await provider.list({ ...options, pageToken });
    refuseUnreadable(page);
    yield page.items;
    pageToken = page.nextPageToken;
    if (pageToken === undefined) return;
    if (seen.has(pageToken)) {
      throw new ProviderError("retryable", "Listing databases: the pages go in a circle", {
        code: "InvalidAnswer",
      });
    }
    seen.add(pageToken);
  }
  throw new ProviderError("retryable", `Listing databases: no end after ${MAX_PAGES} pages`, {
    code: "InvalidAnswer",
  });
}
