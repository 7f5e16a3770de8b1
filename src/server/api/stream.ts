/**
 * `/api/stream`: what changes, told to all who look on as server-sent events.
 *
 * Promised: what changed is gathered for {@linkcode STREAM_INTERVAL_MS} at least and told once, in its newest form, made once
 * for all clients; a client that comes back gets what it missed while the bounded ring holds it, else `reset`; one that
 * does not read is cut off; at most {@linkcode MAX_CLIENTS} at once. While nobody looks on nothing is computed, and a minute
 * after the last did nothing is even noted.
 *
 * @module
 */
import type { Clock, TimerId } from "../../core/clock.ts";
import { safeJson } from "../../core/text.ts";
import { FleetBook } from "./book.ts";
import { type Client, CLIENT_BYTES, Clients } from "./clients.ts";
import { EventRing } from "./ring.ts";
import { STREAM_INTERVAL_MS, type StreamEvents } from "./types.ts";
import type { FleetView } from "./view.ts";

/** Clients at once. */
export const MAX_CLIENTS = 64;
/** Rows in one event. */
export const MAX_ROWS = 1_000;
/** Time between two signs of life, in milliseconds. */
export const HEARTBEAT_MS = 15_000;
/** Time between two summaries, in milliseconds. */
export const SUMMARY_MS = 1_000;
/** How long changes are noted after the last client went, in milliseconds. */
export const LINGER_MS = 60_000;
/** Bounds of the ring of events that a client which comes back is told of. */
const RING = { events: 512, bytes: 4 * CLIENT_BYTES };
/** Bytes a millisecond of rows that all clients together are sent; where there is more to tell it is told less often. */
const BYTES_PER_MS = 50_000;

/** What {@linkcode FleetStream} takes. */
export interface FleetStreamOptions {
  readonly view: FleetView;
  readonly clock: Clock;
  /** Told of what failed while it was told to all; they then begin anew. @default it is not told */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** One run of the stream, from the first who looks on to a minute after the last. */
interface Run {
  /** Tells its ids from those of other runs. */
  readonly name: string;
  readonly book: FleetBook;
  readonly ring: EventRing;
  /** Databases that are looked at, and what was told of each last. */
  readonly looked: Map<string, { uid: string | undefined; told: string }>;
}

/** The stream and its clients. */
export class FleetStream {
  readonly #view: FleetView;
  readonly #clock: Clock;
  readonly #clients: Clients;
  readonly #onError: (error: unknown) => void;
  readonly #timers = new Map<"tick" | "second" | "linger", TimerId>();
  #run: Run | undefined;
  #beatAt = Number.NEGATIVE_INFINITY;
  /** The earliest time of the next rows, monotonic milliseconds. */
  #rowsAt = Number.NEGATIVE_INFINITY;
  #lastSummary = "";
  #closed = false;

  constructor({ view, clock, onError = () => {} }: FleetStreamOptions) {
    this.#view = view;
    this.#onError = onError;
    this.#clock = clock;
    this.#clients = new Clients(() => this.#idle());
  }

  /** Clients now. */
  get clients(): number {
    return this.#clients.size;
  }

  /** The JSON of the whole fleet in pieces, for a client to begin with. */
  snapshot(): readonly string[] {
    const run = this.#begun();
    // While nobody listens nothing is told; what changed is taken in now, for those who come after.
    while (this.#clients.size === 0 && run.book.dirty) this.#tellRows(run);
    const at = this.#now();
    const head = JSON.stringify({ cursor: cursorOf(run), at }).slice(0, -1);
    const pieces = [`${head},"summary":${safeJson(run.book.summary(at))},"rows":[`];
    for (const json of run.book.rows()) pieces.push(pieces.length === 1 ? json : `,${json}`);
    pieces.push("]}\n");
    return pieces;
  }

  /**
   * A new client's events: those since the event of the id `since`, or `reset` where they are not held any more.
   * `undefined`: there are too many clients, or the stream was closed.
   */
  connect(
    since: string | undefined,
    database?: { readonly namespace: string; readonly name: string },
  ): ReadableStream<Uint8Array> | undefined {
    if (this.#closed || this.#clients.size >= MAX_CLIENTS) return undefined;
    const run = this.#begun();
    const key = database && `${database.namespace}/${database.name}`;
    const events = this.#clients.add(key, (client) => {
      this.#clients.send(client, encode("retry: 2000\n\n"));
      const missed = missedSince(run, since);
      if (missed === undefined) this.#clients.send(client, eventOf(run, "reset", "{}"));
      else for (const bytes of missed) this.#clients.send(client, bytes);
      this.#clients.send(client, eventOf(run, "summary", safeJson(run.book.summary(this.#now()))));
      if (key !== undefined) this.#clients.send(client, this.#look(run, key));
    });
    this.#schedule();
    return events;
  }

  /** Ends every client's events; no more are taken. */
  close(): void {
    this.#closed = true;
    this.#clients.close();
    this.#forget();
  }

  #begun(): Run {
    this.#stop("linger");
    const run = this.#run ??= {
      name: crypto.randomUUID().slice(0, 8),
      book: new FleetBook(this.#view, () => this.#schedule()),
      ring: new EventRing(RING),
      looked: new Map(),
    };
    if (this.#clients.size === 0) this.#idle();
    return run;
  }

