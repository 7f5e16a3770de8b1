/**
 * An instance as RDS describes it, read into the port's terms.
 *
 * @module
 */
import type { DBInstance } from "@aws-sdk/client-rds";
import { TAG } from "../../api/constants.ts";
import { AnswerError } from "../http_answer.ts";
import { printable } from "../classify.ts";
import type { Database } from "../port.ts";
import { toState } from "../words.ts";
import { engineOf } from "./engines.ts";
import { isResourceId } from "./names.ts";

/** Words of RDS for an instance that does not serve and does not get well by itself; it can be deleted. */
const BROKEN =
  /^(failed|stopped|incompatible-.+|restore-error|insufficient-capacity|inaccessible-encryption-credentials(-recoverable)?)$/;

/**
 * The state for RDS's word. `stopping`, `starting`, `rebooting`, `renaming` and whatever comes are unknown: nothing is sent, and nobody is told
 * that it serves. One that is broken but was available once keeps its endpoint, so that it is never replaced (rule 7).
 */
function stateOf(status: string, instance: DBInstance): Pick<Database, "state" | "unknownState"> {
  if (BROKEN.test(status)) return { state: "Failed" };
  if (status === "delete-precheck") return { state: "Deleting" };
  // A new password is never left for the maintenance window: it comes into force in a moment (K1).
  const changing = status === "available" && instance.PendingModifiedValues?.MasterUserPassword !== undefined;
  return changing ? { state: "Modifying" } : toState(status);
}

/** Tags by key. Throws {@linkcode AnswerError} when RDS names none at all: an instance without tags has an empty list. */
export function tagsOf({ TagList }: DBInstance): Record<string, string> {
  if (TagList === undefined) throw new AnswerError("there is no TagList");
  const entries: [string, string][] = [];
  for (const { Key, Value } of TagList) if (Key !== undefined) entries.push([Key, Value ?? ""]);
  return Object.fromEntries(entries);
}

/** The database. `now` is wall milliseconds. Throws {@linkcode AnswerError} that names the field at fault. */
export function databaseOf(instance: DBInstance, now: number): Database {
  const id = instance.DbiResourceId ?? "";
  if (!isResourceId(id)) throw new AnswerError(`DbiResourceId is "${printable(id, 60)}"`);
  const need = (field: "DBInstanceIdentifier" | "Engine" | "EngineVersion" | "DBInstanceStatus") => {
    const value = instance[field];
    if (!value || value.length > 253) throw new AnswerError(`${id}: ${field} is missing or too long`);
    return printable(value, 253);
  };
  const sizeGb = instance.AllocatedStorage;
  if (sizeGb === undefined || !Number.isInteger(sizeGb) || sizeGb < 0) {
    throw new AnswerError(`${id}: AllocatedStorage is not a size`);
  }
  const tags = tagsOf(instance);
  const engine = need("Engine");
  const status = need("DBInstanceStatus");
  const { Address, Port } = instance.Endpoint ?? {};
  return {
    id,
    name: tags[TAG.crName] ?? need("DBInstanceIdentifier"),
    engine,
    version: need("EngineVersion"),
    sizeGb,
    ...stateOf(status, instance),
    providerState: status,
    ...(Address && Port !== undefined && Port > 0 ? { endpoint: printable(`${Address}:${Port}`, 1024) } : {}),
    tags,
    // RDS tells it once the instance is made.
    createdAt: (instance.InstanceCreateTime ?? new Date(now)).toISOString(),
    ...accessOf(instance, engine),
    deletionProtection: instance.DeletionProtection ?? false,
    ...pendingOf(instance),
  };
}

function accessOf(instance: DBInstance, engine: string): Pick<Database, "access"> {
  const known = engineOf(engine);
  const database = instance.DBName || known?.fallback;
  const username = instance.MasterUsername;
  if (known === undefined || !database || !username) return {};
  return { access: { type: known.type, database, username } };
}

/** Accepted and not begun, or waiting for the maintenance window. */
function pendingOf({ PendingModifiedValues: pending }: DBInstance): Pick<Database, "pending"> {
  const { EngineVersion, AllocatedStorage } = pending ?? {};
  if (!EngineVersion && AllocatedStorage === undefined) return {};
  return {
    pending: {
      ...(EngineVersion ? { version: EngineVersion } : {}),
      ...(AllocatedStorage === undefined ? {} : { sizeGb: AllocatedStorage }),
    },
  };
}
