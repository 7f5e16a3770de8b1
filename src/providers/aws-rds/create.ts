/**
 * Creating an instance.
 *
 * `CreateDBInstance` has no client token, but an identifier, and that is derived from the token: a repeated create is
 * refused as `DBInstanceAlreadyExists`, and what has the identifier is answered if it is ours. RDS forgets an identifier
 * with its instance; nothing sends the token again then, for each new database has an incarnation of its own (rule 7).
 *
 * @module
 */
import { CreateDBInstanceCommand, type CreateDBInstanceCommandInput } from "@aws-sdk/client-rds";
import { TAG } from "../../api/constants.ts";
import { type Entropy, newPassword } from "../../core/passwords.ts";
import { ACTIONS, printable } from "../classify.ts";
import { AnswerError } from "../http_answer.ts";
import type { CreateRequest, Database } from "../port.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import type { AwsClients } from "./clients.ts";
import { byIdentifier, type Described } from "./describe.ts";
import { engineOf, whyNoEngine } from "./engines.ts";
import { codeOf } from "./errors.ts";
import { instanceIdentifier, tagFault } from "./names.ts";
import { groupName, type RdsParameters } from "./parameters.ts";
import { databaseOf, tagsOf } from "./record.ts";

/** Sends the create, or answers with the instance that an earlier one of the same token made. */
export async function create(
  clients: AwsClients,
  call: Call,
  request: CreateRequest,
  parameters: RdsParameters,
  { now, entropy }: { readonly now: () => number; readonly entropy: Entropy },
): Promise<Database> {
  // RDS wants a password where nobody asked for one, and nobody is to know it. Oracle takes 30 characters.
  const input = inputOf(request, parameters, newPassword(entropy).slice(0, 30));
  const identifier = input.DBInstanceIdentifier!;
  try {
    const command = new CreateDBInstanceCommand(input);
    const { DBInstance } = await clients.rds(call, (client, options) => client.send(command, options));
    if (DBInstance === undefined) throw new AnswerError("the answer has no instance");
    return databaseOf(DBInstance, now());
  } catch (error) {
    if (codeOf(error) !== "DBInstanceAlreadyExists") throw error;
    const found = await byIdentifier(clients, call, identifier);
    if (found === undefined) {
      throw taken(identifier, "is being made or removed by another request", "AlreadyExists");
    }
    return sameRequest(found, request, now());
  }
}

function taken(identifier: string, why: string, code: string): ProviderError {
  return new ProviderError("exists", `${ACTIONS.create}: the instance "${identifier}" ${why}`, { code });
}

/** The instance that has the identifier, if it is of this token and was asked for as it is now. */
function sameRequest({ instance, identifier }: Described, request: CreateRequest, now: number): Database {
  const tags = tagsOf(instance);
  for (const key of [TAG.uid, TAG.cluster, TAG.incarnation]) {
    if (tags[key] !== request.tags[key]) {
      throw taken(identifier, "is there, with tags of another owner", "AlreadyExists");
    }
  }
  const database = databaseOf(instance, now);
  const { engine, version, sizeGb } = database;
  const same = engine === request.engine.toLowerCase() && sizeGb === request.sizeGb &&
    (version === request.version || version.startsWith(`${request.version}.`));
  if (!same) {
    throw taken(
      identifier,
      "was made by an earlier create that asked for something else",
      "IdempotencyMismatch",
    );
  }
  return database;
}

/** What `CreateDBInstance` is sent. Throws class `rejected` for what RDS has no way to hold. */
function inputOf(request: CreateRequest, p: RdsParameters, throwAway: string): CreateDBInstanceCommandInput {
  const engine = request.engine.toLowerCase();
  const known = engineOf(engine);
  if (known === undefined) throw rejected(whyNoEngine(request.engine), "InvalidEngine");
  const tags = Object.entries(request.tags);
  for (const [key, value] of tags) {
    const fault = tagFault(key, value);
    if (fault !== undefined) throw rejected(fault, "InvalidTag");
  }
  const { sizeGb, version, deletionProtection } = request;
  const group = { engine, version };
  // RDS wants the limit of its own growing at least a tenth above the size.
  const max = p.maxAllocatedStorage;
  return {
    DBInstanceIdentifier: instanceIdentifier(request.clientToken, request.tags),
    Engine: engine,
    EngineVersion: version,
    AllocatedStorage: sizeGb,
    MaxAllocatedStorage: max !== undefined && max >= Math.ceil(sizeGb * 1.1) ? max : undefined,
    Tags: tags.map(([Key, Value]) => ({ Key, Value })),
    MasterUsername: p.masterUsername,
    ...(p.managedMasterPassword
      ? { ManageMasterUserPassword: true, MasterUserSecretKmsKeyId: p.masterPasswordKmsKeyId }
      : { MasterUserPassword: request.password ?? throwAway }),
    DBName: known.named ? p.databaseName : undefined,
    DeletionProtection: deletionProtection,
    DBInstanceClass: p.instanceClass,
    DBSubnetGroupName: p.subnetGroup,
    VpcSecurityGroupIds: p.securityGroups,
    DBParameterGroupName: groupName(p.parameterGroup, group),
    OptionGroupName: groupName(p.optionGroup, group),
    StorageType: p.storageType,
    Iops: p.iops,
    StorageThroughput: p.storageThroughput,
    StorageEncrypted: p.storageEncrypted,
    KmsKeyId: p.kmsKeyId,
    PubliclyAccessible: p.publiclyAccessible,
    MultiAZ: p.multiAz,
    AvailabilityZone: p.availabilityZone,
    NetworkType: p.networkType,
    Port: p.port,
    EnableIAMDatabaseAuthentication: p.iamAuthentication,
    LicenseModel: p.licenseModel,
    BackupRetentionPeriod: p.backupRetentionDays,
    PreferredBackupWindow: p.backupWindow,
    PreferredMaintenanceWindow: p.maintenanceWindow,
    AutoMinorVersionUpgrade: p.autoMinorVersionUpgrade,
    CopyTagsToSnapshot: p.copyTagsToSnapshots,
    EnablePerformanceInsights: p.performanceInsights,
    CACertificateIdentifier: p.caCertificate,
  };
}

function rejected(why: string, code: string): ProviderError {
  return new ProviderError("rejected", `${ACTIONS.create}: ${printable(why)}`, { code });
}
