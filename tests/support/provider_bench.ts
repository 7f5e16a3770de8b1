/**
 * Observer and account watch over a provider whose answers the test gives.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import type { LogFields } from "../../src/core/log.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { seededRandom } from "../../src/core/random.ts";
import { AccountWatch } from "../../src/operator/account.ts";
import { ProviderGateway } from "../../src/operator/gateway.ts";
import { Observer, type Round } from "../../src/operator/observer.ts";
import { Scheduler } from "../../src/operator/scheduler.ts";
import {
  type Database,
  type DatabasePage,
  type DatabaseProvider,
  type ListOptions,
  ProviderError,
  type ProviderInfo,
} from "../../src/providers/port.ts";
import { ManualClock } from "./manual_clock.ts";

/** The bench's poll period, in milliseconds. */
export const PERIOD = 300_000;

/** A database with a UID tag. */
export function database(id: string, uid?: string): Database {
  return {
    id,
    name: id,
    engine: "postgres",
    version: "14.2",
    sizeGb: 20,
    state: "Available",
    providerState: "Available",
    tags: uid === undefined ? {} : { [TAG.uid]: uid },
    createdAt: "2026-01-01T00:00:00Z",
  };
}

/** An observer and an account watch over a provider whose answers the test gives. */
export class Bench {
  readonly clock = new ManualClock();
  readonly lists: { readonly at: number; readonly options: ListOptions }[] = [];
  readonly infos: number[] = [];
  readonly rounds: Round[] = [];
  readonly unreadable: ProviderError[] = [];
  readonly lines: string[] = [];
  /** The fields of each line. */
  readonly fields: LogFields[] = [];
  changes = 0;
  hurried = false;
  page: (options: ListOptions) => DatabasePage | Promise<DatabasePage> = () => ({ items: [] });
  info: () => ProviderInfo | Promise<ProviderInfo> = () => ({
    account: "acct",
    clientTokens: true,
    readLagSeconds: 1,
    effectBoundSeconds: 10,
  });
  onRound: (round: Round) => Promise<void> | void = () => {};
  readonly observer: Observer;
  readonly account: AccountWatch;
  readonly #abort = new AbortController();
  readonly #running: Promise<unknown>[] = [];

  constructor(readonly part: "observer" | "account") {
    const { clock } = this;
    const random = seededRandom(1);
    const log = {
      log: (_: string, message: string, fields: LogFields = {}) => {
        this.lines.push(message);
        this.fields.push(fields);
      },
    };
    const none = () => Promise.reject(new Error("not of this test"));
    const provider: DatabaseProvider = {
      name: "test",
      info: async () => {
        this.infos.push(clock.monotonic());
        return await this.info();
      },
      list: async (options) => {
        this.lists.push({ at: clock.monotonic(), options });
        return await this.page(options);
      },
      get: none,
      create: none,
      modify: none,
      delete: none,
    };
    const gateway = new ProviderGateway({
      provider,
      scheduler: new Scheduler({ clock }),
      clock,
      metrics: noMetrics,
      callTimeoutMs: 30_000,
      fence: () => {},
    });
    this.observer = new Observer({
      gateway,
      clock,
      random,
      log,
      periodMs: PERIOD,
      clusterId: () => "cluster-1",
      hurried: () => this.hurried,
      sink: {
        onRound: async (round) => {
          this.rounds.push(round);
          await this.onRound(round);
        },
        onUnreadable: (error) => void this.unreadable.push(error),
      },
    });
    this.account = new AccountWatch({ gateway, clock, random, log, onChange: () => void this.changes++ });
  }

  run(): void {
    this.#running.push(this[this.part].run(this.#abort.signal));
  }
  async end(): Promise<void> {
    this.#abort.abort(new Error("over"));
    await this.clock.advance(0);
    await Promise.all(this.#running);
    assertEquals(this.clock.pending, 0, "no timer is left");
  }
}

/** Runs `body` on a bench and ends it. */
export async function onBench(
  part: "observer" | "account",
  body: (bench: Bench) => Promise<void>,
): Promise<void> {
  const bench = new Bench(part);
  try {
    await body(bench);
  } finally {
    await bench.end();
  }
}
