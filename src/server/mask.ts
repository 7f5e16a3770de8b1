/**
 * Masks credentials inside URLs, for every text that leaves the process.
 *
 * @module
 */

/**
 * `scheme://user:password@` and `scheme://token@`. The first form lets the password hold `/`, `?` and `#`, which
 * people paste unescaped; masking a little too much is the cheaper mistake.
 */
const USERINFO =
  /\b([a-z][a-z0-9+.-]{0,31}:\/\/)(?:[^\s:@"'<>]{0,256}:[^\s"'<>]{0,1024}@|[^\s/?#@"'<>]{1,1024}@)/gi;

/** `text` with the credentials of every URL in it replaced by `***`. */
export function maskUrls(text: string): string {
  return text.includes("://") ? text.replace(USERINFO, "$1***@") : text;
}
