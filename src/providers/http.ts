/**
 * The provider for any cloud that keeps to cloud-api.md.
 *
 * It translates and checks; it retries nothing. Assumed of the cloud: nothing. Whatever it answers, or does not, ends
 * within the time-out in a valid value or a {@linkcode ProviderError} whose class never claims more than is known:
 * `absent` only from a contract's 404 to an id, `retryable` for a mutation only when no byte of it left or the cloud
 * refused it, else `unknown`.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/text.ts";
import { DeadlineError, withDeadline } from "../core/wait.ts";
import { MASTER_USERNAME } from "./access.ts";
import { ACTIONS, type CallVerb, lostClass, mutates, printable, refusalError } from "./classify.ts";
import {
  AnswerError,
  parseDatabase,
  parseError,
  parseInfo,
  parseJson,
  parsePage,
  readText,
} from "./http_answer.ts";
import { UNKNOWN_ACCOUNT } from "./info.ts";
import type { CallOptions, DatabaseProvider } from "./port.ts";
import { ProviderError } from "./port.ts";
import { createTokenSource, type TokenOptions } from "./token.ts";
import { createTransport, type Fetch, innermostReason, neverConnected } from "./transport.ts";

/** What {@linkcode createHttpProvider} takes. */
export interface HttpProviderOptions extends TokenOptions {
  /** Base URL; `/v1` and what follows is appended to its path. Without credentials in it. */
  readonly url: string;
  readonly clock: Clock;
  /** Sends requests. It must not send a mutation twice by itself. @default `createTransport()`, which does not */
  readonly fetch?: Fetch | undefined;
  /** Longest wait for a whole answer, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number | undefined;
  /** Who calls, for the cloud's log. */
  readonly caller?: string | undefined;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Sending {
  readonly verb: CallVerb;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query after `/v1`. */
  readonly path: string;
  readonly body?: unknown;
  /** Part of the body that no message may hold, should the cloud say it again. */
  readonly secret?: string | undefined;
}

/** Makes the provider. Throws when the URL or the token cannot be used. */
export function createHttpProvider(options: HttpProviderOptions): DatabaseProvider {
  const { clock, timeoutMs = 30_000, caller } = options;
  const base = baseUrl(options.url);
  const tokens = createTokenSource(options);
  const transport = options.fetch === undefined
    ? createTransport()
    : { read: options.fetch, mutate: options.fetch };

  async function currentToken(verb: CallVerb, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await tokens.current(signal);
    } catch (cause) {
      if (signal.aborted) {
        throw new ProviderError("retryable", `${ACTIONS[verb]}: given up before it was sent`);
      }
      const why = printable(messageOf(cause), 400);
      throw new ProviderError("unauthorised", `${ACTIONS[verb]}: no token to send. ${why}`, { cause });
    }
  }

