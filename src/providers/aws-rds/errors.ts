/**
 * From what AWS and the SDK throw to the classes of the port: by AWS's code, then by HTTP status, then by what became of
 * the connection.
 *
 * @module
 */
import { DeadlineError } from "../../core/wait.ts";
import { ACTIONS, type CallVerb, lostClass, printable, refusalClass, retryAfterMs } from "../classify.ts";
import { AnswerError } from "../http_answer.ts";
import { ProviderError, type ProviderErrorClass } from "../port.ts";
import { innermostReason, neverConnected } from "../transport.ts";
import type { Call } from "./call.ts";

/** Codes without their `Fault` or `Exception`. */
const CODES: readonly (readonly [RegExp, ProviderErrorClass])[] = [
  [/^DBInstanceAlreadyExists$/, "exists"],
  [/^InvalidDBInstanceState$/, "busy"],
  [
    /^(Throttl(ing|ed)|RequestLimitExceeded|RequestThrottled|TooManyRequests|SlowDown|PriorRequestNotComplete|BandwidthLimitExceeded)$/,
    "throttled",
  ],
  [
    /^(AccessDenied|NotAuthorized|UnauthorizedOperation|AuthFailure|ExpiredToken|InvalidClientTokenId|UnrecognizedClient)$/,
    "unauthorised",
  ],
  [
    /^(SignatureDoesNotMatch|InvalidSignature|IncompleteSignature|MissingAuthenticationToken|InvalidAccessKeyId|OptInRequired)$/,
    "unauthorised",
  ],
  [/^(InvalidIdentityToken|IDPRejectedClaim|RegionDisabled)$/, "unauthorised"],
  // Refused by the time in its signature, which the SDK sets right for the next; or for want of what may come back.
  [/^(RequestExpired|RequestTimeTooSkewed|RequestInTheFuture|IDPCommunicationError)$/, "retryable"],
  [/^InsufficientDBInstanceCapacity$/, "retryable"],
];

/** What AWS answered. */
interface Refusal {
  readonly code: string | undefined;
  readonly message: string;
  readonly status: number;
}

/** HTTP status of the answer that an error is about; the SDK notes it. */
function statusOf(error: unknown): number | undefined {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: unknown } };
  return typeof $metadata?.httpStatusCode === "number" ? $metadata.httpStatusCode : undefined;
}

/** What AWS refused, or `undefined` when the error is of another kind. */
function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof Error)) return undefined;
  const status = statusOf(error);
  if (status === undefined || status < 300) return undefined;
  const code = (error as { Code?: unknown }).Code;
  // The SDK's own words for an answer that is no XML help nobody.
  return typeof code === "string" && code !== ""
    ? { code: code.replace(/(Fault|Exception)$/, ""), message: error.message, status }
    : { code: undefined, message: "", status };
}

/** AWS's code of a refusal, such as `DBInstanceAlreadyExists`. */
export function codeOf(error: unknown): string | undefined {
  return refusalOf(error)?.code;
}

function classOf(verb: CallVerb, { code, message, status }: Refusal): ProviderErrorClass {
  if (code === undefined) return refusalClass({ verb, status, code });
  if (/^DBInstanceNotFound$/.test(code)) {
    return verb === "get" || verb === "modify" || verb === "delete" ? "absent" : "retryable";
  }
  // A change of storage locks the next one out for hours.
  if (/^InvalidParameter/.test(code) && /being optimi[sz]ed|storage[- ]optimi[sz]ation/i.test(message)) {
    return "busy";
  }
  const known = CODES.find(([pattern]) => pattern.test(code))?.[1];
  if (known !== undefined) return known;
  // An unknown code: its status alone, but a code of AWS's own is no proxy's page.
  return status === 404 ? "rejected" : refusalClass({ verb, status, code });
}

/** Any error of a call as what the port allows; what `beforeSend` threw comes out as it went in. */
export function asProviderError(call: Call, error: unknown, now: number): unknown {
  if (call.fence !== undefined) return call.fence.error;
  if (error instanceof ProviderError) return error;
  const action = ACTIONS[call.verb];
  const lost = call.mayHaveEffect ? lostClass(call.verb) : "retryable";
  const failed = (errorClass: ProviderErrorClass, text: string, code: string, cause?: unknown) =>
    new ProviderError(errorClass, `${action}: ${text}`, { code, ...(cause === undefined ? {} : { cause }) });
  if (error instanceof DeadlineError) return failed(lost, `no answer within ${error.ms} ms`, "Timeout");
  if (call.signal.aborted) {
    return failed(lost, call.mayHaveEffect ? "given up" : "given up before it was sent", "Aborted");
  }
  if (error instanceof AnswerError) return failed(lost, error.message, "InvalidAnswer", error);
  const refusal = refusalOf(error);
  if (refusal !== undefined) return refusalError(call, refusal, now);
  if (error instanceof Error && statusOf(error) !== undefined) {
    return failed(lost, "the answer cannot be read", "InvalidAnswer");
  }
  if (neverConnected(error)) {
    return failed(lost, `no connection (${reason(call, error)})`, "Unreachable");
  }
  return failed(lost, `the connection broke (${reason(call, error)})`, "ConnectionLost", error);
}

function refusalError(call: Call, refusal: Refusal, now: number): ProviderError {
  const { code, message, status } = refusal;
  const errorClass = classOf(call.verb, refusal);
  // Its words hold the request's headers, the session token among them.
  const told = code !== undefined && /Signature/.test(code)
    ? "AWS computed another signature"
    : mask(call, message);
  const text = `${code ?? `HTTP status ${status}`}${told === "" ? "" : `: ${told}`}`;
  return new ProviderError(errorClass, `${ACTIONS[call.verb]}: ${printable(text, 400)}`, {
    ...(code === undefined ? {} : { code: printable(code, 64) }),
    ...(errorClass === "throttled" && call.retryAfter !== undefined
      ? { retryAfterMs: retryAfterMs(call.retryAfter, now) }
      : {}),
  });
}

/** Takes secrets out of AWS's words. */
function mask({ keys, secrets }: Call, text: string): string {
  const hidden = [...secrets, keys?.secretAccessKey, keys?.sessionToken];
  return hidden.reduce<string>((said, secret) => secret ? said.replaceAll(secret, "[secret]") : said, text);
}

/** The innermost cause's text without addresses. */
function reason(call: Call, error: unknown): string {
  return printable(mask(call, innermostReason(error).replace(/https?:\S+/g, "")), 160);
}
