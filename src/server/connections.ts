/**
 * The connections of the HTTP server: how many, for how long, and which of them goes for another.
 *
 * @module
 */
import type { Socket } from "node:net";
import type { Clock, TimerId } from "../core/clock.ts";

/** Connections at once; each is a file descriptor of the process. */
export const MAX_CONNECTIONS = 256;
/** How long a connection may ask nothing, in milliseconds: from its begin, a TLS handshake included, and between requests. */
export const IDLE_MS = 30_000;
/** How long an answer may take to be made and read, in milliseconds; a stream of events has no end. */
export const ANSWER_MS = 60_000;
/** Requests that one connection may have sent before the first of them is answered. */
const MAX_PIPELINED = 16;

/** One request over a connection. */
export interface Exchange {
  /** The answer is a stream of events: whoever makes it sees to it that it is read. */
  streams(): void;
  /** The answer was read, or never will be. */
  ended(): void;
}

interface Connection {
  readonly key: string;
  readonly socket: Socket;
  readonly closed: PromiseWithResolvers<void>;
  timer: TimerId;
  /** Requests under way. */
  open: number;
  /** It reads a stream of events. */
  stream: boolean;
  /** What comes after the requests under way is not answered. */
  last: boolean;
}

/** All that are open, the one that was longest without a new request first. */
export class Connections {
  readonly #clock: Clock;
  readonly #all = new Map<string, Connection>();
  #closing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many there are. */
  get size(): number {
    return this.#all.size;
  }

  /** One more; another goes for it where there are too many. */
  add(socket: Socket): void {
    if (this.#closing) return void socket.destroy();
    if (this.#all.size >= MAX_CONNECTIONS) this.#makeRoom();
    const connection: Connection = {
      key: keyOf(socket),
      socket,
      closed: Promise.withResolvers(),
      timer: undefined,
      open: 0,
      stream: false,
      last: false,
    };
    this.#all.set(connection.key, connection);
    this.#limit(connection, IDLE_MS);
    socket.on("error", () => {}); // the client's end of it: it closes
    socket.once("close", () => this.#forget(connection));
  }

  /**
   * A request came over `socket`, which may be the TLS over one that was added; `last`: none is answered after it.
   * `undefined`: nobody is to answer it.
   */
  begin(socket: Socket, last: boolean): Exchange | undefined {
    const connection = this.#all.get(keyOf(socket));
    if (connection?.last === true) return undefined;
    if (connection === undefined || connection.open >= MAX_PIPELINED) {
      socket.destroy();
      return undefined;
    }
    connection.last = last;
    if (connection.open++ === 0) {
      this.#limit(connection, ANSWER_MS);
      this.#all.delete(connection.key);
      this.#all.set(connection.key, connection);
    }
    return {
      streams: () => {
        connection.stream = true;
        this.#clock.clearTimeout(connection.timer);
      },
      ended: () => {
        connection.open--;
        connection.stream = false;
        if (this.#all.get(connection.key) !== connection) return;
        if (this.#closing && connection.open === 0) this.#cut(connection);
        else if (!this.#closing) this.#limit(connection, connection.open > 0 ? ANSWER_MS : IDLE_MS);
      },
    };
  }

  /** Takes no more, lets requests end for `limitMs`, then cuts them; resolves when none is left. */
  async close(limitMs: number): Promise<void> {
    this.#closing = true;
    const all = [...this.#all.values()];
    for (const connection of all) {
      if (connection.open === 0) this.#cut(connection);
      else this.#limit(connection, limitMs);
    }
    await Promise.all(all.map(({ closed }) => closed.promise));
  }

  /** One that asks nothing, else one whose answer takes longest; a stream of events, of which there are few, at last. */
  #makeRoom(): void {
    const all = [...this.#all.values()];
    const worst = all.find(({ open }) => open === 0) ?? all.find(({ stream }) => !stream) ?? all[0];
    if (worst !== undefined) this.#cut(worst);
  }

  #limit(connection: Connection, ms: number): void {
    this.#clock.clearTimeout(connection.timer);
    connection.timer = this.#clock.setTimeout(() => this.#cut(connection), ms);
  }

  #cut(connection: Connection): void {
    this.#forget(connection);
    connection.socket.destroy();
  }

  #forget(connection: Connection): void {
    this.#clock.clearTimeout(connection.timer);
    if (this.#all.get(connection.key) === connection) this.#all.delete(connection.key);
    connection.closed.resolve();
  }
}

/** The client's end: the same for a socket and for the TLS over it. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
