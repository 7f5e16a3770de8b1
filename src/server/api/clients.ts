/**
 * Those who read a stream of server-sent events: each is told by a queue of its own, and cut off when it does not read.
 *
 * @module
 */

/** Bytes that may wait for one client, beside the last event; one that has more to read is cut off. */
export const CLIENT_BYTES = 1_048_576;

/** One client. */
export interface Client {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  /** `namespace/name` of the database that it looks at. */
  readonly database: string | undefined;
  /** Bytes that it was given so far. */
  given: number;
  /** Bytes that it had read at the last sign of life, where it had more to read then. */
  readBefore: number | undefined;
}

/** A set of clients. */
export class Clients {
  readonly #all = new Set<Client>();
  readonly #onLast: () => void;

  /** `onLast` is told whenever the last of them went. */
  constructor(onLast: () => void) {
    this.#onLast = onLast;
  }

  /** How many there are. */
  get size(): number {
    return this.#all.size;
  }

  /** All of them; may be changed meanwhile. */
  all(): readonly Client[] {
    return [...this.#all];
  }

  /** What a new client reads; `begin` tells it where things are. */
  add(database: string | undefined, begin: (client: Client) => void): ReadableStream<Uint8Array> {
    let client: Client | undefined;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        client = { controller, database, given: 0, readBefore: undefined };
        this.#all.add(client);
        try {
          begin(client);
        } catch (error) {
          this.#drop(client); // nobody will ever read it
          throw error;
        }
      },
      cancel: () => {
        if (client !== undefined) this.#drop(client);
      },
    }, new ByteLengthQueuingStrategy({ highWaterMark: CLIENT_BYTES }));
  }

  /** Tells one, or cuts it off. */
  send(client: Client, bytes: Uint8Array): void {
    if (!this.#all.has(client)) return;
    if ((client.controller.desiredSize ?? 0) <= 0) this.#cut(client);
    else {
      client.given += bytes.length;
      client.controller.enqueue(bytes);
    }
  }

  /** Tells all. */
  sendAll(bytes: Uint8Array): void {
    for (const client of this.all()) this.send(client, bytes);
  }

  /** Gives a sign of life to all, and cuts off those that have read nothing since the last. */
  beat(bytes: Uint8Array): void {
    for (const client of this.all()) {
      const waiting = CLIENT_BYTES - (client.controller.desiredSize ?? 0);
      const read = client.given - waiting;
      if (waiting > 0 && read === client.readBefore) this.#cut(client);
      else {
        client.readBefore = waiting > 0 ? read : undefined;
        this.send(client, bytes);
      }
    }
  }

  /** Lets all go in order. */
  close(): void {
    for (const client of this.all()) {
      this.#drop(client);
      client.controller.close();
    }
  }

  /** What waits for it is thrown away: it would never be read. */
  #cut(client: Client): void {
    this.#drop(client);
    client.controller.error(new Error("The client does not read"));
  }

  #drop(client: Client): void {
    if (this.#all.delete(client) && this.#all.size === 0) this.#onLast();
  }
}
