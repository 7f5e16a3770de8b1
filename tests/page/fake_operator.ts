/**
 * A server that answers as the operator's does, from rows that a test holds: the page cannot tell it from the real one.
 *
 * @module
 */
import { once } from "../../src/core/once.ts";
import { databaseChart } from "../../src/server/api/database_chart.ts";
import type {
  DatabaseDetail,
  FleetRow,
  FleetSummary,
  OrphanRow,
  StreamEvents,
} from "../../src/server/api/types.ts";
import { Assets } from "../../src/server/assets.ts";
import { sampleOrphans, sampleSummary } from "./samples.ts";

const PAGE = new URL("../../dist/page", import.meta.url).pathname;

/** The server. */
export class FakeOperator implements AsyncDisposable {
  rows: FleetRow[] = [];
  details = new Map<string, DatabaseDetail>();
  orphans: readonly OrphanRow[] = sampleOrphans;
  summary: () => FleetSummary = () => sampleSummary(this.rows, Date.now());
  readonly #clients = new Set<{ database: string | null; send: (text: string) => void }>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #abort = new AbortController();
  readonly #assets = new Assets(PAGE);
  readonly #chart = once(databaseChart);
  #id = 0;

  constructor(port = 0) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port, signal: this.#abort.signal, onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  /** Where it listens. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Clients that look on. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Tells every client. */
  tell<E extends keyof StreamEvents>(event: E, data: StreamEvents[E]): void {
    for (const client of this.#clients) client.send(this.#frame(event, data));
  }

  /** Puts rows in place of those of their UIDs, and tells. */
  change(...changed: FleetRow[]): void {
    const byUid = new Map(changed.map((row) => [row.uid, row]));
    this.rows = this.rows.map((row) => byUid.get(row.uid) ?? row);
    this.tell("rows", { changed, gone: [] });
    this.tell("summary", this.summary());
  }

  /** Ends it, streams and all. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#server.finished;
  }

  #frame(event: string, data: unknown): string {
    return `id: ${++this.#id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const json = (value: unknown) =>
      new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } });
    switch (url.pathname) {
      case "/api/fleet":
        return json({
          cursor: String(this.#id),
          at: new Date().toISOString(),
          rows: this.rows,
          summary: this.summary(),
        });
      case "/api/chart":
        return json(await this.#chart());
      case "/api/orphans":
        return json({ items: this.orphans });
      case "/api/stream":
        return this.#stream(url.searchParams.get("database"));
      default:
        return await this.#page(request, url);
    }
  }

  /** A file of the page; every other path is the page itself, which then says that nothing is there. */
  async #page(request: Request, url: URL): Promise<Response> {
    const answer = await this.#assets.answer(request, url) ??
      await this.#assets.answer(request, new URL("/", url));
    return answer ?? new Response("The page is not built", { status: 500 });
  }

  #stream(database: string | null): Response {
    const encoder = new TextEncoder();
    let client: { database: string | null; send: (text: string) => void };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        client = { database, send: (text) => controller.enqueue(encoder.encode(text)) };
        this.#clients.add(client);
        client.send("retry: 500\n\n");
        if (database !== null) client.send(this.#frame("database", this.details.get(database) ?? null));
      },
      cancel: () => void this.#clients.delete(client),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
}

if (import.meta.main) {
  const { sampleFleet, sampleRow } = await import("./samples.ts");
  const { sampleDetail } = await import("./sample_database.ts");
  const operator = new FakeOperator(Number(Deno.args[0] ?? 8099));
  const now = Date.now();
  operator.rows = sampleFleet(Number(Deno.args[1] ?? 10_000), now);
  const row = sampleRow({ namespace: "shop", name: "orders", state: "Drifted", detail: "Drifted.modify" });
  operator.rows.push(row);
  operator.details.set("shop/orders", sampleDetail(row, now));
  console.log(operator.url);
}
