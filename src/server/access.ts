/**
 * Lets in whom the API server lets in: a request's token is reviewed, and then whether its owner may `get` the path.
 *
 * Promises: what is not clearly allowed is refused; health is open, for the kubelet has no token; answers are kept for
 * {@linkcode ALLOWED_MS} at most, by a digest of the token and never by the token. The number of answers, of requests that
 * wait and of reviews a second is bounded, and strangers, however many, take nothing of that from those who were let in. A
 * stream that was let in ends after {@linkcode STREAM_MS}, so that it is reviewed anew.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { messageOf } from "../core/text.ts";
import type { Reviews } from "../kube/reviews.ts";
import { type Kept, Lane, type Visitor, Visitors } from "./visitors.ts";

/** How long who a token belongs to, and that he may read, counts as known, in milliseconds. */
export const ALLOWED_MS = 60_000;
/** How long a refusal counts as known, in milliseconds: short, as rights are often granted after the first try. */
export const REFUSED_MS = 10_000;
/** How long a stream may last, in milliseconds. */
export const STREAM_MS = 300_000;
/** Requests that may wait for a review at once: of all strangers, and of each who was let in before. */
const MAX_WAITING = 64;
/** Reviews that strangers may cost together: a first visit is two. */
const STRANGERS = { ratePerSecond: 10, burst: 40 };
/** Longest token that is sent to be reviewed, in characters. */
const MAX_TOKEN = 16_384;
/** Longest path that is: no longer one is served, and each is kept with its answer. */
const MAX_PATH = 512;

/** The first part of the paths that a role names for all but `/metrics`; see {@linkcode reviewedPath}. */
const PATH_PREFIX = "/externaldatabases";

/** Paths that are always open. */
const OPEN: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/**
 * The path that is reviewed for a request's path. All but `/metrics` have a prefix of their own: by Kubernetes' default
 * role `system:discovery` everybody who can log in may get `/api/*`, which there means something else.
 */
function reviewedPath(pathname: string): string {
  return pathname === "/metrics" ? pathname : `${PATH_PREFIX}${pathname}`;
}

/** How a request ended at the gate. */
export type Access = "allowed" | "denied" | "unauthenticated" | "limited" | "failed";

/** What an {@linkcode AccessGate} takes. */
export interface AccessOptions {
  readonly reviews: Reviews;
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends reviews under way. */
  readonly signal: AbortSignal;
  /** Told of each request that is not to an open path. */
  readonly onAccess?: ((access: Access) => void) | undefined;
}

/** More reviews are asked for than may be made now. */
class Limited extends Error {
  override readonly name = "Limited";
}

/** Stands before a handler. */
export class AccessGate {
  readonly #o: AccessOptions;
  readonly #visitors: Visitors;
  readonly #strangers: Lane;
  #waiting = 0;
  /** What was logged last, so that an outage is told once. */
  #told: string | undefined;

  constructor(options: AccessOptions) {
    this.#o = options;
    this.#visitors = new Visitors(options.clock);
    this.#strangers = new Lane(options.clock, STRANGERS);
  }

  /** Requests that wait for a review. */
  get waiting(): number {
    return this.#waiting;
  }

  /** `handle` for those who are let in. */
  guard(handle: (request: Request) => Promise<Response>): (request: Request) => Promise<Response> {
    return async (request) => {
      const { pathname } = new URL(request.url);
      if (OPEN.has(pathname)) return await handle(request);
      const access = await this.#judge(request, pathname);
      this.#o.onAccess?.(access);
      return access === "allowed" ? this.#bounded(await handle(request)) : refusal(access);
    };
  }

