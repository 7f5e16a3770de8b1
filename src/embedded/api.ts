/**
 * A Kubernetes API in memory, behind one `fetch`: enough that kubectl and `@kubernetes/client-node` work against it
 * unchanged. It is a double of kube-apiserver 1.37: `tests/contract/kube/` runs on both, and a difference is a defect.
 *
 * It reads no ambient clock and no ambient randomness, so that it can live inside a deterministic simulation.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { type Logger, silentLogger } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { parseYamlObject } from "./body.ts";
import { Context } from "./context.ts";
import { startControllers } from "./controllers.ts";
import {
  AGGREGATED,
  aggregated,
  coreVersions,
  groupList,
  oneGroup,
  resourceList,
  VERSION,
  wantsAggregated,
} from "./discovery.ts";
import { brokenConnection, type Faults, withFault } from "./faults.ts";
import { handleResource, verbOf } from "./handler.ts";
import { openApiDocument, openApiIndex } from "./openapi.ts";
import { answerReview, SELF_REVIEW } from "./review.ts";
import { parsePath, type ResourcePath } from "./route.ts";
import { failure, noSuchResource, StatusError } from "./status.ts";
import { keyOf, Store } from "./store.ts";
import type { JsonObject, KubeObject } from "./types.ts";
import { Watches } from "./watch.ts";

export type { Fault, FaultRequest, Faults } from "./faults.ts";
export type { WatchFault } from "./watch.ts";

/** What an embedded API is made with. */
export interface EmbeddedApiOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Logger;
  /**
   * What requests must carry, as a bearer token or as the first part of their path; absent: everybody may do everything.
   * The path is for kubectl, which sends no token over plain HTTP.
   */
  readonly token?: string | undefined;
  /** @default 60_000 */
  readonly bookmarkIntervalMs?: number;
  /** Changes that stay known for watches and pages, over all kinds; older ones answer 410. @default 10_000 */
  readonly historyLimit?: number;
  /** How much later watches and reads with `resourceVersion=0` see a change, in milliseconds. @default 0 */
  readonly watchCacheLag?: number;
  /** Misbehaviour, asked for on each request. */
  readonly faults?: Faults;
}

/** An API in memory. */
export interface EmbeddedApi {
  /** Answers a request. Rejects only where a fault breaks the connection or the request's signal aborts. */
  fetch(request: Request): Promise<Response>;
  /** Ends every watch and timer; later requests are refused as by a server that is gone. */
  close(): void;
  /** The objects, for assertions on the state of the world. */
  readonly store: Store;
  /** The open watches, and how to break them. */
  readonly watches: Watches;
}

/** Makes an API with the namespaces `default`, `kube-system`, `kube-public` and `kube-node-lease`. */
export function createEmbeddedApi(options: EmbeddedApiOptions): EmbeddedApi {
  const { clock, random, log = silentLogger, historyLimit = 10_000, bookmarkIntervalMs = 60_000 } = options;
  const store = new Store({ clock, historyLimit });
  const context = new Context(store, clock, random, options.watchCacheLag ?? 0, bookmarkIntervalMs);
  const watches = new Watches();
  startControllers(context);
  for (const name of ["default", "kube-system", "kube-public", "kube-node-lease"]) {
    addNamespace(context, name);
  }
  let closed = false;
  return {
    store,
    watches,
    async fetch(request) {
      if (closed) throw brokenConnection();
      const url = new URL(request.url);
      const admitted = admit(request, url, options.token);
      const path = parsePath(url.pathname);
      const verb = path === undefined ? "other" : verbOf(request, path, url.searchParams);
      const fault = options.faults?.({
        method: request.method,
        pathname: url.pathname,
        verb,
        plural: path?.plural,
        namespace: path?.namespace,
        name: path?.name,
        subresource: path?.subresource ?? "",
      });
      const answer = await withFault(
        context,
        fault,
        request.signal,
        () => admitted ? respond(context, watches, request, url, path, log) : Promise.resolve(unauthorised()),
      );
      log.log("debug", "Request answered", { verb, path: url.pathname, status: answer.status });
      return answer;
    },
    close() {
      closed = true;
      watches.break("end");
      context.close();
    },
  };
}

function addNamespace(context: Context, name: string): void {
  const metadata = {
    name,
    uid: context.uuid(),
    resourceVersion: "",
    creationTimestamp: context.now(),
    labels: { "kubernetes.io/metadata.name": name },
  };
  const object = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata,
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  };
  if (context.store.get("/namespaces", keyOf(undefined, name)) === undefined) {
    context.store.put("/namespaces", object as unknown as KubeObject);
  }
}

