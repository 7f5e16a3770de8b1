/**
 * Lists in pages and watches: which objects a reader sees, and from which version on.
 *
 * @module
 */
import { messageOf } from "../core/text.ts";
import type { Context } from "./context.ts";
import type { ListOptions } from "./options.ts";
import type { Resource } from "./resource.ts";
import { parseFieldSelector, parseLabelSelector } from "./selectors.ts";
import { badRequest, StatusError, tooLargeVersion } from "./status.ts";
import { keyOf } from "./store.ts";
import type { Form } from "./table.ts";
import type { JsonObject, KubeObject } from "./types.ts";
import { errorWatch, selection, type Watches } from "./watch.ts";

/** One page. */
export interface Page {
  readonly objects: readonly KubeObject[];
  readonly metadata: JsonObject;
}

interface Token {
  readonly rv: number;
  /** The key that the page before ended with. */
  readonly start: string;
}

function encodeToken(token: Token): string {
  const text = JSON.stringify({ v: "meta.k8s.io/v1", rv: token.rv, start: `${token.start}\u0000` });
  return new TextEncoder().encode(text).toBase64({ alphabet: "base64url", omitPadding: true });
}

function decodeToken(text: string): Token {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    const { rv, start } = JSON.parse(new TextDecoder().decode(bytes)) as { rv: number; start: string };
    if (typeof rv !== "number" || typeof start !== "string") throw new Error("rv or start is missing");
    return { rv, start: start.replace("\u0000", "") };
  } catch (error) {
    const why = messageOf(error);
    throw badRequest(`invalid continue token: continue key is not valid: ${why}`);
  }
}

function selectors(resource: Resource, options: ListOptions) {
  const labels = parseLabelSelector(options.labelSelector);
  const fields = parseFieldSelector(options.fieldSelector, resource.selectableFields);
  return { selects: selection(resource, labels, fields.matches), fields };
}

/** Reads one page; throws 400, 410 and 504. */
export function listPage(
  context: Context,
  resource: Resource,
  namespace: string | undefined,
  options: ListOptions,
): Page {
  const { store } = context;
  const { selects, fields } = selectors(resource, options);
  const selective = options.labelSelector !== undefined || options.fieldSelector !== undefined;
  const token = options.continueToken === undefined ? undefined : decodeToken(options.continueToken);
  const rv = token === undefined ? readVersion(context, options) : token.rv > 0 ? token.rv : store.version;
  const name = fields.exact("metadata.name");
  const scope = resource.namespaced ? namespace : undefined;
  const restart = token === undefined ? undefined : encodeToken({ rv: -1, start: token.start });
  let objects: KubeObject[];
  if (name !== undefined && (scope !== undefined || !resource.namespaced) && rv === store.version) {
    const one = store.get(resource.storage, keyOf(scope, name));
    objects = one === undefined ? [] : [one];
  } else objects = store.listAt(resource.storage, scope, rv, restart);
  const from = token === undefined
    ? 0
    : objects.findIndex((object) => pageKey(object, namespace) > token.start);
  const rest = from < 0 ? [] : objects.slice(from);
  const page: KubeObject[] = [];
  let last = rest.length;
  for (let i = 0; i < rest.length; i++) {
    if (!selects(rest[i]!)) continue;
    page.push(rest[i]!);
    if (options.limit > 0 && page.length === options.limit) {
      last = i + 1;
      break;
    }
  }
  const more = last < rest.length && (!selective || rest.slice(last).some(selects));
  const metadata: JsonObject = { resourceVersion: String(rv) };
  if (more) {
    metadata["continue"] = encodeToken({ rv, start: pageKey(page.at(-1)!, namespace) });
    if (!selective) metadata["remainingItemCount"] = rest.length - last;
  }
  return { objects: page, metadata };
}

/** A key within the listed scope, in the form that the server's tokens hold. */
function pageKey(object: KubeObject, namespace: string | undefined): string {
  const { name, namespace: own } = object.metadata;
  return namespace !== undefined || own === undefined ? `/${name}` : `/${own}/${name}`;
}

function readVersion(context: Context, options: ListOptions): number {
  const { store } = context;
  const asked = options.resourceVersion;
  if (asked === undefined) return store.version;
  if (asked > store.version) throw tooLargeVersion(asked, store.version);
  if (options.exact) return asked;
  return Math.max(asked, store.versionBefore(context.cacheLagMs));
}

/** Opens a watch; a version that is forgotten is answered inside the stream, as the server does. */
export function openWatch(
  context: Context,
  watches: Watches,
  resource: Resource,
  namespace: string | undefined,
  options: ListOptions,
  form: Form,
  signal: AbortSignal,
): Response {
  const { store } = context;
  const { selects } = selectors(resource, options);
  const asked = options.resourceVersion;
  const scope = resource.namespaced ? namespace : undefined;
  const fresh = asked === undefined || asked === 0;
  const initial = options.sendInitialEvents === true || (options.sendInitialEvents === undefined && fresh);
  const cached = asked === undefined
    ? store.version
    : Math.max(asked, store.versionBefore(context.cacheLagMs));
  if (initial && cached > store.version) throw tooLargeVersion(cached, store.version);
  const after = initial || fresh ? cached : asked;
  try {
    if (!initial) store.changesAfter(resource.storage, after);
    return watches.open(context, {
      resource,
      namespace: scope,
      selects,
      form,
      after,
      initial: initial ? store.listAt(resource.storage, scope, after).filter(selects) : [],
      initialEnd: options.bookmarks && (options.sendInitialEvents === true || asked === undefined),
      bookmarks: options.bookmarks,
      // The server ends a watch without a time-out after 30 to 60 minutes.
      timeoutMs: (options.timeoutSeconds || 1800 + context.random.next() * 1800) * 1000,
      signal,
    });
  } catch (error) {
    if (error instanceof StatusError && error.parts.code === 410) return errorWatch(error);
    throw error;
  }
}
