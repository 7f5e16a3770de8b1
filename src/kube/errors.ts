/**
 * Makes every failure of a Kubernetes request into one {@linkcode KubeError}: answers of any status with any body
 * (Status objects, nothing, plain text, HTML), broken connections and time-outs (W10).
 *
 * Promised: the message is one readable line, names what was tried, and holds no header and no token.
 *
 * @module
 */
import { ApiException } from "@kubernetes/client-node";
import { DeadlineError } from "../core/wait.ts";
import { KubeError, type KubeErrorKind } from "./port.ts";

/** `Retry-After` is clamped to this, in milliseconds (safety.md L3). */
export const MAX_RETRY_AFTER_MS = 300_000;
/** Longest message taken from an answer, in characters. */
const MAX_MESSAGE = 1_024;

/** A failed answer, as the transport saw it. */
export interface FailedAnswer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string | undefined;
  /** The `Retry-After` header: seconds or an HTTP date. */
  readonly retryAfter?: string | undefined;
}

/** The part of a `metav1.Status` that is read. */
interface Status {
  readonly kind?: unknown;
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly code?: unknown;
  readonly details?: {
    readonly causes?: readonly { readonly field?: unknown; readonly message?: unknown }[];
    readonly retryAfterSeconds?: unknown;
  };
}

/** The error for an answer outside 200 to 299. `action` names what was tried; `now` is wall time in milliseconds, for `Retry-After` dates. */
export function fromAnswer(action: string, answer: FailedAnswer, now: number): KubeError {
  const status = parseStatus(answer.body);
  const reason = text(status?.reason);
  const kind = kindOf(answer.status, reason);
  const retryAfterMs = retryAfter(answer.retryAfter, status, now);
  return new KubeError(kind, `${action}: ${describe(answer, status)}`, {
    status: answer.status,
    ...(reason === undefined ? {} : { reason }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** The error for an `ERROR` event of a watch: its object is a Status, inside an answer of 200. */
export function fromWatchError(action: string, object: unknown, now: number): KubeError {
  const status = isRecord(object) ? object as Status : undefined;
  const code = typeof status?.code === "number" ? status.code : 500;
  return fromAnswer(action, { status: code, body: JSON.stringify(object ?? {}) }, now);
}

/** The error for whatever a request threw. A {@linkcode KubeError} is returned as it is. */
export function fromThrown(action: string, error: unknown, now: number): KubeError {
  if (error instanceof KubeError) return error;
  if (error instanceof DeadlineError) {
    return new KubeError("timeout", `${action}: no answer within ${error.ms} ms`, { cause: error });
  }
  if (error instanceof ApiException) { // only where client-node met an answer that the transport let through
    const body = typeof error.body === "string" ? error.body : JSON.stringify(error.body ?? "");
    return fromAnswer(action, { status: error.code, body }, now);
  }
  const message = networkMessage(error);
  if (isTransportFault(error)) {
    return new KubeError("network", `${action}: ${message}`, { cause: error });
  }
  return new KubeError("server", `${action}: the answer could not be read: ${message}`, { cause: error });
}

/** Whether a failed request met a certificate that it does not trust: the sign that the CA may have been rotated. */
export function isTlsFault(error: unknown): boolean {
  return /certificate|UnknownIssuer|BadSignature|tls/i.test(networkMessage(error));
}

function kindOf(status: number, reason: string | undefined): KubeErrorKind {
  if (reason === "Expired" || reason === "Gone" || status === 410) return "expired";
  switch (status) {
    case 400:
      return "badRequest";
    case 401:
      return "unauthorised";
    case 403:
      return "forbidden";
    case 404:
      return "notFound";
    case 408:
    case 504:
      return "timeout";
    case 409:
      return "conflict";
    case 413:
      return "tooLarge";
    case 422:
      return "invalid";
    case 429:
      return "throttled";
    case 502:
    case 503:
      return "unavailable";
  }
  return status >= 500 ? "server" : "badRequest";
}

function describe(answer: FailedAnswer, status: Status | undefined): string {
  const code = `${answer.status}${names[answer.status] ? ` ${names[answer.status]}` : ""}`;
  const message = text(status?.message);
  if (message !== undefined) return oneLine(withCauses(message, status));
  const body = answer.body.trim();
  if (body === "" || body === "{}") return `the API server answered ${code} without a reason`;
  const html = /html/i.test(answer.contentType ?? "") || /^<(!doctype|html|head|body)/i.test(body);
  if (html) {
    const title = /<title[^>]*>([^<]{1,200})<\/title>/i.exec(body)?.[1];
    return oneLine(`the API server answered ${code} with an HTML page${title ? `: ${title}` : ""}`);
  }
  return oneLine(`the API server answered ${code}: ${body}`);
}

/** A Status message usually lists its causes; one that does not gets them added. */
function withCauses(message: string, status: Status | undefined): string {
  const causes = Array.isArray(status?.details?.causes) ? status.details.causes : [];
  const missing = causes.map((c) => [text(c?.field), text(c?.message)])
    .filter(([, m]) => m !== undefined && !message.includes(m))
    .map(([field, m]) => field ? `${field}: ${m}` : m);
  return missing.length === 0 ? message : `${message} (${missing.join("; ")})`;
}

function retryAfter(header: string | undefined, status: Status | undefined, now: number): number | undefined {
  let ms: number | undefined;
  if (header !== undefined && header.trim() !== "") {
    const seconds = Number(header);
    ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - now;
  } else if (typeof status?.details?.retryAfterSeconds === "number") {
    ms = status.details.retryAfterSeconds * 1_000;
  }
  if (ms === undefined || Number.isNaN(ms)) return undefined;
  return Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}

function parseStatus(body: string): Status | undefined {
  if (!body.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(body);
    return isRecord(value) ? value as Status : undefined;
  } catch {
    return undefined; // not JSON after all: described as text
  }
}

/** Deno's fetch puts what happened into the cause. */
function networkMessage(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(String(error));
  const inner = error.cause instanceof Error ? error.cause.message : "";
  return oneLine(inner || error.message || error.name);
}

function isTransportFault(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof SyntaxError) return false;
  return error instanceof TypeError || error.name === "AbortError" || error.name === "Interrupted" ||
    error.name === "Http" || error.name === "BadResource" || error.name.startsWith("Connection") ||
    error.name === "UnexpectedEof" || error.name === "TimedOut" || error.name === "BrokenPipe";
}

/** One line without control characters, bearer tokens or endless length. */
function oneLine(message: string): string {
  const line = message
    .replaceAll(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, "$1 …")
    .replaceAll(/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, "…")
    // deno-lint-ignore no-control-regex
    .replaceAll(/[\u0000-\u001f\u007f]+/g, " ")
    .replaceAll(/ {2,}/g, " ")
    .trim()
    .replace(/\.$/, "");
  return line.length <= MAX_MESSAGE ? line : `${line.slice(0, MAX_MESSAGE - 1)}…`;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const names: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  409: "Conflict",
  410: "Gone",
  413: "Request Entity Too Large",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};
