/**
 * The {@linkcode Tracing} port over OpenTelemetry's API, which Deno itself implements where OTEL_DENO is true.
 *
 * @module
 */
import type { Context, Span as ApiSpan } from "@opentelemetry/api";
import { messageOf } from "../core/text.ts";
import { noTracing, type OpenSpan, type Span, type SpanFacts, type Tracing } from "../core/tracing.ts";

/** Where an implementation of the API says that it is there. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** Longest text of a fact, in characters. */
const MAX_FACT = 1_024;

/** Tracing as this process was started: Deno's own where OTEL_DENO is true, else none, and then nothing is loaded. */
export async function loadTracing(version: string): Promise<Tracing> {
  if (!(REGISTERED in globalThis)) return noTracing;
  const { context, SpanKind, SpanStatusCode, trace } = await import("@opentelemetry/api");
  const tracer = trace.getTracer("externaldatabase-operator", version);

  const wrap = (span: ApiSpan): Span => ({
    set: (facts) => void span.setAttributes(attributes(facts)),
  });
  const failed = (span: ApiSpan, error: unknown) =>
    span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error).slice(0, MAX_FACT) });
  const inside = <T>(parent: Context, span: ApiSpan, work: () => T): T =>
    context.with(trace.setSpan(parent, span), work);

  return {
    on: true,
    async span(name, { facts, client = false, inner = false }, work) {
      const parent = context.active();
      if (inner && trace.getSpan(parent) === undefined) return await noTracing.span(name, {}, work);
      const span = tracer.startSpan(name, {
        kind: client ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: attributes(facts?.() ?? {}),
      }, parent);
      try {
        return await inside(parent, span, () => work(wrap(span)));
      } catch (error) {
        failed(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    open(name, facts): OpenSpan {
      const parent = context.active();
      const span = tracer.startSpan(name, { root: true, attributes: attributes(facts) }, parent);
      return {
        ...wrap(span),
        within: (work) => inside(parent, span, work),
        end: () => span.end(),
      };
    },
    bind(work) {
      const now = context.active();
      return () => context.with(now, work);
    },
    ids() {
      const ids = trace.getSpan(context.active())?.spanContext();
      return ids && { traceId: ids.traceId, spanId: ids.spanId };
    },
  };
}

function attributes(facts: SpanFacts): Record<string, string | number | boolean> {
  const result: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined) result[name] = typeof value === "string" ? value.slice(0, MAX_FACT) : value;
  }
  return result;
}
