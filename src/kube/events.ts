/**
 * Records Events (events.k8s.io/v1) about custom resources.
 *
 * Promised: never awaited, never throws, never in the way: a bounded queue, one request at a time at a bounded rate;
 * what is repeated within six minutes becomes a series on the first Event, as client-go's recorder does. What the API
 * server refuses (a terminating namespace refuses all) is logged at debug and dropped; that the right to write Events is
 * missing is said once at warn.
 *
 * @module
 */
import { EventsV1Api, V1MicroTime } from "@kubernetes/client-node";
import { OPERATOR_NAME } from "../api/constants.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger, LogLevel } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { sleep } from "../core/wait.ts";
import { apiConfiguration, normalised, perCall } from "./client.ts";
import { type EventRecord, type EventRecorder, KubeError } from "./port.ts";
import type { Transport } from "./transport.ts";

/** `reportingController` of all Events. */
export const REPORTING_CONTROLLER = `my.domain/${OPERATOR_NAME}`;
/** How long a repetition belongs to its series, in milliseconds (client-go: 6 minutes). */
const SERIES_MS = 360_000;
/** Longest note, in bytes of UTF-8 (the API server's limit). */
const MAX_NOTE = 1_024;

/** One Event to be written or counted. */
export interface EventsPort {
  /** Creates an Event named `name` in the namespace of what it is about. */
  create(event: EventRecord, meta: EventMeta, signal: AbortSignal): Promise<void>;
  /** Makes an Event a series of `count`, last observed at `at` (wall time, milliseconds). */
  series(namespace: string, name: string, count: number, at: number, signal: AbortSignal): Promise<void>;
}

/** What the recorder adds to an Event. */
export interface EventMeta {
  readonly name: string;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly note: string;
  readonly reportingInstance: string;
}

/** What {@linkcode createEventRecorder} takes. */
export interface EventRecorderOptions {
  readonly events: EventsPort;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Pod name or host name; cut to 128 characters, the API server's limit. */
  readonly reportingInstance: string;
  /** Events that wait; more are dropped. @default 1_000 */
  readonly queue?: number;
  /** Requests a second. @default 20 */
  readonly rate?: number;
}

/** An {@linkcode EventRecorder} that can be emptied at the end. */
export interface FlushableEventRecorder extends EventRecorder {
  /** Resolves when nothing waits, or after `deadlineMs`; what then still waits is dropped. Nothing is recorded afterwards. */
  flush(deadlineMs: number): Promise<void>;
}

interface Series {
  readonly event: EventRecord;
  readonly name: string;
  /** Monotonic time of the last repetition. */
  lastAt: number;
  lastWall: number;
  count: number;
  written: number;
  queued: boolean;
}

/** The recorder; its only timer runs while something waits. */
export function createEventRecorder(options: EventRecorderOptions): FlushableEventRecorder {
  return new Recorder(options);
}

class Recorder implements FlushableEventRecorder {
  readonly #o: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #queue: Series[] = [];
  readonly #stop = new AbortController();
  #working: Promise<void> | undefined;
  #dropped = 0;
  #toldForbidden = false;
  #closed = false;

  constructor(options: EventRecorderOptions) {
    this.#o = options;
  }

  record(event: EventRecord): void {
    if (this.#closed) return;
    const { clock, random } = this.#o;
    const now = clock.monotonic();
    this.#forget(now);
    const { uid, name } = event.regarding.metadata;
    const key = JSON.stringify([uid, event.type, event.reason, event.action, event.note]);
    let series = this.#series.get(key);
    if (series) {
      series.count++;
      this.#series.delete(key); // to the end: the oldest is the first
    } else {
      const suffix = Math.floor(random.next() * 2 ** 48).toString(16).padStart(12, "0");
      series = {
        event,
        name: `${name.slice(0, 240)}.${suffix}`,
        lastAt: now,
        lastWall: 0,
        count: 1,
        written: 0,
        queued: false,
      };
    }
    series.lastAt = now;
    series.lastWall = clock.now();
    this.#series.set(key, series);
    if (series.queued) return; // its count is written when its turn comes
    if (this.#queue.length >= (this.#o.queue ?? 1_000)) {
      this.#dropped++;
      if (series.written === 0) this.#series.delete(key);
      return;
    }
    series.queued = true;
    this.#queue.push(series);
    this.#working ??= this.#work().finally(() => this.#working = undefined);
  }

