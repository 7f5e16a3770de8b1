/**
 * The way to the provider: every call passes the account's scheduler, has a deadline, is counted, and, where it
 * changes something, is fenced in the tick that sends it (rule 21).
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Metrics } from "../core/metrics.ts";
import { messageOf } from "../core/text.ts";
import { noTracing, type Span, type Tracing } from "../core/tracing.ts";
import { DeadlineError, withDeadline } from "../core/wait.ts";
import {
  type CallOptions,
  type CreateRequest,
  type Database,
  type DatabasePage,
  type DatabaseProvider,
  type ModifyRequest,
  ProviderError,
  type ProviderErrorClass,
  type ProviderInfo,
} from "../providers/port.ts";
import { eachPage, refuseUnreadable } from "../providers/paging.ts";
import { RETRY_AFTER_CAP_MS } from "../statechart/step_error.ts";
import { type ChangeKind, Changes, type Turn } from "./changes.ts";
import type { CloudCall } from "./history/calls.ts";
import { type Lane, QueueFullError, type Scheduler } from "./scheduler.ts";
import { withoutPassword } from "./without_password.ts";

/** An answer with the monotonic times, in milliseconds, at which its request was sent and it came. */
export interface Answer<T> {
  readonly value: T;
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** The fence held a mutation back: nothing was sent (rule 21). */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
}

/** What {@linkcode ProviderGateway} needs. */
export interface GatewayOptions {
  readonly provider: DatabaseProvider;
  /** Name of the class of databases that it serves; `""` for the account of the flags. @default "" */
  readonly databaseClass?: string | undefined;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  /** How long one call may take once it was started, in milliseconds. */
  readonly callTimeoutMs: number;
  /** How long after its time-out a call may take effect, in milliseconds, as the provider says. @default 0 */
  readonly effectBoundMs?: (() => number) | undefined;
  /** Throws when this process may not change anything now (rule 21). */
  readonly fence: () => void;
  /** Throws while nothing may be changed at this provider, though it may be read, by what was read of it at that time. */
  readonly mayChange?: ((readAt?: number) => void) | undefined;
  /** Told when a call's credentials are refused. */
  readonly onUnauthorised?: (() => void) | undefined;
  /** Told of every call that ended. */
  readonly onCall?: ((call: CloudCall) => void) | undefined;
  /** The account is throttled and stays so: a pause brought nothing but the next. Told of the error at each. */
  readonly onThrottled?: (error: ProviderError) => void;
}

/**
 * Pages of one lookup that hold something; a UID has one database, so more than a few is a server that misbehaves. Empty
 * ones do not count: a cloud that filters what it reads, page by page, answers a large account with many of them.
 */
const MAX_LOOKUP_PAGES = 50;

/** One call, to be sent when its turn comes. */
interface Sending<T> {
  readonly verb: string;
  readonly lane: Lane;
  readonly signal: AbortSignal;
  readonly call: (options: CallOptions) => Promise<T>;
  /** Of what changes something: throws in the tick that would send it where it is no longer wanted. */
  readonly wanted?: () => void;
  /** What is asked for, for whoever is told of the call. */
  readonly request?: CreateRequest | ModifyRequest;
  /** Awaited when its turn has come. */
  readonly prepare?: (() => Promise<void>) | undefined;
  /** When the database was read that it changes. */
  readonly readAt?: number;
}

/** Calls a provider. Rejects with {@linkcode ProviderError}, the signal's reason, or what `beforeSend` throws. */
export class ProviderGateway {
  readonly #o: GatewayOptions;
  #provider: DatabaseProvider;
  readonly #changes: Changes;
  /** Mutating calls that were sent and not answered. */
  #mutations = 0;

  constructor(options: GatewayOptions) {
    this.#o = options;
    this.#provider = options.provider;
    this.#changes = new Changes(options.clock, options.effectBoundMs ?? (() => 0));
  }

  /** Sends what is sent from now on to another provider; returns the one before, which still answers what it was sent. */
  use(provider: DatabaseProvider): DatabaseProvider {
    const before = this.#provider;
    this.#provider = provider;
    return before;
  }

  /** The provider's name. */
  get name(): string {
    return this.#provider.name;
  }

  /** Name of the class of databases that it serves; `""` for the account of the flags. */
  get databaseClass(): string {
    return this.#o.databaseClass ?? "";
  }