  /** Nobody looks on: one who comes back soon is still told what was missed. */
  #idle(): void {
    this.#stop("tick", "second", "linger");
    if (this.#closed) return this.#forget();
    this.#timers.set("linger", this.#clock.setTimeout(() => this.#forget(), LINGER_MS));
  }

  #forget(): void {
    this.#stop("tick", "second", "linger");
    this.#run?.book.close();
    this.#run = undefined;
    this.#lastSummary = "";
  }

  /** Sets the timers that are due while somebody looks on. */
  #schedule(): void {
    if (this.#clients.size === 0) return;
    this.#stop("linger");
    if (this.#run?.book.dirty === true && !this.#timers.has("tick")) {
      const wait = Math.max(STREAM_INTERVAL_MS, this.#rowsAt - this.#clock.monotonic());
      this.#timers.set("tick", this.#clock.setTimeout(() => this.#guarded(() => this.#tick()), wait));
    }
    if (!this.#timers.has("second")) {
      this.#beatAt = this.#clock.monotonic() + HEARTBEAT_MS;
      this.#timeSecond();
    }
  }

  #timeSecond(): void {
    this.#timers.set("second", this.#clock.setTimeout(() => this.#guarded(() => this.#second()), SUMMARY_MS));
  }

  /** An error in a timer would end the operator, because of one resource that cannot be shown. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#onError(error);
      this.#clients.close();
      this.#forget();
    }
  }

  #second(): void {
    this.#timers.delete("second");
    const now = this.#clock.monotonic();
    if (this.#run !== undefined) this.#tellSummary(this.#run);
    if (now >= this.#beatAt) {
      this.#beatAt = now + HEARTBEAT_MS;
      this.#clients.beat(encode(": still here\n\n"));
    }
    if (this.#clients.size > 0) this.#timeSecond();
  }

  #tick(): void {
    this.#timers.delete("tick");
    const run = this.#run;
    if (run === undefined) return;
    this.#tellDatabases(run, this.#tellRows(run));
    this.#schedule();
  }

  /** Tells up to {@linkcode MAX_ROWS} rows that are another now; returns the UIDs that were looked at. */
  #tellRows(run: Run): ReadonlySet<string> {
    const { changed, gone, touched } = run.book.take(MAX_ROWS);
    if (changed.length > 0 || gone.length > 0) {
      const data = `{"changed":[${changed.join()}],"gone":${JSON.stringify(gone)}}`;
      const bytes = run.ring.add((seq) => encode(frame(`${run.name}-${seq}`, "rows", data)));
      this.#clients.sendAll(bytes);
      this.#rowsAt = this.#clock.monotonic() + bytes.length * this.#clients.size / BYTES_PER_MS;
    }
    return touched;
  }

  #tellSummary(run: Run): void {
    const summary = run.book.summary("");
    const text = safeJson(summary);
    if (text === this.#lastSummary) return;
    this.#lastSummary = text;
    this.#clients.sendAll(eventOf(run, "summary", safeJson({ ...summary, at: this.#now() })));
  }

  /** Tells of the databases that are looked at, each made once for all who do. */
  #tellDatabases(run: Run, touched: ReadonlySet<string>): void {
    const readers = new Map<string, Client[]>();
    for (const client of this.#clients.all()) {
      if (client.database === undefined) continue;
      readers.set(client.database, [...readers.get(client.database) ?? [], client]);
    }
    for (const key of run.looked.keys()) if (!readers.has(key)) run.looked.delete(key);
    for (const [key, clients] of readers) {
      const before = run.looked.get(key);
      if (before?.uid !== undefined && !touched.has(before.uid)) continue;
      const bytes = this.#look(run, key);
      if (run.looked.get(key)?.told === before?.told) continue;
      for (const client of clients) this.#clients.send(client, bytes);
    }
  }

  /** The event that tells of one database as it is now. */
  #look(run: Run, key: string): Uint8Array {
    const before = run.looked.get(key)?.uid;
    const [namespace = "", name = ""] = key.split("/");
    const uid = before !== undefined && this.#view.row(before) !== undefined
      ? before
      : this.#view.find(namespace, name);
    const told = safeJson((uid === undefined ? undefined : this.#view.detail(uid)) ?? null);
    run.looked.set(key, { uid, told });
    return eventOf(run, "database", told);
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }

  #stop(...names: ("tick" | "second" | "linger")[]): void {
    for (const name of names) {
      if (this.#timers.has(name)) this.#clock.clearTimeout(this.#timers.get(name));
      this.#timers.delete(name);
    }
  }
}

/** An id: the run's name and the number of the last `rows` that came before. */
function cursorOf({ name, ring }: Run): string {
  return `${name}-${ring.last}`;
}

function missedSince({ name, ring }: Run, since: string | undefined): readonly Uint8Array[] | undefined {
  if (since === undefined || !since.startsWith(`${name}-`)) return undefined;
  const digits = since.slice(name.length + 1);
  // Half, so that what follows finds room; where more was missed the whole fleet is no more to read.
  return /^\d{1,15}$/.test(digits) ? ring.after(Number(digits), CLIENT_BYTES / 2) : undefined;
}

function eventOf(run: Run, name: keyof StreamEvents, data: string): Uint8Array {
  return encode(frame(cursorOf(run), name, data));
}

function frame(id: string, event: keyof StreamEvents, data: string): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;
}

const ENCODER = new TextEncoder();
function encode(text: string): Uint8Array {
  return ENCODER.encode(text);
}
