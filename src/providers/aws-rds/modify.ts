/**
 * Changing an instance: at most one `ModifyDBInstance`, then tags.
 *
 * What has changed by itself and is beyond what was asked (storage that grew, a newer minor version) is not the
 * provider's to judge: nothing of it is ever sent back, for only what is asked for is sent.
 *
 * @module
 */
import {
  AddTagsToResourceCommand,
  type DBInstance,
  ModifyDBInstanceCommand,
  type ModifyDBInstanceCommandInput,
  RemoveTagsFromResourceCommand,
} from "@aws-sdk/client-rds";
import { ACTIONS, printable } from "../classify.ts";
import { AnswerError } from "../http_answer.ts";
import type { Database, ModifyRequest } from "../port.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import type { AwsClients } from "./clients.ts";
import { byId } from "./describe.ts";
import { majorOf } from "./engines.ts";
import { tagFault } from "./names.ts";
import { groupName, type RdsParameters } from "./parameters.ts";
import { databaseOf, tagsOf } from "./record.ts";

/** Sends what the request asks for; size and version at once rather than in the maintenance window. */
export async function modify(
  clients: AwsClients,
  call: Call,
  id: string,
  request: ModifyRequest,
  parameters: RdsParameters,
  now: () => number,
): Promise<Database> {
  const tags = Object.entries(request.tags ?? {});
  const set = tags.filter((entry): entry is [string, string] => entry[1] !== null);
  for (const [key, value] of set) {
    const fault = tagFault(key, value);
    if (fault !== undefined) throw rejected(fault, "InvalidTag");
  }
  if (request.password !== undefined && parameters.managedMasterPassword) {
    throw rejected("the password is managed by RDS (managedMasterPassword)", "ManagedPassword");
  }
  const { instance, identifier, arn } = await byId(clients, call, id);
  let shown = instance;
  const input = inputOf(identifier, instance, request, parameters);
  if (input !== undefined) {
    const command = new ModifyDBInstanceCommand(input);
    const { DBInstance } = await clients.rds(call, (client, options) => client.send(command, options));
    if (DBInstance?.DbiResourceId !== id) throw new AnswerError("the answer is about another instance");
    shown = DBInstance;
  }
  const after = tagsOf(instance);
  const add = set.filter(([key, value]) => after[key] !== value);
  if (add.length > 0) {
    const Tags = add.map(([Key, Value]) => ({ Key, Value }));
    const command = new AddTagsToResourceCommand({ ResourceName: arn, Tags });
    await clients.rds(call, (client, options) => client.send(command, options));
  }
  const remove = tags.filter(([key, value]) => value === null && key in after).map(([key]) => key);
  if (remove.length > 0) {
    const command = new RemoveTagsFromResourceCommand({ ResourceName: arn, TagKeys: remove });
    await clients.rds(call, (client, options) => client.send(command, options));
  }
  for (const [key, value] of add) after[key] = value;
  for (const key of remove) delete after[key];
  const TagList = Object.entries(after).map(([Key, Value]) => ({ Key, Value }));
  return databaseOf({ ...shown, TagList }, now());
}

/** What `ModifyDBInstance` is sent; nothing when tags alone change. */
function inputOf(
  identifier: string,
  instance: DBInstance,
  { version, sizeGb, password, deletionProtection }: ModifyRequest,
  parameters: RdsParameters,
): ModifyDBInstanceCommandInput | undefined {
  if (
    version === undefined && sizeGb === undefined && password === undefined &&
    deletionProtection === undefined
  ) return undefined;
  return {
    DBInstanceIdentifier: identifier,
    // Password and protection come at once in any case; with this, what waits for the maintenance window would too.
    ApplyImmediately: version !== undefined || sizeGb !== undefined ? true : undefined,
    MasterUserPassword: password,
    DeletionProtection: deletionProtection,
    ...(version === undefined ? {} : versionInput(instance, version, parameters)),
    ...(sizeGb === undefined ? {} : {
      AllocatedStorage: sizeGb,
      // Grown past the limit of its own growing: RDS takes a limit that equals the size as the end of it.
      ...((instance.MaxAllocatedStorage ?? Infinity) < Math.ceil(sizeGb * 1.1)
        ? { MaxAllocatedStorage: sizeGb }
        : {}),
    }),
  };
}

/** A new major brings groups of its own where their names are told by major. */
function versionInput(
  { Engine = "", EngineVersion = "" }: DBInstance,
  version: string,
  { parameterGroup, optionGroup }: RdsParameters,
): Partial<ModifyDBInstanceCommandInput> {
  if (majorOf(Engine, version) === majorOf(Engine, EngineVersion)) return { EngineVersion: version };
  const group = { engine: Engine, version };
  const byMajor = (template: string | undefined) =>
    template?.includes("{major}") ? groupName(template, group) : undefined;
  return {
    EngineVersion: version,
    AllowMajorVersionUpgrade: true,
    DBParameterGroupName: byMajor(parameterGroup),
    OptionGroupName: byMajor(optionGroup),
  };
}

function rejected(why: string, code: string): ProviderError {
  return new ProviderError("rejected", `${ACTIONS.modify}: ${printable(why)}`, { code });
}
