/**
 * The provider for a {@linkcode SimulatedCloud} in this process.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { DeadlineError, withDeadline } from "../../core/wait.ts";
import { accessOf, MASTER_USERNAME } from "../access.ts";
import { ACTIONS, type CallVerb, lostClass, refusalError } from "../classify.ts";
import { UNKNOWN_ACCOUNT } from "../info.ts";
import type { CallOptions, Database, DatabasePage, DatabaseProvider, ProviderInfo } from "../port.ts";
import { ProviderError } from "../port.ts";
import { toState } from "../words.ts";
import type { SimulatedCloud } from "./cloud.ts";
import type { CloudCall, DatabaseView, InfoView, PageView } from "./types.ts";
import { ConnectionLostError } from "./types.ts";

/** What {@linkcode createSimulatedProvider} takes beside the cloud. */
export interface SimulatedProviderOptions {
  /** The caller's clock. */
  readonly clock: Clock;
  /** Longest wait for an answer, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number | undefined;
  /** Who calls, for the cloud's ledger. */
  readonly caller?: string | undefined;
}

/** Makes a provider that calls `cloud` directly. */
export function createSimulatedProvider(
  cloud: SimulatedCloud,
  options: SimulatedProviderOptions,
): DatabaseProvider {
  const { clock, timeoutMs = 30_000, caller } = options;

  async function send<T>(call: CloudCall, { signal, beforeSend }: CallOptions): Promise<T> {
    const { verb } = call;
    if (signal.aborted) throw new ProviderError("retryable", `${ACTIONS[verb]}: given up before it was sent`);
    beforeSend?.();
    try {
      const answer = await withDeadline(
        { clock, ms: timeoutMs, action: ACTIONS[verb], signal },
        (inner) => cloud.call(call, { signal: inner, caller }),
      );
      if (answer.refusal === undefined) return answer.body as T;
      const { status, code, message, retryAfterSeconds } = answer.refusal;
      const retryAfter = retryAfterSeconds === undefined ? undefined : String(retryAfterSeconds);
      throw refusalError({ verb, status, code, message, retryAfter, now: clock.now() });
    } catch (cause) {
      throw asProviderError(verb, signal, cause);
    }
  }

  return {
    name: "simulated",
    async info(call): Promise<ProviderInfo> {
      try {
        const { passwords, ...rest } = await send<InfoView>({ verb: "info" }, call);
        return { ...rest, passwords: passwords === "never" ? undefined : passwords };
      } catch (error) {
        if (error instanceof ProviderError && error.code === "NotFound") return UNKNOWN_ACCOUNT;
        throw error;
      }
    },
    async get(id, call) {
      return toDatabase(await send<DatabaseView>({ verb: "get", id }, call));
    },
    async list(call): Promise<DatabasePage> {
      const { tags, limit, pageToken } = call;
      const page = await send<PageView>({ verb: "list", tags: Object.entries(tags), limit, pageToken }, call);
      const { nextPageToken } = page;
      return { items: page.items.map(toDatabase), ...(nextPageToken === undefined ? {} : { nextPageToken }) };
    },
    async create({ password, ...rest }, call) {
      const body = password === undefined
        ? rest
        : { ...rest, masterUsername: MASTER_USERNAME, masterPassword: password };
      return toDatabase(await send<DatabaseView>({ verb: "create", body }, call));
    },
    async modify(id, { password, ...rest }, call) {
      const body = password === undefined ? rest : { ...rest, masterPassword: password };
      return toDatabase(await send<DatabaseView>({ verb: "modify", id, body }, call));
    },
    async delete(id, call) {
      await send<DatabaseView>({ verb: "delete", id, finalSnapshot: call.finalSnapshot }, call);
    },
  };
}

function asProviderError(verb: CallVerb, signal: AbortSignal, cause: unknown): unknown {
  if (cause instanceof ProviderError) return cause;
  if (cause instanceof ConnectionLostError || cause instanceof DeadlineError) {
    return new ProviderError(lostClass(verb), `${ACTIONS[verb]}: ${cause.message}`, { cause });
  }
  if (signal.aborted) return new ProviderError(lostClass(verb), `${ACTIONS[verb]}: given up`, { cause });
  return cause; // a defect of the simulation: to be seen, not to be classed
}

function toDatabase(view: DatabaseView): Database {
  const { updatedAt: _updatedAt, state, ...rest } = view;
  return {
    ...rest,
    ...toState(state),
    providerState: state,
    access: accessOf(view.engine, view.name),
  };
}
