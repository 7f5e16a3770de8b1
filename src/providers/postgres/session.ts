/**
 * Sessions on one server: a bounded pool of `pg`, which is loaded when the first is asked for.
 *
 * Assumed of the server: nothing. Every wait has an end on both sides. The server ends a statement after half the
 * call's time-out, and a session that is silent for {@linkcode IDLE_SECONDS}: so a process that was frozen with a statement
 * in hand finds its session gone (rule 21), and what a call can still do after its deadline is bounded (rule 5).
 *
 * @module
 */
// @ts-types="@types/pg"
import type { Pool, PoolClient } from "pg";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import { isRefusal } from "./errors.ts";
import type { ServerAddress } from "./servers_file.ts";

/** After this long without a statement the server ends a session, in seconds. */
export const IDLE_SECONDS = 10;
/** After this long without use the pool closes a connection, in milliseconds: well before the server would. */
const POOL_IDLE_MS = 4_000;
/** Longest wait for a connection, in milliseconds. */
const CONNECT_MS = 10_000;
/** Connections to one server at most. */
export const MAX_CONNECTIONS = 8;

/** Longest time of one statement on the server, of a call that takes `timeoutMs` at most. */
export function statementMs(timeoutMs: number): number {
  return Math.ceil(timeoutMs / 2);
}

/** First half of the key of our advisory locks ("EDB" and a format); the second is the hash of the name. */
export const LOCK_CLASS = 0x45444201;

/** What a pool is made of. */
export interface PoolOptions {
  readonly address: ServerAddress;
  /** Longest time of one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Told of each statement in the tick that hands it to the driver. */
  readonly onStatement?: ((text: string) => void) | undefined;
}

/** One connection in one call's hands. */
export class Session {
  #lock: string | undefined;

  constructor(
    private readonly client: PoolClient,
    private readonly call: Call,
    private readonly onStatement: ((text: string) => void) | undefined,
  ) {}

  /** Sends a statement that changes nothing; resolves with its rows. */
  async query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    this.onStatement?.(text);
    const config = { text, ...(values === undefined ? {} : { values: [...values] }) };
    return (await this.client.query<Row>(config)).rows;
  }

  /** Sends a statement that changes something, or several that are one transaction; asks the fence in the same tick. */
  async mutate(text: string): Promise<void> {
    this.call.send(); // nothing may be awaited between this and the driver (rule 21)
    this.onStatement?.(text);
    await this.client.query(text);
  }

  /**
   * Takes the lock of one database name, for all processes that manage this server. It is the session's: it goes with
   * it, but only after the statement that the server is still at. False while another holds it.
   */
  async lock(name: string): Promise<boolean> {
    const [row] = await this.query<{ locked: boolean }>(
      "SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked",
      [LOCK_CLASS, name],
    );
    if (row?.locked !== true) return false;
    this.#lock = name;
    return true;
  }

  /** Gives the lock back, if it has one. */
  async unlock(): Promise<void> {
    if (this.#lock === undefined) return;
    await this.query("SELECT pg_advisory_unlock($1, hashtext($2))", [LOCK_CLASS, this.#lock]);
    this.#lock = undefined;
  }
}

/** The connections to one server. */
export class ServerPool {
  #pool: Promise<Pool> | undefined;
  #closed = false;

  constructor(private readonly options: PoolOptions) {}

  /**
   * Runs `work` with a session of its own. The session is given back clean, or closed: when the call is given up, and
   * after any error that is not a refusal by the server.
   */
  async run<T>(call: Call, work: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.#acquire(call.signal);
    let held = true;
    const giveBack = (clean: boolean) => {
      if (held) client.release(!clean);
      held = false;
    };
    const onAbort = () => giveBack(false);
    call.signal.addEventListener("abort", onAbort, { once: true });
    const session = new Session(client, call, this.options.onStatement);
    let clean = false;
    try {
      const result = await work(session);
      clean = true;
      return result;
    } catch (error) {
      clean = isRefusal(error) || error instanceof ProviderError || call.isFence(error);
      throw error;
    } finally {
      // The lock goes before the answer, or the next call would find it held.
      if (held && clean) clean = await session.unlock().then(() => true, () => false);
      call.signal.removeEventListener("abort", onAbort);
      giveBack(clean);
    }
  }

  /** Closes every connection; those in use when they are given back. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const pool = await this.#pool?.catch(() => undefined); // one that could not be made holds nothing
    await pool?.end();
  }

  async #acquire(signal: AbortSignal): Promise<PoolClient> {
    signal.throwIfAborted();
    this.#pool ??= this.#open().catch((error: unknown) => {
      this.#pool = undefined; // tried again by the next call
      throw error;
    });
    const connecting = this.#pool.then((pool) => pool.connect());
    let onAbort: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
    });
    try {
      return await Promise.race([connecting, aborted]);
    } catch (error) {
      connecting.then((late) => late.release(), () => {}); // its failure is this one, or nobody waits for it
      throw error;
    } finally {
      if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
    }
  }

  async #open(): Promise<Pool> {
    const { address, timeoutMs } = this.options;
    let tls: { rejectUnauthorized: true; ca?: string } | false = false;
    try {
      if (address.tls) {
        tls = { rejectUnauthorized: true };
        if (address.tlsAuthorities !== undefined) tls.ca = await Deno.readTextFile(address.tlsAuthorities);
      }
    } catch (cause) {
      throw new Error(`The file of sslrootcert in line ${address.line} cannot be read`, { cause });
    }
    // @ts-types="@types/pg"
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({
      host: address.host,
      port: address.port,
      user: address.user,
      ...(address.password === undefined ? {} : { password: address.password }),
      database: address.database,
      ssl: tls,
      max: MAX_CONNECTIONS,
      idleTimeoutMillis: POOL_IDLE_MS,
      connectionTimeoutMillis: Math.min(CONNECT_MS, timeoutMs),
      query_timeout: timeoutMs + 1_000, // the call's own deadline comes first
      statement_timeout: statementMs(timeoutMs),
      idle_in_transaction_session_timeout: IDLE_SECONDS * 1_000,
      options: `-c idle_session_timeout=${IDLE_SECONDS * 1_000} -c search_path=pg_catalog`,
      application_name: "externaldatabase-operator",
      keepAlive: true,
      allowExitOnIdle: true,
    });
    // A connection that breaks while nobody uses it is replaced by the next call; unheard it would end the process.
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {})); // and one in use fails its statement
    return pool;
  }
}
