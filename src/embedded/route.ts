/**
 * From a URL to what it names.
 *
 * @module
 */

/** A path below a group version. */
export interface ResourcePath {
  /** `v1` or `group/version`. */
  readonly gv: string;
  readonly namespace: string | undefined;
  readonly plural: string;
  readonly name: string | undefined;
  readonly subresource: string;
  /** Whether it is one of the old `/watch/` paths. */
  readonly watch: boolean;
}

/** Reads a resource path; `undefined` where it is none. */
export function parsePath(pathname: string): ResourcePath | undefined {
  const parts = pathname.split("/").filter((part) => part !== "").map(decode);
  const root = parts.shift();
  let gv: string;
  if (root === "api") gv = parts.shift() ?? "";
  else if (root === "apis") gv = `${parts.shift() ?? ""}/${parts.shift() ?? ""}`;
  else return undefined;
  const watch = parts[0] === "watch" && parts.length > 1;
  if (watch) parts.shift();
  let namespace: string | undefined;
  const inNamespace = parts[0] === "namespaces" && parts.length > 2 &&
    !(gv === "v1" && ["status", "finalize"].includes(parts[2]!));
  if (inNamespace) {
    parts.shift();
    namespace = parts.shift();
  }
  const [plural, name, ...sub] = parts;
  if (plural === undefined || sub.length > 1) return undefined;
  return { gv, namespace, plural, name, subresource: sub[0] ?? "", watch };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // not an escape after all
  }
}