  /** Mutating calls under way: while there is one the lease is not released (rule 21). */
  get mutationsInFlight(): number {
    return this.#mutations;
  }

  /** What the provider says of itself. */
  async info(signal: AbortSignal): Promise<ProviderInfo> {
    const call = (o: CallOptions) => this.#provider.info(o);
    return (await this.#traced({ verb: "info", lane: "urgent", signal, call })).value;
  }

  /** One database by id; `onSend` is told when its turn came, which a refusal does not tell. */
  get(
    id: string,
    lane: Lane,
    signal: AbortSignal,
    onSend: (sentAt: number) => void = () => {},
  ): Promise<Answer<Database>> {
    const call = (o: CallOptions) => {
      this.#changes.read(id, signal);
      onSend(this.#o.clock.monotonic());
      return this.#provider.get(id, o);
    };
    return this.#traced({ verb: "get", lane, signal, call });
  }

  /** One page of a list. */
  page(
    tags: Readonly<Record<string, string>>,
    pageToken: string | undefined,
    lane: Lane,
    signal: AbortSignal,
  ): Promise<Answer<DatabasePage>> {
    const call = (o: CallOptions) => this.#provider.list({ ...o, tags, pageToken });
    return this.#traced({ verb: "list", lane, signal, call });
  }

  /**
   * All databases that carry the tags; `sentAt` is that of the first page. Rejects as `retryable` when one of them
   * cannot be read (S6).
   */
  async lookup(
    tags: Readonly<Record<string, string>>,
    lane: Lane,
    signal: AbortSignal,
  ): Promise<Answer<readonly Database[]>> {
    const found: Database[] = [];
    let held = 0;
    let sentAt = Number.POSITIVE_INFINITY;
    let answeredAt = Number.NEGATIVE_INFINITY;
    const send = (pageToken: string | undefined) => this.page(tags, pageToken, lane, signal);
    const broken = (how: "circle" | "endless") =>
      new ProviderError(
        "retryable",
        `The provider's list ${how === "circle" ? "goes in a circle" : "has too many pages for one UID"}`,
      );
    for await (const page of eachPage(send, (p) => p.value.nextPageToken, broken)) {
      refuseUnreadable(page.value);
      const { items, nextPageToken } = page.value;
      sentAt = Math.min(sentAt, page.sentAt);
      answeredAt = page.answeredAt;
      found.push(...items);
      if (items.length > 0 && ++held === MAX_LOOKUP_PAGES && nextPageToken !== undefined) {
        throw broken("endless");
      }
    }
    return { value: found, sentAt, answeredAt };
  }

  /** Sends a create; `prepare` is awaited when its turn has come, and `wanted` is asked in the tick that sends it. */
  create(
    request: CreateRequest,
    lane: Lane,
    signal: AbortSignal,
    wanted: () => void,
    prepare?: () => Promise<void>,
  ): Promise<Answer<Database>> {
    const call = (o: CallOptions) => this.#provider.create(request, o);
    return this.#traced({ verb: "create", lane, signal, wanted, call, request, prepare });
  }

  /** Sends a change. */
  modify(
    id: string,
    request: ModifyRequest,
    lane: Lane,
    signal: AbortSignal,
    wanted: () => void,
    prepare?: () => Promise<void>,
  ): Promise<Answer<Database>> {
    const turn = this.#changes.turn(id, kindOf(request), {
      tags: request.tags !== undefined,
      reader: signal,
    });
    const call = (o: CallOptions) => this.#provider.modify(id, request, o);
    return this.#change({ verb: "modify", lane, signal, wanted, call, request, prepare }, turn);
  }

  /** Sends a delete, which takes a snapshot of that name first where one is given (rule 17); `prepare` as of a create. */
  delete(
    id: string,
    lane: Lane,
    signal: AbortSignal,
    wanted: () => void,
    prepare?: () => Promise<void>,
    finalSnapshot?: string,
  ): Promise<Answer<void>> {
    const more = finalSnapshot === undefined ? {} : { finalSnapshot };
    const turn = this.#changes.turn(id, "delete", { reader: signal });
    const call = (o: CallOptions) => this.#provider.delete(id, { ...o, ...more });
    return this.#change({ verb: "delete", lane, signal, wanted, call, prepare }, turn);
  }

