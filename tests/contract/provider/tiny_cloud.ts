/**
 * A second cloud that keeps to the HTTP contract, written without a line of the first: no tokens, no account, no
 * latency, unordered pages. What works on both does not lean on the simulated cloud's ways.
 *
 * @module
 */

interface Row {
  id: string;
  name: string;
  engine: string;
  version: string;
  sizeGb: number;
  tags: Record<string, string>;
  created: number;
  /** What goes on, until when, and what it leads to. */
  busy: { word: string; until: number; then: Partial<Row> | "gone" } | undefined;
  endpoint: string | null;
  password: string | undefined;
}

/** A running tiny cloud. */
export interface TinyCloud {
  readonly url: string;
  /** Mutating requests that arrived. */
  mutations(): number;
  /** Every later request is answered this much later, in milliseconds. */
  slow(ms: number): void;
  logsIn(database: { readonly id: string }, password: string): boolean;
  /** Names of the final snapshots. */
  snapshots(): string[];
  close(): Promise<void>;
}

/** Serves one on a port of the system's choice. */
export function serveTinyCloud(operationMs = 30): TinyCloud {
  const rows = new Map<string, Row>();
  const abort = new AbortController();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const snapshots = new Map<string, string>();
  let mutations = 0;
  let delay = 0;

  const fail = (status: number, code: string) =>
    Response.json({ error: { code, message: `tiny: ${code}` } }, { status });
  const show = (row: Row) => ({
    state: row.busy?.word ?? "Available",
    id: row.id,
    name: row.name,
    engine: row.engine,
    version: row.version,
    sizeGb: row.sizeGb,
    endpoint: row.endpoint,
    tags: row.tags,
    createdAt: new Date(row.created).toISOString(),
    updatedAt: new Date().toISOString(),
    somethingElse: { ignored: true },
  });
  const tick = () => {
    for (const row of rows.values()) {
      if (row.busy === undefined || row.busy.until > Date.now()) continue;
      const { then } = row.busy;
      row.busy = undefined;
      if (then === "gone") rows.delete(row.id);
      else Object.assign(row, then);
    }
  };
  const begin = (row: Row, word: string, then: Partial<Row> | "gone") => {
    row.busy = { word, until: Date.now() + operationMs, then };
  };

  async function answer(request: Request): Promise<Response> {
    if (request.method !== "GET") mutations++;
    const body = request.method === "POST" || request.method === "PATCH" ? await request.json() : undefined;
    if (delay > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => {
          timers.delete(timer);
          resolve();
        }, delay);
        timers.add(timer);
      });
    }
    tick();
    const url = new URL(request.url);
    const parts = url.pathname.split("/").slice(1);
    if (parts[0] !== "base" || parts[1] !== "v1" || parts[2] !== "databases") {
      return new Response("<h1>no such page</h1>", { status: 404, headers: { "content-type": "text/html" } });
    }
    if (parts[3] === undefined) {
      if (request.method === "GET") return list(url.searchParams);
      if (!Number.isInteger(body.sizeGb) || body.sizeGb < 1) return fail(400, "InvalidParameter");
      const id = crypto.randomUUID();
      const { name, engine, version, sizeGb, tags = {} } = body;
      const row: Row = {
        id,
        name,
        engine,
        version,
        sizeGb,
        tags,
        created: Date.now(),
        busy: undefined,
        endpoint: null,
        password: body.masterPassword,
      };
      begin(row, "Provisioning", { endpoint: `${id}.tiny:5432` });
      rows.set(id, row);
      return Response.json(show(row), { status: 201 });
    }
    const row = rows.get(decodeURIComponent(parts[3]));
    if (row === undefined) return fail(404, "NotFound");
    switch (request.method) {
      case "GET":
        return Response.json(show(row));
      case "PATCH": {
        if (row.busy !== undefined) return fail(409, "InvalidState");
        if (body.sizeGb < row.sizeGb) return fail(400, "InvalidParameter");
        for (const [key, value] of Object.entries(body.tags ?? {})) {
          if (value === null) delete row.tags[key];
          else row.tags[key] = String(value);
        }
        // This one shows new values at once, while it is still at work.
        if (body.version !== undefined) row.version = body.version;
        if (body.sizeGb !== undefined) row.sizeGb = body.sizeGb;
        if (body.masterPassword !== undefined) row.password = body.masterPassword;
        if (body.version !== undefined || body.sizeGb !== undefined || body.masterPassword !== undefined) {
          begin(row, "Modifying", {});
        }
        return Response.json(show(row));
      }
      case "DELETE":
        if (row.busy !== undefined && row.busy.word !== "Deleting") return fail(409, "InvalidState");
        if (row.busy === undefined) {
          const snapshot = url.searchParams.get("finalSnapshot");
          if (snapshot !== null) {
            if ((snapshots.get(snapshot) ?? row.id) !== row.id) return fail(409, "SnapshotExists");
            snapshots.set(snapshot, row.id);
          }
          begin(row, "Deleting", "gone");
        }
        return new Response(null, { status: 202 });
    }
    return fail(404, "NotFound");
  }

  function list(query: URLSearchParams): Response {
    const wanted = query.getAll("tag").map((t) => [t.slice(0, t.indexOf("=")), t.slice(t.indexOf("=") + 1)]);
    const all = [...rows.values()].filter((r) => wanted.every(([k, v]) => r.tags[k!] === v))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const after = query.get("pageToken") ?? "";
    const rest = all.filter((r) => r.id > after);
    const limit = Number(query.get("limit") ?? 100);
    const items = rest.slice(0, limit);
    return Response.json({
      items: items.map(show),
      nextPageToken: rest.length > limit ? items.at(-1)?.id : null,
    });
  }

  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: abort.signal, onListen: () => {} },
    answer,
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/base/`,
    mutations: () => mutations,
    logsIn: ({ id }, password) => rows.get(id)?.password === password,
    snapshots: () => [...snapshots.keys()],
    slow: (ms) => {
      delay = ms;
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      abort.abort();
      await server.finished;
    },
  };
}
