/**
 * A third cloud that keeps to cloud-api.md, written from its text alone, which uses what freedom the text leaves: odd
 * ids, small and empty pages, pages that repeat, fields that are null or unknown, answers without bodies.
 *
 * @module
 */
import type { Clock } from "../../src/core/clock.ts";
import type { Fetch } from "../../src/providers/transport.ts";
import { type FreeKnobs, type FreeRow, type Json, knobsOf } from "./free_knobs.ts";

/** The cloud. */
export class FreeCloud {
  readonly rows = new Map<string, FreeRow>();
  readonly gone = new Map<string, string>();
  readonly snapshots = new Map<string, string>();
  readonly calls: { method: string; path: string; body: Json | undefined; at: number }[] = [];
  readonly knobs: FreeKnobs;
  readonly #pages = new Map<string, string[]>();
  #count = 0;
  #requests = 0;

  constructor(readonly clock: Clock, knobs: Partial<FreeKnobs> = {}) {
    this.knobs = knobsOf(knobs);
  }

  /** Mutating requests so far. */
  mutations(): number {
    return this.calls.filter((c) => c.method !== "GET").length;
  }

  patches(): Json[] {
    return this.calls.filter((c) => c.method === "PATCH").map((c) => c.body ?? {});
  }

  /** Puts something in that nobody asked for through the API. */
  put(change: Partial<FreeRow> = {}): FreeRow {
    const n = ++this.#count;
    const row: FreeRow = {
      id: this.knobs.idOf(n),
      name: "orders",
      engine: "postgres",
      version: "14.2",
      sizeGb: 20,
      tags: {},
      token: undefined,
      asked: "",
      createdMs: this.clock.now(),
      state: "Available",
      endpoint: `host-${n}.example:5432`,
      pending: null,
      password: undefined,
      until: 0,
      then: undefined,
      ...change,
    };
    this.rows.set(row.id, row);
    return row;
  }

  /** A fetch that goes to this cloud without a socket. */
  readonly fetch: Fetch = async (url, init) => {
    const { signal } = init;
    return await new Promise<Response>((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
      this.handle(new Request(url, init)).then(resolve, reject);
    });
  };

  /** Answers one request. */
  async handle(request: Request): Promise<Response> {
    const { method } = request;
    const url = new URL(request.url);
    const text = await request.clone().text();
    const body = text === "" ? undefined : JSON.parse(text) as Json;
    this.calls.push({ method, path: url.pathname + url.search, body, at: this.clock.monotonic() });
    const early = await this.knobs.intercept(request, ++this.#requests);
    if (early !== undefined) return early;
    this.#tick();
    const answer = this.#route(method, url, body);
    if (this.knobs.latencyMs > 0) {
      await new Promise<void>((resolve) => this.clock.setTimeout(resolve, this.knobs.latencyMs));
    }
    return answer;
  }

  #tick(): void {
    for (const row of this.rows.values()) {
      if (row.then === undefined || row.until > this.clock.monotonic()) continue;
      const { then } = row;
      row.then = undefined;
      then();
    }
  }

