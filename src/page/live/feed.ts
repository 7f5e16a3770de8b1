/**
 * The fleet as it is now: a snapshot, kept in step by server-sent events.
 *
 * Promises: what arrives is gathered and applied once an animation frame, in its newest form, however much arrives; a
 * stream that breaks is taken up again where it was, and a gap that the server cannot fill leads to a new snapshot;
 * waits between tries back off. Assumes the answers of `src/server/api/types.ts`.
 *
 * @module
 */
import type {
  DatabaseDetail,
  FleetRow,
  FleetSnapshot,
  FleetSummary,
  StreamEvents,
} from "../../server/api/types.ts";

/** What the feed takes from the browser, so that tests can give their own. */
export interface FeedPorts {
  /** Answers a GET with JSON; rejects when there is none, or none in time. */
  readonly get: (path: string, signal: AbortSignal) => Promise<unknown>;
  readonly open: (path: string) => FeedSource;
  /** Calls once before the next painting. */
  readonly frame: (work: () => void) => void;
  readonly now: () => number;
  readonly later: (work: () => void, ms: number) => () => void;
  readonly random: () => number;
}

/** The part of an `EventSource` that is used. */
export interface FeedSource {
  readonly readyState: number;
  addEventListener(type: string, listener: (event: MessageEvent) => void): void;
  close(): void;
}

/** Whether the page is in step with the operator. */
export type Connection =
  | { readonly state: "connecting" | "live" }
  /** Since when, in wall time. */
  | { readonly state: "lost"; readonly since: number };

/** Told what changed; once an animation frame at most. */
export interface FeedListener {
  rows(rows: ReadonlyMap<string, FleetRow>): void;
  summary(summary: FleetSummary): void;
  database(detail: DatabaseDetail | null): void;
  connection(connection: Connection): void;
}

/** First and longest wait before another try, in milliseconds. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 20_000;
/** How long a stream may be away before the reader is told, in milliseconds; the server asks for 2 s between tries. */
const FORGIVEN_MS = 4_000;
/** Within this time of a snapshot a reset counts as a failure, in milliseconds. */
const RESET_MS = 5_000;
const CLOSED = 2;

/** One subscription to the operator. */
export class Feed {
  readonly #ports: FeedPorts;
  readonly #listener: FeedListener;
  readonly #rows = new Map<string, FleetRow>();
  #changed = new Map<string, FleetRow | null>();
  #summary: FleetSummary | undefined;
  #database: DatabaseDetail | null | undefined;
  #framed = false;
  #source: FeedSource | undefined;
  #cursor = "";
  #wanted: string | undefined;
  #paused = false;
  #begunAt = Number.NEGATIVE_INFINITY;
  #connection: Connection = { state: "connecting" };
  #waitMs = FIRST_WAIT_MS;
  #cancel: (() => void) | undefined;
  #away: (() => void) | undefined;
  #abort = new AbortController();

  constructor(ports: FeedPorts, listener: FeedListener) {
    this.#ports = ports;
    this.#listener = listener;
  }

