/**
 * Reading instances.
 *
 * @module
 */
import { type DBInstance, DescribeDBInstancesCommand } from "@aws-sdk/client-rds";
import { ACTIONS, printable } from "../classify.ts";
import { AnswerError } from "../http_answer.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import type { AwsClients } from "./clients.ts";
import { codeOf } from "./errors.ts";
import { isResourceId } from "./names.ts";

/** An instance and what is needed to change it. */
export interface Described {
  readonly instance: DBInstance;
  readonly identifier: string;
  readonly arn: string;
}

/** The error for an id that the account does not have. */
export function absent(call: Call, id: string): ProviderError {
  const text = `${ACTIONS[call.verb]}: the account has no instance "${printable(id, 253)}" in this region`;
  return new ProviderError("absent", text, { code: "NotFound" });
}

/** The instance of a resource id. Class `absent` when RDS lists none under it. */
export async function byId(clients: AwsClients, call: Call, id: string): Promise<Described> {
  if (!isResourceId(id)) throw absent(call, id);
  const command = new DescribeDBInstancesCommand({ Filters: [{ Name: "dbi-resource-id", Values: [id] }] });
  const { DBInstances } = await clients.rds(call, (client, options) => client.send(command, options));
  if (DBInstances === undefined) throw new AnswerError("the answer has no list of instances");
  const [instance] = DBInstances;
  if (instance === undefined) throw absent(call, id);
  if (instance.DbiResourceId !== id) {
    throw new AnswerError(
      `the answer is about another instance, "${printable(String(instance.DbiResourceId), 60)}"`,
    );
  }
  return described(instance);
}

/** The instance that has an identifier now, if any. */
export async function byIdentifier(
  clients: AwsClients,
  call: Call,
  identifier: string,
): Promise<Described | undefined> {
  const command = new DescribeDBInstancesCommand({ DBInstanceIdentifier: identifier });
  try {
    const { DBInstances } = await clients.rds(call, (client, options) => client.send(command, options));
    const found = DBInstances?.find((instance) => instance.DBInstanceIdentifier === identifier);
    if (found === undefined) throw new AnswerError("the answer is not about the instance asked for");
    return described(found);
  } catch (error) {
    if (codeOf(error) === "DBInstanceNotFound") return undefined;
    throw error;
  }
}

function described(instance: DBInstance): Described {
  const { DBInstanceIdentifier: identifier, DBInstanceArn: arn } = instance;
  if (!identifier || !arn) throw new AnswerError("the instance has no identifier or ARN");
  return { instance, identifier, arn };
}