  #begin(row: FreeRow, state: string, ms: number, then: () => void): void {
    row.state = state;
    row.until = this.clock.monotonic() + ms;
    row.then = then;
  }

  #fail(status: number, code: string): Response {
    if (this.knobs.bareErrors && status !== 404 && status !== 409) {
      return new Response(null, { status });
    }
    return this.#json(status, { error: { code, message: `free: ${code}`, trace: [1, 2] }, at: 1 });
  }

  #json(status: number, json: unknown): Response {
    return new Response(JSON.stringify(json, null, 1), {
      status,
      headers: { "Content-Type": "application/vnd.free+json; charset=UTF-8", "X-Else": "1" },
    });
  }

  #shown(row: FreeRow): Json {
    const { nulls } = this.knobs;
    const all: Json = {
      arn: { of: row.id },
      id: row.id,
      name: row.name,
      engine: row.engine,
      version: row.version,
      sizeGb: row.sizeGb,
      usedGb: null,
      state: row.state,
      endpoint: row.endpoint,
      tags: { ...row.tags, ...this.knobs.ownTags },
      createdAt: new Date(row.createdMs).toISOString().replace("Z", "+00:00"),
      updatedAt: null,
      pending: row.pending === null
        ? null
        : nulls
        ? { version: null, sizeGb: null, ...row.pending }
        : row.pending,
      access: null,
      replicas: [],
    };
    if (!nulls) { for (const key of Object.keys(all)) if (all[key] === null) delete all[key]; }
    return this.knobs.show(row, all);
  }

  #route(method: string, url: URL, body: Json | undefined): Response {
    const { knobs } = this;
    if (url.pathname === "/v1") {
      return this.#json(200, {
        account: knobs.account,
        clientTokens: knobs.clientTokens,
        readLagSeconds: knobs.readLagMs / 1_000,
        effectBoundSeconds: knobs.effectBoundSeconds,
        passwords: knobs.passwords,
        snapshots: knobs.snapshots,
        region: "moon",
      });
    }
    if (url.pathname === "/v1/databases") {
      if (method === "GET") return this.#list(url);
      if (method === "POST") return this.#create(body ?? {});
      return this.#fail(405, "MethodNotAllowed");
    }
    const match = /^\/v1\/databases\/([^/]+)$/.exec(url.pathname);
    const id = decodeURIComponent(match?.[1] ?? "");
    const row = this.rows.get(id);
    if (row === undefined) return this.#fail(404, "NotFound");
    if (method === "GET") return this.#json(200, this.#shown(row));
    if (method === "PATCH") return this.#patch(row, body ?? {});
    if (method === "DELETE") return this.#delete(row, url.searchParams.get("finalSnapshot"));
    return this.#fail(405, "MethodNotAllowed");
  }

  #list(url: URL): Response {
    const { knobs } = this;
    const token = url.searchParams.get("pageToken");
    let ids: string[];
    if (token === null) {
      const wanted = url.searchParams.getAll("tag").map((t) => {
        const at = t.indexOf("=");
        return [t.slice(0, at), t.slice(at + 1)] as const;
      });
      ids = [...this.rows.values()]
        .filter((r) => r.createdMs + knobs.readLagMs <= this.clock.now())
        .filter((r) => knobs.unfiltered || wanted.every(([k, v]) => r.tags[k] === v))
        .map((r) => r.id).reverse();
    } else {
      const left = this.#pages.get(token);
      if (left === undefined) return this.#fail(400, "InvalidParameter");
      ids = left;
    }
    const next = (rest: string[]) => {
      const t = this.knobs.tokenOf(this.#pages.size);
      this.#pages.set(String(t), rest);
      return t;
    };
    if (knobs.emptyPages && ids[0] !== "#") {
      return this.#json(200, {
        items: knobs.nulls ? null : [],
        nextPageToken: next(["#", ...ids]),
        total: 7,
      });
    }
    if (ids[0] === "#") ids = ids.slice(1);
    const size = Math.min(knobs.pageSize, Number(url.searchParams.get("limit") ?? 100));
    const page = ids.slice(0, size);
    const rest = ids.slice(knobs.repeats && size > 1 ? size - 1 : size);
    const items = page.map((id) => this.rows.get(id)).filter((r) => r !== undefined).map((r) =>
      this.#shown(r)
    );
    const more = ids.length > size;
    return this.#json(200, {
      items,
      ...(more ? { nextPageToken: next(rest) } : knobs.nulls ? { nextPageToken: null } : {}),
    });
  }

  #create(body: Json): Response {
    const { knobs } = this;
    const { clientToken, ...rest } = body;
    const asked = JSON.stringify(rest);
    const known = [...this.rows.values()].find((r) =>
      knobs.clientTokens && clientToken !== undefined && r.token === clientToken &&
      this.clock.now() - r.createdMs < knobs.tokenMemoryMs
    );
    if (known !== undefined) {
      return known.asked === asked
        ? this.#json(200, this.#shown(known))
        : this.#fail(409, "IdempotencyMismatch");
    }
    if (knobs.clientTokens && this.gone.has(String(clientToken))) return this.#fail(409, "TokenUsed");
    if (!(Number(body.sizeGb) > 0)) return this.#fail(400, "InvalidParameter");
    const row = this.put({
      name: String(body.name),
      engine: String(body.engine),
      version: String(body.version),
      sizeGb: Number(body.sizeGb),
      tags: { ...(body.tags as Record<string, string>) },
      token: clientToken as string,
      asked,
      password: body.masterPassword as string | undefined,
      endpoint: null,
    });
    this.#begin(row, "Provisioning", knobs.provisionMs, () => {
      row.state = "Available";
      row.endpoint = `host-${this.#count}.example:5432`;
    });
    return this.#json(knobs.createStatus, this.#shown(row));
  }

  #patch(row: FreeRow, body: Json): Response {
    if (row.state !== "Available") return this.#fail(409, "InvalidState");
    if (typeof body.sizeGb === "number" && body.sizeGb < row.sizeGb) {
      return this.#fail(400, "InvalidParameter");
    }
    if (typeof body.version === "string" && parseFloat(body.version) < parseFloat(row.version)) {
      return this.#fail(400, "InvalidParameter");
    }
    for (const [key, value] of Object.entries((body.tags ?? {}) as Record<string, string | null>)) {
      if (value === null) delete row.tags[key];
      else row.tags[key] = value;
    }
    const change = { ...body };
    delete change.tags;
    if (Object.keys(change).length > 0) {
      if (this.knobs.onPatch !== undefined) this.knobs.onPatch(row, change);
      else {
        this.#begin(row, "Modifying", this.knobs.modifyMs, () => {
          row.state = "Available";
          const { masterPassword, ...values } = change;
          Object.assign(row, values);
          if (masterPassword !== undefined) row.password = String(masterPassword);
        });
      }
    }
    return this.#json(200, this.#shown(row));
  }

  #delete(row: FreeRow, snapshot: string | null): Response {
    const { knobs } = this;
    const accepted = () =>
      knobs.deleteBody && knobs.deleteStatus !== 204
        ? this.#json(knobs.deleteStatus, this.#shown(row))
        : new Response(null, { status: knobs.deleteStatus });
    if (row.state === "Deleting") return accepted();
    if (row.state === "Provisioning" || row.state === "Modifying") return this.#fail(409, "InvalidState");
    if (snapshot !== null) {
      if (knobs.snapshots === false) return this.#fail(400, "InvalidParameter");
      if ((this.snapshots.get(snapshot) ?? row.id) !== row.id) return this.#fail(409, "SnapshotExists");
      this.snapshots.set(snapshot, row.id);
    }
    this.#begin(row, "Deleting", knobs.deleteMs, () => {
      this.rows.delete(row.id);
      if (row.token !== undefined) this.gone.set(row.token, row.id);
    });
    return accepted();
  }
}
