/**
 * A look at a local provider's folder that takes no lock, starts nothing and writes nothing: what a plan asks, beside the
 * operator that works with the folder, or before there is one.
 *
 * It shows what is recorded. Whether a server runs at this moment only the operator's own process knows: one that was
 * available once is shown as `Available`.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/text.ts";
import { withDeadline } from "../../core/wait.ts";
import { ACTIONS, type CallVerb, printable } from "../classify.ts";
import type { CallOptions, Database, DatabaseProvider } from "../port.ts";
import { ProviderError } from "../port.ts";
import { lookAtFolder } from "./folder.ts";
import { localInfo } from "./info.ts";
import type { LocalRecord } from "./record.ts";
import { databaseOf, pageOf } from "./view.ts";

/** Stands for the account that a folder is given at first use: no database can be of it yet. */
const NEW = "new";

/** What {@linkcode createLocalLook} takes. */
export interface LocalLookOptions {
  readonly clock: Clock;
  /** Need not be there: then its account is a new one, and it has no databases. */
  readonly folder: string;
  /** Longest time of a call, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number | undefined;
}

/** Makes a provider whose reads work and whose changes are refused. */
export function createLocalLook({ clock, folder, timeoutMs = 30_000 }: LocalLookOptions): DatabaseProvider {
  async function look<T>(
    verb: CallVerb,
    { signal }: CallOptions,
    read: (seen: Awaited<ReturnType<typeof lookAtFolder>>) => T,
  ): Promise<T> {
    try {
      return await withDeadline({ clock, ms: timeoutMs, action: ACTIONS[verb], signal }, async () => {
        return read(await lookAtFolder(folder));
      });
    } catch (cause) {
      if (cause instanceof ProviderError) throw cause;
      const why = printable(messageOf(cause), 300);
      throw new ProviderError("retryable", `${ACTIONS[verb]}: ${why}`, { cause });
    }
  }
  const refuse = (verb: CallVerb) => {
    const why = "only the operator that works with the folder changes anything";
    return Promise.reject(new ProviderError("rejected", `${ACTIONS[verb]}: ${why}`, { code: "ReadOnly" }));
  };
  return {
    name: "local",
    info: (call) => look("info", call, ({ account = NEW }) => localInfo(account, timeoutMs)),
    get: (id, call) =>
      look("get", call, ({ records }) => {
        const record = records.find((each) => each.id === id);
        if (record !== undefined) return shown(record);
        const why = `there is no database "${printable(id, 253)}"`;
        throw new ProviderError("absent", `${ACTIONS.get}: ${why}`, { code: "NotFound" });
      }),
    list: (call) => look("list", call, ({ records }) => pageOf(records.map(shown), call)),
    create: () => refuse("create"),
    modify: () => refuse("modify"),
    delete: () => refuse("delete"),
  };
}

function shown(record: LocalRecord): Database {
  const state = record.phase === "deleting"
    ? "Deleting"
    : record.phase !== "ready"
    ? "Provisioning"
    : record.stale === true
    ? "Modifying"
    : "Available";
  return databaseOf(record, { state, providerState: state });
}
