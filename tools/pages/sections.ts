/**
 * Parts of documents that are written by a program, between `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
 *
 * @module
 */

/** `document` with the section `name` replaced. Throws when it has no such section. */
export function withSection(document: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->\n`, `<!-- ${name}: end -->`];
  const from = document.indexOf(begin);
  const to = document.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`The document has no section "${name}"`);
  return `${document.slice(0, from)}${begin}\n${content.trim()}\n\n${document.slice(to)}`;
}