  async #change<T>(sending: Sending<T>, turn: Turn): Promise<Answer<T>> {
    const wanted = () => {
      sending.wanted?.();
      turn.take();
    };
    try {
      const answer = await this.#traced({ ...sending, wanted, readAt: turn.readAt });
      turn.end();
      return answer;
    } catch (error) {
      turn.end(error instanceof NotSentError ? undefined : error);
      throw error;
    }
  }

  #fence(): void {
    try {
      this.#o.fence();
    } catch (error) {
      throw new NotSentError(messageOf(error), { cause: error });
    }
  }

  #mayChange(readAt: number | undefined): void {
    try {
      this.#o.mayChange?.(readAt);
    } catch (error) {
      throw new NotSentError(messageOf(error), { cause: error });
    }
  }

  #traced<T>(sending: Sending<T>): Promise<Answer<T>> {
    const { tracing = noTracing } = this.#o;
    const facts = () => ({
      "externaldatabase.provider": this.name,
      "externaldatabase.class": this.databaseClass,
      "externaldatabase.lane": sending.lane,
    });
    return tracing.span(
      `cloud ${sending.verb}`,
      { facts, client: true },
      (span) => this.#call(sending, span),
    );
  }

  #call<T>(
    { verb, lane, signal, wanted, call, request, prepare, readAt }: Sending<T>,
    span: Span,
  ): Promise<Answer<T>> {
    const { clock, scheduler, metrics, callTimeoutMs, onCall, tracing = noTracing } = this.#o;
    const { databaseClass } = this;
    const queuedAt = clock.monotonic();
    // It is started by whoever's call ends before it.
    return scheduler.run(
      lane,
      signal,
      tracing.bind(async () => {
        if (prepare !== undefined) await prepare();
        const sentAt = clock.monotonic();
        const beforeSend = wanted === undefined ? undefined : () => {
          wanted();
          this.#fence();
          this.#mayChange(readAt);
        };
        if (wanted !== undefined) this.#mutations++;
        let outcome = "ok";
        try {
          this.#fence(); // no external call at all without the lease (H1); a mutation is checked again as it is sent
          const value = await withDeadline(
            { clock, ms: callTimeoutMs, action: `${verb} at ${this.name}`, signal },
            (inner) => call({ signal: inner, beforeSend }),
          );
          onCall?.({ signal, verb, outcome, sentAt, request, answer: value });
          return { value, sentAt, answeredAt: clock.monotonic() };
        } catch (error) {
          // Here, as the history and the traces are told too (rule 25).
          const known = withoutPassword(classify(error, wanted !== undefined), request?.password);
          if (known instanceof ProviderError) {
            outcome = known.errorClass;
            if (known.errorClass === "unauthorised") this.#o.onUnauthorised?.();
            if (known.errorClass === "throttled") {
              const { retryAfterMs } = known;
              scheduler.pause(
                retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, RETRY_AFTER_CAP_MS),
              );
              if (scheduler.pauses > 1) this.#o.onThrottled?.(known);
            }
          } else outcome = "notSent";
          onCall?.({ signal, verb, outcome, sentAt, request, error: known });
          throw known;
        } finally {
          if (wanted !== undefined) this.#mutations--;
          span.set({ "externaldatabase.outcome": outcome, "externaldatabase.queued_ms": sentAt - queuedAt });
          metrics.cloudCall(
            { provider: this.name, databaseClass },
            verb,
            outcome,
            (clock.monotonic() - sentAt) / 1_000,
          );
        }
      }),
    ).catch((error: unknown) => {
      if (error instanceof QueueFullError) {
        throw new ProviderError("retryable", error.message, { cause: error });
      }
      throw error;
    });
  }
}

/** What of a change a later one would undo, or be undone by. */
function kindOf({ version, sizeGb, password }: ModifyRequest): ChangeKind {
  return version === undefined && sizeGb === undefined && password === undefined ? "marks" : "values";
}

/** A time-out of a change leaves its outcome unknown; one of a read costs nothing but the read. */
function classify(error: unknown, mutating: boolean): unknown {
  if (!(error instanceof DeadlineError)) return error;
  const errorClass: ProviderErrorClass = mutating ? "unknown" : "retryable";
  return new ProviderError(errorClass, `The provider did not answer within ${error.ms} ms`, { cause: error });
}
