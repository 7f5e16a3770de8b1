/**
 * How the SDK's requests go out: by the transport that sends a mutation once (see `transport.ts`), with the fence asked
 * in the tick that hands it over, and with answers read whole, bounded and checked before the SDK sees them.
 *
 * The SDK takes any XML for an answer: an empty body would read as a list without instances, and all databases as absent.
 *
 * @module
 */
import { AnswerError, readText } from "../http_answer.ts";
import { neverConnected, type Transport } from "../transport.ts";
import type { Call } from "./call.ts";

/** The part of the SDK's request that is used. */
interface SdkRequest {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** What is given with each request, beside the command. */
export interface SendOptions {
  readonly abortSignal: AbortSignal;
  readonly call: Call;
}

/** Told of each request in the tick that sends it: the port's verb and the action of AWS. */
export type OnRequest = (verb: Call["verb"], action: string, mutates: boolean) => void;

/** Whether an action of RDS or STS changes nothing. */
function isRead(action: string): boolean {
  return /^(Describe|List|Get|AssumeRole)/.test(action);
}

/** Makes the `requestHandler` of an SDK client. */
export function createHandler(transport: Transport, onRequest?: OnRequest) {
  return {
    metadata: { handlerProtocol: "http/1.1" },
    async handle(request: SdkRequest, options?: Partial<SendOptions>) {
      const { call, abortSignal } = options ?? {};
      if (call === undefined || abortSignal === undefined || typeof request.body !== "string") {
        throw new Error("Sending a request to AWS: it is not one of a call");
      }
      if (Object.keys(request.query ?? {}).length > 0) {
        throw new Error("Sending a request to AWS: a query is not expected");
      }
      const action = new URLSearchParams(request.body).get("Action") ?? "";
      const mutates = !isRead(action);
      const port = request.port === undefined ? "" : `:${request.port}`;
      const url = `${request.protocol}//${request.hostname}${port}${request.path}`;
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !/^(host|content-length)$/i.test(name)),
      );
      const init: RequestInit = {
        method: request.method,
        redirect: "manual", // a redirect would carry the keys' signature and the create elsewhere
        headers,
        body: request.body,
        signal: abortSignal,
      };
      call.send(mutates); // nothing may be awaited between this and the fetch (rule 21)
      onRequest?.(call.verb, action, mutates);
      const sent = (mutates ? transport.mutate : transport.read)(url, init);
      const response = await sent.catch((error: unknown) => {
        if (mutates && neverConnected(error)) call.refused(); // not one byte of it left
        throw error;
      });
      const { status } = response;
      if (mutates && status >= 300 && status < 500 && status !== 408) call.refused();
      call.retryAfter = response.headers.get("retry-after") ?? undefined;
      const text = await readText(response);
      if (response.ok && !text.includes(`<${action}Response`)) {
        throw new AnswerError(`the answer is not one to ${action}`);
      }
      const date = response.headers.get("date");
      return {
        response: {
          statusCode: status,
          // By the date the SDK learns how wrong this machine's clock is.
          headers: { "content-type": "text/xml", ...(date === null ? {} : { date }) },
          body: new TextEncoder().encode(text),
        },
      };
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
    destroy() {},
  };
}
