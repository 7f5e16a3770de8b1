/**
 * The tracing port: what the operator's parts tell of what they do, as spans; OpenTelemetry is one implementation of it
 * (`src/server/`). While it is off it costs a call of a function.
 *
 * @module
 */
import type { LogFields } from "./log.ts";

/** Facts about a span. Never a secret, a token or a header. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>;

/** A span under way. */
export interface Span {
  /** Adds facts. */
  set(facts: SpanFacts): void;
}

/** A span that its owner ends. */
export interface OpenSpan extends Span {
  /** Runs `work` inside of it. */
  within<T>(work: () => T): T;
  end(): void;
}

/** How a span is begun. */
export interface SpanOptions {
  /** Asked for only while tracing is on. */
  readonly facts?: () => SpanFacts;
  /** It is a request to another system. */
  readonly client?: boolean;
  /** Begin it only inside of another span. */
  readonly inner?: boolean;
}

/** Makes spans. */
export interface Tracing {
  /** Whether anybody hears of them. */
  readonly on: boolean;
  /** Runs `work` in a span inside of the current one; a rejection is told by it and passed on. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** A span of its own that the caller ends. */
  open(name: string, facts: SpanFacts): OpenSpan;
  /** `work`, which then runs inside of the span that is current now, whoever calls it. */
  bind<T>(work: () => T): () => T;
  /** What a log line says of the current span; nothing where there is none. */
  ids(): LogFields | undefined;
}

const noSpan: OpenSpan = { set: () => {}, within: (work) => work(), end: () => {} };

/** Tracing that tells nobody. */
export const noTracing: Tracing = {
  on: false,
  span: (_name, _options, work) => work(noSpan),
  open: () => noSpan,
  bind: (work) => work,
  ids: () => undefined,
};
