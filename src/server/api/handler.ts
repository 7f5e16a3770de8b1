/**
 * `/api/…`: the HTTP API of `types.ts` over a {@linkcode FleetView}.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { once } from "../../core/once.ts";
import { safeJson } from "../../core/text.ts";
import { textBody } from "../body.ts";
import { parseFleetQuery, selectFleet } from "../fleet.ts";
import { FleetStream, MAX_CLIENTS } from "./stream.ts";
import type { ChartAnswer, FleetAnswer } from "./types.ts";
import type { FleetView } from "./view.ts";

/** What {@linkcode Api} takes. */
export interface ApiOptions {
  readonly view: FleetView;
  readonly clock: Clock;
  /** The statechart, laid out; asked for once, and again where it failed. @default none */
  readonly chart?: (() => Promise<ChartAnswer>) | undefined;
  /** Told of what failed where no request waits for an answer. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** How long a client that found no room is to wait, in seconds. */
const RETRY_AFTER_S = 10;

/** The API. */
export class Api {
  readonly #view: FleetView;
  readonly #stream: FleetStream;
  readonly #chart: (() => Promise<string>) | undefined;

  constructor({ view, clock, chart, onError }: ApiOptions) {
    this.#view = view;
    this.#stream = new FleetStream({ view, clock, onError });
    this.#chart = chart && once(async () => `${JSON.stringify(await chart())}\n`);
  }

  /** Clients of the stream. */
  get clients(): number {
    return this.#stream.clients;
  }

  /** The answer to a GET or HEAD of a path under `/api/`; `undefined` where there is no such thing. */
  async answer(request: Request, url: URL): Promise<Response | undefined> {
    const parts = segments(url.pathname);
    if (parts === undefined) return undefined;
    const [, resource, namespace, name, more] = parts;
    switch (parts.length) {
      case 2:
        return await this.#collection(request, url, resource);
      case 4:
        if (resource !== "databases") return undefined;
        return this.#database(request, namespace ?? "", name ?? "");
      case 5:
        if (resource !== "databases" || more !== "history") return undefined;
        return this.#history(request, namespace ?? "", name ?? "");
      default:
        return undefined;
    }
  }

  /** Ends the streams. */
  close(): void {
    this.#stream.close();
  }

  async #collection(request: Request, url: URL, resource: string | undefined): Promise<Response | undefined> {
    switch (resource) {
      case "databases": {
        const { items, total, query } = selectFleet(this.#view.rows(), parseFleetQuery(url.searchParams));
        const answer: FleetAnswer = { total, offset: query.offset, limit: query.limit, items };
        return json(request, answer);
      }
      case "fleet":
        return text(request, this.#stream.snapshot());
      case "orphans":
        return json(request, { items: this.#view.orphans() });
      case "chart":
        return this.#chart && text(request, await this.#chart());
      case "stream":
        return this.#events(request, url);
      default:
        return undefined;
    }
  }

  #database(request: Request, namespace: string, name: string): Response | undefined {
    const uid = this.#view.find(namespace, name);
    const detail = uid === undefined ? undefined : this.#view.detail(uid);
    return detail && json(request, detail);
  }

  #history(request: Request, namespace: string, name: string): Response | undefined {
    const uid = this.#view.find(namespace, name);
    const history = uid === undefined ? this.#view.lastGone(namespace, name) : this.#view.history(uid);
    return history && json(request, history);
  }

  #events(request: Request, url: URL): Response {
    const headers = { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" };
    if (request.method === "HEAD") return new Response(null, { headers });
    const [namespace, name, ...rest] = (url.searchParams.get("database") ?? "").split("/");
    const database = namespace && name && rest.length === 0 ? { namespace, name } : undefined;
    const since = request.headers.get("last-event-id") || url.searchParams.get("cursor") || undefined;
    const events = this.#stream.connect(since, database);
    if (events === undefined) {
      return new Response(`At most ${MAX_CLIENTS} may look on at once\n`, {
        status: 503,
        headers: { "content-type": "text/plain; charset=utf-8", "retry-after": String(RETRY_AFTER_S) },
      });
    }
    return new Response(events, { headers });
  }
}

/** The parts of a path, decoded; `undefined` where one cannot be, or is empty. */
function segments(path: string): readonly string[] | undefined {
  try {
    const parts = path.slice(1).split("/").map(decodeURIComponent);
    return parts.includes("") ? undefined : parts;
  } catch {
    return undefined; // no UTF-8
  }
}

function json(request: Request, value: unknown): Response {
  return text(request, `${safeJson(value)}\n`);
}

function text(request: Request, content: string | readonly string[]): Response {
  const { body, headers } = textBody(request, content);
  return new Response(body, { headers: { ...headers, "content-type": "application/json; charset=utf-8" } });
}
