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
 * Every page that `send` answers, one after the other. Throws what `broken` says when a page token comes again or the
 * pages do not end: a list that goes in circles is not complete, and what it lacks is not absent (S6).
 */
export async function* eachPage<P>(
  send: (pageToken: string | undefined) => Promise<P>,
  tokenOf: (page: P) => string | undefined,
  broken: (how: "circle" | "endless") => ProviderError,
): AsyncGenerator<P> {
  const seen = new Set<string>();
  let pageToken: string | undefined;
  for (let count = 0; count < MAX_PAGES; count++) {
    const page = await send(pageToken);
    yield page;
    pageToken = tokenOf(page);
    if (pageToken === undefined) return;
    if (seen.has(pageToken)) throw broken("circle");
    seen.add(pageToken);
  }
  throw broken("endless");
}

/**
 * Every page of databases that carry all of `tags`, one after the other. Throws a {@linkcode ProviderError} of class
 * `retryable` when the list is not complete, or a page has a database that cannot be read.
 */
export async function* pages(
  provider: DatabaseProvider,
  options: Omit<ListOptions, "pageToken">,
): AsyncGenerator<readonly Database[]> {
  const send = (pageToken: string | undefined) => provider.list({ ...options, pageToken });
  const broken = (how: "circle" | "endless") =>
    new ProviderError(
      "retryable",
      `Listing databases: ${
        how === "circle" ? "the pages go in a circle" : `no end after ${MAX_PAGES} pages`
      }`,
      { code: "InvalidAnswer" },
    );
  for await (const page of eachPage(send, (p) => p.nextPageToken, broken)) {
    refuseUnreadable(page);
    yield page.items;
  }
}