function json(
  body: JsonObject,
  status = 200,
  type = "application/json",
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": type, ...headers } });
}

/** What the server says of a path below an unknown group. */
function pageNotFound(): Response {
  return new Response("404 page not found\n", {
    status: 404,
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
}

/** Whether a request may come in; takes the secret off its path. */
function admit(request: Request, url: URL, token: string | undefined): boolean {
  if (token === undefined || OPEN_PATHS.includes(url.pathname)) return true;
  const prefix = `/${encodeURIComponent(token)}/`;
  if (url.pathname.startsWith(prefix)) {
    url.pathname = url.pathname.slice(prefix.length - 1);
    return true;
  }
  return request.headers.get("authorization") === `Bearer ${token}`;
}

function unauthorised(): Response {
  return json(failure({ code: 401, reason: "Unauthorized", message: "Unauthorized" }), 401);
}

const OPEN_PATHS = ["/healthz", "/livez", "/readyz", "/version"];

async function respond(
  context: Context,
  watches: Watches,
  request: Request,
  url: URL,
  path: ResourcePath | undefined,
  log: Logger,
): Promise<Response> {
  try {
    const meta = metaAnswer(context, request, url);
    if (meta !== undefined) return meta;
    if (url.pathname === SELF_REVIEW && request.method === "POST") {
      return json(answerReview(parseYamlObject(await request.text())), 201);
    }
    if (path === undefined) return pageNotFound();
    const resource = context.registry.find(path.gv, path.plural);
    if (resource === undefined || (resource.namespaced ? false : path.namespace !== undefined)) {
      const builtIn = context.registry.all().some((one) =>
        !one.custom && `${one.group === "" ? "" : `${one.group}/`}${one.version}` === path.gv
      );
      if (!builtIn) return pageNotFound();
      throw noSuchResource();
    }
    if (
      resource.namespaced && path.namespace === undefined && request.method !== "GET" &&
      request.method !== "HEAD"
    ) {
      return resource.custom ? pageNotFound() : json(noSuchResource().body, 404);
    }
    if (resource.namespaced && path.namespace === undefined && path.name !== undefined) return pageNotFound();
    const answer = await handleResource(context, watches, {
      request,
      query: url.searchParams,
      path,
      resource,
    });
    return request.method === "HEAD" ? new Response(null, answer) : answer;
  } catch (error) {
    if (error instanceof StatusError) {
      return json(error.body, error.parts.code, "application/json", error.parts.headers);
    }
    if (request.signal.aborted) throw error;
    const why = messageOf(error);
    log.log("error", "The embedded API failed to answer", { path: url.pathname, error: why });
    return json(
      failure({ code: 500, reason: "InternalError", message: `Internal error occurred: ${why}` }),
      500,
    );
  }
}

/** Answers what is no resource: health, version, discovery, OpenAPI. */
function metaAnswer(context: Context, request: Request, url: URL): Response | undefined {
  const { registry } = context;
  const accept = request.headers.get("accept");
  const parts = url.pathname.split("/").filter((part) => part !== "");
  const at = parts.join("/");
  if (["healthz", "livez", "readyz"].includes(parts[0] ?? "")) return new Response("ok");
  if (at === "version") return json(VERSION);
  if (at === "api") {
    return wantsAggregated(accept)
      ? json(aggregated(registry, true), 200, AGGREGATED)
      : json(coreVersions(url.host));
  }
  if (at === "apis") {
    return wantsAggregated(accept)
      ? json(aggregated(registry, false), 200, AGGREGATED)
      : json(groupList(registry));
  }
  if (at === "openapi/v3") return json(openApiIndex(registry));
  if (parts[0] === "openapi") {
    const gv = parts[2] === "api" ? parts[3] : parts.slice(3).join("/");
    return parts[1] === "v3" && gv !== undefined && registry.has(gv)
      ? json(openApiDocument(registry, gv))
      : pageNotFound();
  }
  if (parts[0] === "api" && parts.length === 2) {
    return registry.has(parts[1]!) ? json(resourceList(registry, parts[1]!)) : pageNotFound();
  }
  if (parts[0] === "apis" && parts.length === 2) {
    const group = oneGroup(registry, parts[1]!);
    return group === undefined ? pageNotFound() : json(group);
  }
  if (parts[0] === "apis" && parts.length === 3) {
    const gv = `${parts[1]}/${parts[2]}`;
    return registry.has(gv) ? json(resourceList(registry, gv)) : pageNotFound();
  }
  return undefined;
}