  /** Sends one request; resolves with a 2xx answer, or with the 404 of an account that does not describe itself. */
  async function send(sending: Sending, { signal, beforeSend }: CallOptions): Promise<Answer> {
    const { verb, method, path, body } = sending;
    const token = await currentToken(verb, signal);
    const init: RequestInit = {
      method,
      redirect: "manual", // a redirect would carry the token and the create elsewhere
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(caller === undefined ? {} : { "x-caller": caller }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    const exchange = mutates(verb) ? transport.mutate : transport.read;
    if (mutates(verb)) beforeSend?.(); // nothing may be awaited between this and the fetch (rule 21)
    let answer: Answer & { readonly retryAfter: string | null; readonly date: string | null };
    try {
      answer = await withDeadline({ clock, ms: timeoutMs, action: ACTIONS[verb], signal }, async (inner) => {
        const response = await exchange(`${base}${path}`, { ...init, signal: inner });
        const { status, headers } = response;
        const [retryAfter, date] = [headers.get("retry-after"), headers.get("date")];
        return { status, text: await readText(response), retryAfter, date };
      });
    } catch (cause) {
      throw transportError(verb, signal, cause);
    }
    const { status, retryAfter, date } = answer;
    const { secret } = sending;
    // Before anything of it is cut: half a password would not be found. What is short may be a word of the answer.
    const text = secret !== undefined && secret.length >= 12 ? concealed(answer.text, secret) : answer.text;
    if (status >= 200 && status < 300 || status === 404 && verb === "info") return { status, text };
    if (status === 401) tokens.refused(token);
    const { code: rawCode, message } = parseError(text);
    const code = rawCode === undefined ? undefined : concealed(rawCode, secret);
    const told = message === undefined || token === undefined
      ? message
      : message.replaceAll(token, "[token]");
    const shown = told === undefined ? undefined : concealed(told, secret);
    // A date to wait for is by the cloud's own clock, which `Date` tells.
    const now = Date.parse(date ?? "");
    throw refusalError({
      ...{ verb, status, code, message: shown, retryAfter },
      now: Number.isNaN(now) ? clock.now() : now,
    });
  }

  /** Sends, and reads the answer with `read`; a 2xx answer that cannot be read says nothing of what took effect. */
  async function ask<T>(sending: Sending, call: CallOptions, read: (json: unknown) => T): Promise<T> {
    const { status, text } = await send(sending, call);
    try {
      return read(status === 404 ? undefined : parseJson(text));
    } catch (cause) {
      if (!(cause instanceof AnswerError)) throw cause;
      const { verb, secret } = sending;
      const why = concealed(cause.message, secret);
      throw new ProviderError(lostClass(verb), `${ACTIONS[verb]}: HTTP status ${status}, but ${why}`, {
        code: "InvalidAnswer",
        cause: secret === undefined ? cause : new AnswerError(why),
      });
    }
  }

  return {
    name: "http",
    async info(call) {
      return await ask({ verb: "info", method: "GET", path: "" }, call, (json) => {
        return json === undefined ? UNKNOWN_ACCOUNT : parseInfo(json);
      });
    },
    async get(id, call) {
      return await ask(
        { verb: "get", method: "GET", path: idPath("get", id) },
        call,
        (json) => parseDatabase(json, id),
      );
    },
    async list(call) {
      const { tags, limit, pageToken } = call;
      const query = Object.entries(tags).map(([key, value]) =>
        `tag=${encodeURIComponent(`${key}=${value}`)}`
      );
      query.push(`limit=${limit ?? 100}`);
      if (pageToken !== undefined) query.push(`pageToken=${encodeURIComponent(pageToken)}`);
      const path = `/databases?${query.join("&")}`;
      return await ask(
        { verb: "list", method: "GET", path },
        call,
        (json) => parsePage(json, { tags, pageToken }),
      );
    },
    async create(request, call) {
      const { password, deletionProtection: _unknownToTheContract, ...rest } = request;
      const login = password === undefined
        ? {}
        : { masterUsername: MASTER_USERNAME, masterPassword: password };
      const sending: Sending = {
        verb: "create",
        method: "POST",
        path: "/databases",
        body: { ...rest, ...login },
        secret: password,
      };
      return await ask(sending, call, (json) => parseDatabase(json));
    },
    async modify(id, request, call) {
      const { password, deletionProtection: _unknownToTheContract, ...rest } = request;
      const sending: Sending = {
        verb: "modify",
        method: "PATCH",
        path: idPath("modify", id),
        body: { ...rest, ...(password === undefined ? {} : { masterPassword: password }) },
        secret: password,
      };
      return await ask(sending, call, (json) => parseDatabase(json, id));
    },
    async delete(id, call) {
      const snapshot = call.finalSnapshot;
      const query = snapshot === undefined ? "" : `?finalSnapshot=${encodeURIComponent(snapshot)}`;
      const sending: Sending = { verb: "delete", method: "DELETE", path: `${idPath("delete", id)}${query}` };
      const { status, text } = await send(sending, call);
      if (text.trim() === "" || isObject(text)) return; // some clouds answer nothing here
      // A page of a captive portal is no acceptance.
      const what = `HTTP status ${status}, but the answer is not a JSON object`;
      throw new ProviderError("unknown", `${ACTIONS.delete}: ${what}`, { code: "InvalidAnswer" });
    },
  };
}

/** `text` without the secret, were it in it. */
function concealed(text: string, secret: string | undefined): string {
  if (secret === undefined || secret === "") return text;
  return text.replaceAll(secret, "[password]").replaceAll(JSON.stringify(secret).slice(1, -1), "[password]");
}

/** The base without a slash at its end. Throws without quoting it: it may hold a secret. */
function baseUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Error(`Configuring the http provider: the cloud's URL is not a URL`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new Error(
      `Configuring the http provider: the cloud's URL must be http or https, not "${url.protocol}"`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new Error(
      "Configuring the http provider: the cloud's URL must not hold credentials; use a token file",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw new Error("Configuring the http provider: the cloud's URL must have neither query nor fragment");
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}/v1`;
}

function idPath(verb: CallVerb, id: string): string {
  // URL parsers eat dot segments, encoded or not: DELETE of ".." would go to another resource.
  if (id === "" || /^\.{1,2}$/.test(id)) {
    throw new ProviderError("rejected", `${ACTIONS[verb]}: "${id}" cannot be a database's id`);
  }
  return `/databases/${encodeURIComponent(id)}`;
}

function isObject(text: string): boolean {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null && !Array.isArray(json);
  } catch {
    return false;
  }
}

function transportError(verb: CallVerb, signal: AbortSignal, cause: unknown): ProviderError {
  const action = ACTIONS[verb];
  if (cause instanceof DeadlineError) {
    return new ProviderError(lostClass(verb), cause.message, { code: "Timeout", cause });
  }
  if (signal.aborted) {
    return new ProviderError(lostClass(verb), `${action}: given up`, { code: "Aborted", cause });
  }
  if (cause instanceof AnswerError) {
    return new ProviderError(lostClass(verb), `${action}: ${cause.message}`, {
      code: "InvalidAnswer",
      cause,
    });
  }
  const unsent = neverConnected(cause);
  const what = unsent ? "no connection" : "the connection broke";
  return new ProviderError(unsent ? "retryable" : lostClass(verb), `${action}: ${what} (${reason(cause)})`, {
    code: unsent ? "Unreachable" : "ConnectionLost",
    cause,
  });
}

/** The innermost cause's text without addresses. */
function reason(error: unknown): string {
  return printable(
    innermostReason(error).replace(/^error sending request.*?: client error/, "client error").replace(
      /https?:\S+/g,
      "",
    ),
    160,
  );
}