  async #judge(request: Request, pathname: string): Promise<Access> {
    const token = tokenOf(request.headers.get("authorization"));
    if (token === undefined) return "unauthenticated";
    const key = await digest(token);
    const path = reviewedPath(pathname);
    const visitor = this.#visitors.of(key);
    const lane = visitor.lane ?? this.#strangers;
    if (lane.waiting >= MAX_WAITING && !this.#isKnown(visitor, path)) return "limited";
    lane.waiting++;
    this.#waiting++;
    try {
      const { reviews, signal } = this.#o;
      const identity = await this.#ask(
        visitor.identity,
        (kept) => visitor.identity = kept,
        lane,
        () => reviews.identify(token, signal),
        (found) => found === undefined ? REFUSED_MS : ALLOWED_MS,
      );
      if (identity === undefined) return "unauthenticated";
      if (path.length > MAX_PATH) return "denied";
      const may = await this.#ask(
        visitor.rights.get(path),
        (kept) => this.#visitors.keepRight(visitor, path, kept),
        lane,
        () => reviews.mayGet(identity, path, signal),
        (allowed) => allowed ? ALLOWED_MS : REFUSED_MS,
      );
      this.#told = undefined;
      if (!may) return "denied";
      this.#visitors.letIn(key, visitor);
      return "allowed";
    } catch (error) {
      if (error instanceof Limited) return "limited";
      // What answers in the API server's stead may repeat what it was sent.
      const message = messageOf(error).replaceAll(token, "(the token)");
      if (message !== this.#told && !this.#o.signal.aborted) {
        this.#o.log.log("warn", "Access cannot be reviewed; nobody new is let in", { error: message });
      }
      this.#told = message;
      return "failed";
    } finally {
      lane.waiting--;
      this.#waiting--;
    }
  }

  /** Whether both answers are there, so that no review is waited for. */
  #isKnown({ identity, rights }: Visitor, path: string): boolean {
    const now = this.#o.clock.monotonic();
    return [identity, rights.get(path)].every((kept) =>
      kept !== undefined && kept.until > now && kept.until < Number.POSITIVE_INFINITY
    );
  }

  /** The answer that is kept, or a new one; many that ask for the same share it. A failure is not kept. */
  #ask<T>(
    known: Kept<T> | undefined,
    keep: (kept: Kept<T> | undefined) => void,
    lane: Lane,
    ask: () => Promise<T>,
    keepFor: (answer: T) => number,
  ): Promise<T> {
    const { clock } = this.#o;
    const askedAt = clock.monotonic();
    if (known !== undefined && known.until > askedAt) return known.answer;
    if (!lane.take()) return Promise.reject(new Limited());
    const fresh: Kept<T> = { answer: ask(), until: Number.POSITIVE_INFINITY };
    fresh.answer.then(
      (answer) => fresh.until = askedAt + keepFor(answer),
      () => {
        fresh.until = Number.NEGATIVE_INFINITY;
        keep(undefined);
      },
    );
    keep(fresh);
    return fresh.answer;
  }

  #bounded(response: Response): Response {
    if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
      return response;
    }
    return new Response(endingAfter(response.body, this.#o.clock, STREAM_MS), response);
  }
}

/** The token of `Bearer TOKEN`, or of `Basic`, where it is the password: that is what a browser can ask for. */
export function tokenOf(authorization: string | null): string | undefined {
  const [, scheme = "", rest = ""] = /^(\S+) +(\S+)$/.exec(authorization ?? "") ?? [];
  if (rest.length > MAX_TOKEN) return undefined;
  switch (scheme.toLowerCase()) {
    case "bearer":
      return rest;
    case "basic":
      try {
        const text = atob(rest);
        const token = text.slice(text.indexOf(":") + 1);
        return text.includes(":") && token !== "" ? token : undefined;
      } catch {
        return undefined; // not base64, so no credentials at all
      }
    default:
      return undefined;
  }
}

/** As the map's key, for what is kept in memory is not to be good for anything. */
async function digest(token: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return new Uint8Array(bytes).toHex();
}

const REFUSALS: Readonly<Record<Exclude<Access, "allowed">, readonly [status: number, text: string]>> = {
  unauthenticated: [
    401,
    "A token of this cluster is needed: as a bearer token, or as the password of any user",
  ],
  denied: [403, "The token's owner may not get this path: see nonResourceURLs in docs/http.md"],
  limited: [429, "Too many tokens are to be reviewed now; try again"],
  failed: [503, "Access cannot be reviewed now; try again"],
};

function refusal(access: Exclude<Access, "allowed">): Response {
  const [status, text] = REFUSALS[access];
  const headers = new Headers({ "content-type": "text/plain; charset=utf-8" });
  if (status === 401) {
    headers.append("www-authenticate", 'Bearer realm="externaldatabase-operator"');
    headers.append(
      "www-authenticate",
      'Basic realm="externaldatabase-operator: any name, a token as password"',
    );
  }
  if (status === 503 || status === 429) headers.set("retry-after", "5");
  return new Response(`${text}\n`, { status, headers });
}

/** `body`, which ends after `ms` at the latest. */
function endingAfter(
  body: ReadableStream<Uint8Array>,
  clock: Clock,
  ms: number,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let ended = false;
  let timer: ReturnType<Clock["setTimeout"]> | undefined;
  const end = () => {
    ended = true;
    clock.clearTimeout(timer!);
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      timer = clock.setTimeout(() => {
        if (ended) return;
        ended = true;
        controller.close();
        reader.cancel().catch(() => {}); // the source ends as its own client left
      }, ms);
    },
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        end(); // it was cut off, and cannot be closed any more
        throw error;
      });
      if (ended) return;
      if (!done) return controller.enqueue(value);
      end();
      controller.close();
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