  async flush(deadlineMs: number): Promise<void> {
    this.#closed = true;
    const { clock } = this.#o;
    if (this.#working) {
      const done = new AbortController();
      const working = this.#working.finally(() => done.abort());
      await Promise.race([working, sleep(clock, deadlineMs, done.signal).catch(() => {})]);
    }
    this.#queue.length = 0;
    this.#stop.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { clock, log } = this.#o;
    const pause = 1_000 / (this.#o.rate ?? 20);
    for (let series = this.#queue.shift(); series; series = this.#queue.shift()) {
      series.queued = false;
      const started = clock.monotonic();
      await this.#write(series).catch((error) =>
        log.log(this.#level(error), "An Event was dropped", {
          reason: series?.event.reason,
          error: messageOf(error),
        })
      );
      if (this.#dropped > 0) {
        log.log("debug", "Events were dropped because too many waited", { count: this.#dropped });
        this.#dropped = 0;
      }
      if (this.#queue.length === 0 || this.#stop.signal.aborted) continue;
      await sleep(clock, Math.max(0, pause - (clock.monotonic() - started)), this.#stop.signal).catch(
        () => {},
      );
    }
  }

  /** A right that is missing is told once, for nothing else would; the rest is no news (D3). */
  #level(error: unknown): LogLevel {
    const forbidden = error instanceof KubeError && error.kind === "forbidden" &&
      !/being terminated/.test(error.message);
    if (!forbidden || this.#toldForbidden) return "debug";
    this.#toldForbidden = true;
    return "warn";
  }

  async #write(series: Series): Promise<void> {
    const { event, name, count, lastWall } = series;
    const signal = this.#stop.signal;
    if (series.written === 0) {
      const meta: EventMeta = {
        name,
        at: lastWall,
        note: cutNote(event.note),
        reportingInstance: this.#o.reportingInstance.slice(0, 128),
      };
      await this.#o.events.create(event, meta, signal);
      series.written = 1;
    }
    // A series has at least two; repetitions that came while the first waited are counted at once.
    if (count > series.written) {
      series.written = count;
      await this.#o.events.series(event.regarding.metadata.namespace, name, count, lastWall, signal);
    }
  }

  /** Drops the series that ended. */
  #forget(now: number): void {
    for (const [key, series] of this.#series) {
      if (now - series.lastAt < SERIES_MS) return;
      if (!series.queued) this.#series.delete(key);
    }
  }
}

/** Cuts a note to 1,024 bytes without breaking a character. */
export function cutNote(note: string): string {
  const bytes = new TextEncoder().encode(note);
  if (bytes.length <= MAX_NOTE) return note;
  let end = MAX_NOTE - 3; // room for the ellipsis
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${new TextDecoder().decode(bytes.subarray(0, end))}…`;
}

/** Events on a real API server. */
export function createEventsPort(transport: Transport): EventsPort {
  const api = new EventsV1Api(apiConfiguration(transport));
  return {
    create(event, meta, signal) {
      const { apiVersion, kind, metadata } = event.regarding;
      const { name, namespace, uid, resourceVersion } = metadata;
      const call = {
        signal,
        verb: "create",
        action: `Recording the Event ${event.reason} for ${namespace}/${name}`,
      };
      const body = {
        metadata: { name: meta.name, namespace },
        eventTime: microTime(meta.at),
        regarding: { apiVersion, kind, name, namespace, uid, resourceVersion },
        type: event.type,
        reason: event.reason,
        action: event.action,
        note: meta.note,
        reportingController: REPORTING_CONTROLLER,
        reportingInstance: meta.reportingInstance,
      };
      return normalised(transport, call, async () => {
        await api.createNamespacedEvent(
          { namespace, body, fieldManager: OPERATOR_NAME },
          perCall(transport, call),
        );
      });
    },
    series(namespace, name, count, at, signal) {
      const call = { signal, verb: "patch", action: `Counting the Event ${namespace}/${name}` };
      const body = { series: { count, lastObservedTime: microTime(at) } };
      return normalised(transport, call, async () => {
        await api.patchNamespacedEvent(
          { namespace, name, body, fieldManager: OPERATOR_NAME },
          perCall(transport, call, "application/merge-patch+json"),
        );
      });
    },
  };
}

/** MicroTime takes exactly six digits; this type of client-node writes them. */
function microTime(at: number): V1MicroTime {
  return new V1MicroTime(at);
}
