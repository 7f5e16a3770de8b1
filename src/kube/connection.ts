/**
 * The HTTP client that all requests to one cluster share, and when to make a new one: the CA or the client
 * certificate changed, or its connection went dead.
 *
 * HTTP/2 puts every request on one TCP connection. If that dies without a reset (a firewall forgot it, a node was
 * unplugged), each request after it would wait for its deadline for as long as TCP retransmits: a quarter of an hour.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { ClusterConfig } from "./config.ts";
import type { TlsMaterial } from "./config_file.ts";
import type { Identity } from "./credentials.ts";

/** How often the TLS files are looked at, in milliseconds. */
const LOOK_MS = 60_000;

/** The part of `Deno.HttpClient` that is used. */
export type HttpClient = Pick<Deno.HttpClient, "close">;

/** Makes an HTTP client. */
export type CreateHttpClient = (options: TlsMaterial & { readonly proxyUrl?: string }) => HttpClient;

/** Deno's own, with HTTP/2. */
export const denoHttpClient: CreateHttpClient = ({ caCerts, cert, key, proxyUrl }) => {
  const common = {
    http2: true,
    ...(caCerts ? { caCerts: [...caCerts] } : {}),
    ...(proxyUrl ? { proxy: { url: proxyUrl } } : {}),
  };
  return Deno.createHttpClient(cert && key ? { ...common, cert, key } : common);
};

/** One client in use. */
export interface Lease {
  readonly client: HttpClient;
  /** An answer's headers came: the connection is alive. */
  answered(): void;
  /** The request ended; to be called once. */
  done(): void;
  /** A deadline passed; the client is given up if nothing was answered on it since this lease began. */
  timedOut(): void;
}

interface Entry {
  readonly client: HttpClient;
  readonly fingerprint: string;
  inUse: number;
  retired: boolean;
  answeredAt: number;
}

/** Hands out the current client. A client that was replaced is closed once nothing uses it: closing it earlier ends its streams as if they were complete. */
export class Connection {
  #entry: Entry | undefined;
  #lookedAt = 0;
  #tls: TlsMaterial | undefined;

  constructor(
    readonly config: ClusterConfig,
    readonly clock: Clock,
    readonly create: CreateHttpClient = denoHttpClient,
  ) {}

  /** The client for one request. Throws `ConfigError` when the TLS files cannot be read. */
  async lease(identity: Identity): Promise<Lease> {
    const now = this.clock.monotonic();
    if (!this.#tls || now - this.#lookedAt >= LOOK_MS) await this.#look();
    const entry = this.#current(identity);
    entry.inUse++;
    const sentAt = this.clock.monotonic();
    let open = true;
    return {
      client: entry.client,
      answered: () => entry.answeredAt = this.clock.monotonic(),
      done: () => {
        if (!open) return;
        open = false;
        entry.inUse--;
        if (entry.retired && entry.inUse === 0) entry.client.close();
      },
      timedOut: () => {
        if (entry === this.#entry && entry.answeredAt <= sentAt) this.#retire();
      },
    };
  }

  /** Reads the TLS files now; true when they changed, so that a failed handshake may be tried again. */
  async reload(): Promise<boolean> {
    const before = JSON.stringify(this.#tls);
    await this.#look();
    return JSON.stringify(this.#tls) !== before;
  }

  /** Gives up the client; a later request makes a new one. */
  close(): void {
    this.#retire();
  }

  async #look(): Promise<void> {
    try {
      this.#tls = await this.config.readTls();
    } catch (error) {
      if (!this.#tls) throw error; // a file being replaced: what is known may still do
    }
    this.#lookedAt = this.clock.monotonic();
  }

  #current(identity: Identity): Entry {
    const { cert, key } = identity;
    const material = { ...this.#tls, ...(cert && key ? { cert, key } : {}) };
    const fingerprint = JSON.stringify(material);
    if (this.#entry?.fingerprint !== fingerprint) this.#retire();
    return this.#entry ??= {
      client: this.create({
        ...material,
        ...(this.config.proxyUrl ? { proxyUrl: this.config.proxyUrl } : {}),
      }),
      fingerprint,
      inUse: 0,
      retired: false,
      answeredAt: -Infinity,
    };
  }

  #retire(): void {
    const entry = this.#entry;
    this.#entry = undefined;
    if (!entry) return;
    entry.retired = true;
    if (entry.inUse === 0) entry.client.close();
  }
}
