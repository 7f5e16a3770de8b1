/**
 * Between node's server and a handler of `Request` and `Response`: what comes in is read strictly, and what goes out is
 * made only as fast as it is read.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { aborted } from "../core/wait.ts";

/** `host`, `host:port`, `[address]:port`: nothing that a URL would take for a user, a path or a query. */
const HOST = /^(?:\[[\da-f:.]{2,45}\]|[\w.-]{1,253})(?::\d{1,5})?$/i;

/**
 * The request as a handler takes it, without its body; its signal is the one given. `undefined` where it is none that can be
 * understood.
 */
export function requestOf(
  message: IncomingMessage,
  scheme: "http" | "https",
  signal: AbortSignal,
): Request | undefined {
  const { url: target = "", method = "", headers, headersDistinct } = message;
  const host = headers.host ?? "";
  // A proxy that reads another of two hosts, or a target with a host of its own, would not see what is answered here.
  if (!target.startsWith("/") || !HOST.test(host) || headersDistinct.host?.length !== 1) return undefined;
  try {
    const taken = new Headers();
    for (const [name, value] of Object.entries(headers)) {
      if (typeof value === "string") taken.set(name, value);
    }
    return new Request(`${scheme}://${host}${target}`, { method, headers: taken, signal });
  } catch {
    return undefined; // TRACE, a port beyond 65535
  }
}

/** Whether a request has a body: that is never read, and what follows it on the connection is not taken for a request. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return (headers["content-length"] ?? "0") !== "0" || headers["transfer-encoding"] !== undefined;
}

/**
 * Sends the answer to `message`; resolves when it was read, or never will be, which `over` tells and may have told already.
 * Rejects where it has a head that cannot be sent.
 */
export async function send(
  answer: Response,
  message: IncomingMessage,
  response: ServerResponse,
  over: AbortSignal,
): Promise<void> {
  if (over.aborted) return await answer.body?.cancel().catch(() => {}); // it failed by itself
  const gone = aborted(over);
  const headers: Record<string, string | string[]> = Object.fromEntries(answer.headers);
  // Browsers read one challenge a line, and `Headers` knows no lines.
  headers["www-authenticate"] &&= answer.headers.get("www-authenticate")!.split(/, (?=Basic )/);
  if (hasBody(message)) headers["connection"] = "close";
  response.writeHead(answer.status, headers);
  const reader = answer.body?.getReader();
  if (reader === undefined || message.method === "HEAD") {
    await reader?.cancel().catch(() => {});
    response.end();
    return await gone;
  }
  // Who reads nothing is cut off by whoever makes the body, or by its connection's limit: both end the wait for him.
  let ended = false;
  let wake = () => {};
  const end = () => {
    ended = true;
    wake();
  };
  reader.closed.then(end, end);
  response.on("drain", () => wake());
  void gone.then(end).then(() => reader.cancel()).catch(() => {}); // it failed, and said so to who reads it
  try {
    while (!response.destroyed) {
      const { done, value } = await reader.read();
      if (done) break;
      if (!response.write(value) && !ended) await new Promise<void>((resolve) => wake = resolve);
    }
    response.end();
  } catch {
    response.destroy(); // not ended in order, so that it is not taken for the whole
  }
  await gone;
}
