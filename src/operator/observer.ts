/**
 * Observes in bulk (design.md 3): one paginated list per period for all CRs of the account, fanned out to the actors.
 *
 * Promised: a period costs ceil(databases / 100) calls, whatever the number of CRs; a list that fails says so and is
 * tried again with back-off; an absence is told only after a complete list; what carries a UID that no CR has in two
 * complete lists is checked and reported as an orphan, never deleted (S2, rule 22).
 *
 * @module
 */
import { OPERATOR_NAME, TAG } from "../api/constants.ts";
import { backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { jitter, type Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { sleep } from "../core/wait.ts";
import { eachPage } from "../providers/paging.ts";
import { type Database, ProviderError } from "../providers/port.ts";
import { Summons } from "./summons.ts";
import type { ProviderGateway } from "./gateway.ts";

/** A database as one list showed it. */
export interface Listed {
  readonly database: Database;
  readonly sentAt: number;
}

/** A complete list. */
export interface Round {
  /** Monotonic time at which its first page was asked for, in milliseconds. */
  readonly sentAt: number;
  readonly byId: ReadonlyMap<string, Listed>;
  readonly byUid: ReadonlyMap<string, readonly Listed[]>;
  /** What is wrong with databases that were listed and cannot be read, by id: not absent (S6). */
  readonly unreadable: ReadonlyMap<string, string>;
  /** What is wrong with one whose id cannot be read either: it may be any that is not listed, so none is absent (S6). */
  readonly unidentified?: string | undefined;
}

/** What keeps a list that does not show a database from saying that it is absent (S6): it, or what may be it, cannot be read. */
export function unreadableAs({ unreadable, unidentified }: Round, id: string): string | undefined {
  return unreadable.get(id) ?? unidentified;
}

/** Who is told. */
export interface ObserverSink {
  /** A list is complete. */
  onRound(round: Round): Promise<void> | void;
  /** A list failed twice in a row or more. */
  onUnreadable(error: ProviderError): void;
}

/** What an {@linkcode Observer} takes. */
export interface ObserverOptions {
  readonly gateway: ProviderGateway;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly periodMs: number;
  readonly clusterId: () => string;
  /** Asked after each list: whether the next is to come as soon as lists may. */
  readonly hurried: () => boolean;
  readonly sink: ObserverSink;
}

/** Failures in a row before the fleet is told: one lost answer is no outage. */
const TELL_AFTER = 2;
/** Requested rounds keep this distance, in milliseconds. */
const MIN_DISTANCE_MS = 2_000;
const RETRY = { baseMs: 1_000, capMs: 30_000 };

/** Lists once a period, and sooner on request. */
export class Observer {
  readonly #o: ObserverOptions;
  #roundAt = Number.NEGATIVE_INFINITY;
  #roundMs = 0;
  #since: number | undefined;
  readonly #summons: Summons;
  /** What was wrong in the last list, so that each is logged once. */
  #wrong: ReadonlySet<string> = new Set();

  constructor(options: ObserverOptions) {
    this.#o = options;
    this.#summons = new Summons(options.clock, MIN_DISTANCE_MS);
  }

  /** Sent time of the last complete list, monotonic milliseconds; −Infinity before the first. */
  get roundAt(): number {
    return this.#roundAt;
  }

  /** How long a list takes: the last complete one, or the one under way by the page that came last. In milliseconds. */
  get roundMs(): number {
    return this.#roundMs;
  }

  /** When it began to list, monotonic milliseconds; `undefined` while it does not. */
  get since(): number | undefined {
    return this.#since;
  }

  /** Asks for a list soon; many requests make one list. */
  requestRound(): void {
    this.#summons.request();
  }

  /** Lists until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#since = this.#o.clock.monotonic();
    await this.#rounds(signal);
    this.#since = undefined;
  }

  async #rounds(signal: AbortSignal): Promise<void> {
    const { random, periodMs } = this.#o;
    let failures = 0;
    while (!signal.aborted) {
      this.#summons.answer();
      const ok = await this.#round(failures, signal);
      if (signal.aborted) return;
      failures = ok ? 0 : failures + 1;
      if (ok && this.#o.hurried()) this.#summons.request();
      // A request does not shorten the back-off of a list that fails: many that ask would make it a loop.
      if (ok) await this.#summons.pause(jitter(random, periodMs, 0.05), signal);
      else await sleep(this.#o.clock, backoffMs(RETRY, failures - 1, random), signal).catch(() => {});
    }
  }

  async #round(failures: number, signal: AbortSignal): Promise<boolean> {
    const { log, sink } = this.#o;
    try {
      const round = await this.#list(signal);
      this.#roundAt = round.sentAt;
      this.#logUnreadable(round);
      await sink.onRound(round);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const known = error instanceof ProviderError ? error : new ProviderError(
        "retryable",
        `Failed to list: ${messageOf(error)}`,
      );
      log.log("warn", "Failed to list the databases", {
        class: known.errorClass,
        error: known.message,
        failures: failures + 1,
      });
      if (failures + 1 >= TELL_AFTER) sink.onUnreadable(known);
      return false;
    }
  }

  /** Once for each database, and anew after it could be read. */
  #logUnreadable({ unreadable, unidentified }: Round): void {
    const wrong = new Map(unreadable);
    if (unidentified !== undefined) wrong.set("", unidentified);
    for (const [id, message] of wrong) {
      if (this.#wrong.has(id)) continue;
      this.#o.log.log("warn", "A listed database cannot be read; it is left alone and not taken for absent", {
        ...(id === "" ? {} : { providerId: id }),
        error: message,
      });
    }
    this.#wrong = new Set(wrong.keys());
  }

  async #list(signal: AbortSignal): Promise<Round> {
    const { gateway, clusterId, clock } = this.#o;
    const begunAt = clock.monotonic();
    const tags = { [TAG.cluster]: clusterId(), [TAG.managedBy]: OPERATOR_NAME };
    const byId = new Map<string, Listed>();
    const unreadable = new Map<string, string>();
    let unidentified: string | undefined;
    let sentAt = Number.POSITIVE_INFINITY;
    const send = (pageToken: string | undefined) => gateway.page(tags, pageToken, "poll", signal);
    const broken = () => new ProviderError("retryable", "The provider's list does not end");
    for await (const page of eachPage(send, (p) => p.value.nextPageToken, broken)) {
      sentAt = Math.min(sentAt, page.sentAt);
      for (const database of page.value.items) byId.set(database.id, { database, sentAt: page.sentAt });
      for (const { id, message } of page.value.unreadable ?? []) {
        if (id === undefined) unidentified ??= message;
        else unreadable.set(id, message);
      }
      this.#roundMs = Math.max(this.#roundMs, clock.monotonic() - begunAt);
    }
    this.#roundMs = clock.monotonic() - begunAt;
    return { sentAt, byId, byUid: groupByUid(byId), unreadable, unidentified };
  }
}

function groupByUid(byId: ReadonlyMap<string, Listed>): ReadonlyMap<string, readonly Listed[]> {
  const byUid = new Map<string, Listed[]>();
  for (const listed of byId.values()) {
    const uid = listed.database.tags[TAG.uid];
    if (uid === undefined) continue;
    const known = byUid.get(uid);
    if (known === undefined) byUid.set(uid, [listed]);
    else known.push(listed);
  }
  return byUid;
}