  /** Begins, or begins anew with another database to follow whole (`namespace/name`). */
  follow(database: string | undefined): void {
    if (this.#source !== undefined && database === this.#wanted) return;
    this.#wanted = database;
    this.#database = undefined;
    if (!this.#paused) this.#go();
  }

  /**
   * Ends it until {@linkcode Feed.resume}. Who does not look on holds no stream: over HTTP/1.1 a browser has six
   * connections to a host, and as many forgotten tabs would leave none.
   */
  pause(): void {
    this.#paused = true;
    this.#back();
    this.#abort.abort();
    this.#cancel?.();
    this.#source?.close();
    this.#source = undefined;
  }

  /** Goes on from where it was paused. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#go();
  }

  /** From the last event on, or from the beginning where there was none. */
  #go(): void {
    if (this.#cursor === "") void this.#begin();
    else this.#listen();
  }

  async #begin(): Promise<void> {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#cancel?.();
    this.#begunAt = this.#ports.now();
    const { signal } = this.#abort;
    try {
      const snapshot = await this.#ports.get("/api/fleet", signal) as FleetSnapshot;
      if (signal.aborted) return;
      this.#rows.clear();
      this.#changed = new Map();
      for (const row of snapshot.rows) this.#rows.set(row.uid, row);
      this.#summary = undefined;
      this.#cursor = snapshot.cursor;
      this.#listener.rows(this.#rows);
      this.#listener.summary(snapshot.summary);
      this.#listen();
    } catch {
      // Whatever it was, the reader is told since when, and it is tried again; one that another took over from failed nobody.
      if (!this.#paused && signal === this.#abort.signal) this.#lose();
    }
  }

  #listen(): void {
    this.#source?.close();
    const query = new URLSearchParams({ cursor: this.#cursor });
    if (this.#wanted !== undefined) query.set("database", this.#wanted);
    const source = this.#ports.open(`/api/stream?${query}`);
    this.#source = source;
    const on = <E extends keyof StreamEvents>(name: E, take: (data: StreamEvents[E]) => void) =>
      source.addEventListener(name, (event) => {
        if (source !== this.#source) return;
        if (event.lastEventId) this.#cursor = event.lastEventId;
        take(JSON.parse(event.data) as StreamEvents[E]);
        this.#schedule();
      });
    source.addEventListener("open", () => {
      if (source !== this.#source) return;
      this.#waitMs = FIRST_WAIT_MS;
      this.#back();
      this.#tell({ state: "live" });
    });
    source.addEventListener("error", () => {
      if (source !== this.#source) return;
      // While it is CONNECTING the browser tries again by itself, with the last event's id. A stream that the server ended
      // in order is back before anyone need be told.
      if (source.readyState === CLOSED) return this.#lose();
      const lost = this.#lost();
      this.#away ??= this.#ports.later(() => this.#tell(lost), FORGIVEN_MS);
    });
    on("rows", ({ changed, gone }) => {
      for (const row of changed) this.#changed.set(row.uid, row);
      for (const uid of gone) this.#changed.set(uid, null);
    });
    on("summary", (summary) => {
      this.#summary = summary;
    });
    on("database", (detail) => {
      this.#database = detail;
    });
    on("reset", () => {
      // A reset right after a snapshot would come again at once: two operators may answer in turns behind one name.
      const soon = this.#ports.now() - this.#begunAt < RESET_MS;
      this.#cursor = "";
      if (soon) this.#lose();
      else void this.#begin();
    });
  }

  #back(): void {
    this.#away?.();
    this.#away = undefined;
  }

  #lose(): void {
    this.#back();
    this.#source?.close();
    this.#source = undefined;
    this.#tell(this.#lost());
    this.#cancel?.();
    this.#cancel = this.#ports.later(() => void this.#begin(), this.#waitMs * (0.5 + this.#ports.random()));
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
  }

  #lost(): Connection {
    return this.#connection.state === "lost" ? this.#connection : { state: "lost", since: this.#ports.now() };
  }

  #tell(connection: Connection): void {
    if (connection === this.#connection) return;
    this.#connection = connection;
    this.#listener.connection(connection);
  }

  #schedule(): void {
    if (this.#framed) return;
    this.#framed = true;
    this.#ports.frame(() => {
      this.#framed = false;
      this.#apply();
    });
  }

  #apply(): void {
    if (this.#changed.size > 0) {
      for (const [uid, row] of this.#changed) {
        if (row === null) this.#rows.delete(uid);
        else this.#rows.set(uid, row);
      }
      this.#changed = new Map();
      this.#listener.rows(this.#rows);
    }
    if (this.#summary !== undefined) this.#listener.summary(this.#summary);
    this.#summary = undefined;
    if (this.#database !== undefined) this.#listener.database(this.#database);
    this.#database = undefined;
  }
}
