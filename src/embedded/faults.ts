/**
 * Misbehaviour on request: what a real API server does on a bad day.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { failure } from "./status.ts";

/** What a fault is decided by. */
export interface FaultRequest {
  readonly method: string;
  readonly pathname: string;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or `other`. */
  readonly verb: string;
  readonly plural: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string;
}

/** What happens instead of, or beside, the answer. */
export type Fault =
  /** This answer, without effect. */
  | {
    readonly kind: "answer";
    readonly status: number;
    readonly reason?: string;
    readonly message?: string;
    readonly retryAfterSeconds?: number;
    /** A body that is no Status, such as a proxy's HTML. */
    readonly body?: string;
    readonly contentType?: string;
  }
  /** The answer comes late. */
  | { readonly kind: "delay"; readonly ms: number }
  /** No answer ever; only the caller's signal ends the wait. */
  | { readonly kind: "hang" }
  /** The connection breaks before the request takes effect. */
  | { readonly kind: "refuse" }
  /** The request takes effect and the connection breaks before the answer. */
  | { readonly kind: "loseAnswer" };

/** Decides on each request's fault. */
export type Faults = (request: FaultRequest) => Fault | undefined;

/** A connection that broke, as `fetch` reports it. */
export function brokenConnection(): TypeError {
  return new TypeError("error sending request: connection reset");
}

/** Carries a fault out around the work that answers. */
export async function withFault(
  context: Context,
  fault: Fault | undefined,
  signal: AbortSignal,
  work: () => Promise<Response>,
): Promise<Response> {
  switch (fault?.kind) {
    case undefined:
      return await work();
    case "answer":
      return faultAnswer(fault);
    case "delay":
      await wait(context, fault.ms, signal);
      return await work();
    case "hang":
      await wait(context, undefined, signal);
      throw brokenConnection();
    case "refuse":
      throw brokenConnection();
    case "loseAnswer": {
      const answer = await work();
      await answer.body?.cancel();
      throw brokenConnection();
    }
  }
}

function faultAnswer(fault: Fault & { kind: "answer" }): Response {
  const { status, reason, message = "injected fault", retryAfterSeconds } = fault;
  const headers: Record<string, string> = { "content-type": fault.contentType ?? "application/json" };
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(retryAfterSeconds);
  const body = fault.body ??
    JSON.stringify(failure({ code: status, message, ...(reason === undefined ? {} : { reason }) }));
  return new Response(body, { status, headers });
}

/** Waits; without a time for ever. Rejects with the signal's reason. */
function wait(context: Context, ms: number | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let cancel = () => {};
    const onAbort = () => {
      cancel();
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (ms === undefined) return;
    cancel = context.later(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}
