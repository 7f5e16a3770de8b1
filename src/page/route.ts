/**
 * Where in the page somebody is, as a URL and back: every view can be linked to, and the browser's own buttons work.
 *
 * @module
 */

/** One view. */
export type Route =
  | { readonly view: "fleet" }
  | { readonly view: "chart" }
  | { readonly view: "reasons"; readonly reason?: string }
  | { readonly view: "database"; readonly namespace: string; readonly name: string }
  | { readonly view: "nowhere" };

/** The view of a URL's path. */
export function parseRoute(pathname: string): Route {
  if (pathname === "/") return { view: "fleet" };
  if (/^\/chart\/?$/.test(pathname)) return { view: "chart" };
  const [reasons, reason] = /^\/reasons(?:\/([A-Za-z]*))?$/.exec(pathname) ?? [];
  if (reasons !== undefined) return reason ? { view: "reasons", reason } : { view: "reasons" };
  const [, namespace, name] = /^\/databases\/([^/]+)\/([^/]+)\/?$/.exec(pathname) ?? [];
  try {
    if (namespace && name) {
      return { view: "database", namespace: decodeURIComponent(namespace), name: decodeURIComponent(name) };
    }
  } catch {
    return { view: "nowhere" }; // an escape that is none
  }
  return { view: "nowhere" };
}

/** The path of one database's view. */
export function databasePath(namespace: string, name: string): string {
  return `/databases/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The path of a reason's entry. */
export function reasonPath(reason: string): string {
  return `/reasons/${reason}`;
}
