/**
 * A provider behind the HTTP contract: any {@linkcode DatabaseProvider} as a cloud that others can call.
 *
 * @module
 */
import { checkCreate, checkModify } from "../simulated/bodies.ts";
import { RefusalError } from "../simulated/types.ts";
import type { CloudAnswer, CloudCall, PageView, Refusal } from "../simulated/types.ts";
import type { Database, DatabaseProvider, ProviderErrorClass } from "../port.ts";
import { ProviderError } from "../port.ts";
import type { Answering } from "./http.ts";

/** Answers calls by asking `provider`. A call goes on when its caller leaves, as at any cloud. */
export function answeringBy(provider: DatabaseProvider): Answering {
  return async (call) => {
    try {
      return await answer(provider, call);
    } catch (error) {
      if (error instanceof RefusalError) return refused(error.refusal);
      if (!(error instanceof ProviderError)) throw error;
      return refused(refusalOf(error));
    }
  };
}

async function answer(provider: DatabaseProvider, call: CloudCall): Promise<CloudAnswer> {
  const options = { signal: NEVER };
  switch (call.verb) {
    case "info": {
      const { passwords = "never", snapshots = false, ...rest } = await provider.info(options);
      return { status: 200, body: { ...rest, passwords, snapshots } };
    }
    case "get":
      return { status: 200, body: shown(await provider.get(call.id, options)) };
    case "list": {
      const { limit, pageToken } = call;
      const page = await provider.list({
        ...options,
        tags: Object.fromEntries(call.tags),
        ...(limit === undefined ? {} : { limit }),
        pageToken,
      });
      const { items, unreadable = [], nextPageToken } = page;
      const body: { items: unknown[] } & Omit<PageView, "items"> = {
        // What cannot be read is there all the same: the caller is to see that (S6).
        items: [...items.map(shown), ...unreadable.map(({ id }) => ({ id }))],
        ...(nextPageToken === undefined ? {} : { nextPageToken }),
      };
      return { status: 200, body };
    }
    case "create": {
      const { masterUsername: _ours, masterPassword: password, tags = {}, clientToken, ...rest } =
        checkCreate(
          call.body,
        );
      const token = clientToken ?? crypto.randomUUID();
      const made = await provider.create({ ...rest, tags, clientToken: token, password }, options);
      return { status: 201, body: shown(made) };
    }
    case "modify": {
      const { masterPassword: password, ...rest } = checkModify(call.body);
      return { status: 200, body: shown(await provider.modify(call.id, { ...rest, password }, options)) };
    }
    case "delete":
      await provider.delete(call.id, { ...options, finalSnapshot: call.finalSnapshot });
      return { status: 202, body: {} };
  }
}

/** Whether or not anyone waits, a call that was sent takes its course. */
const NEVER = new AbortController().signal;

/** A database as the contract shows it. A word that nobody knows is shown as it is, so that it is waited out. */
function shown({ providerState, unknownState, deletionProtection: _beyond, ...database }: Database): unknown {
  return { ...database, ...(unknownState === true ? { state: providerState } : {}) };
}

const STATUS: Readonly<Record<ProviderErrorClass, readonly [number, string]>> = {
  absent: [404, "NotFound"],
  throttled: [429, "Throttled"],
  busy: [409, "InvalidState"],
  exists: [409, "AlreadyExists"],
  unauthorised: [403, "Forbidden"],
  retryable: [503, "Unavailable"],
  unknown: [500, "InternalError"],
  rejected: [400, "InvalidParameter"],
};

/** Codes of the contract for which the class alone would not do. */
const CODES = ["IdempotencyMismatch", "TokenUsed", "DeletionProtected", "SnapshotExists", "SnapshotFailed"];

function refusalOf({ errorClass, code, message, retryAfterMs }: ProviderError): Refusal {
  const [status, own] = STATUS[errorClass];
  const known = CODES.includes(code ?? "") && (errorClass === "exists" || errorClass === "rejected");
  return {
    status: known ? 409 : status,
    code: known ? code! : own,
    message,
    ...(retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.ceil(retryAfterMs / 1_000) }),
  };
}

function refused(refusal: Refusal): CloudAnswer {
  return { status: refusal.status, refusal };
}
