/**
 * Deleting an instance, with a final snapshot or without.
 *
 * @module
 */
import { DeleteDBInstanceCommand, DescribeDBSnapshotsCommand } from "@aws-sdk/client-rds";
import { ACTIONS, printable } from "../classify.ts";
import { AnswerError } from "../http_answer.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import type { AwsClients } from "./clients.ts";
import { byId, type Described } from "./describe.ts";
import { codeOf } from "./errors.ts";
import { isSnapshotName } from "./names.ts";
import type { RdsParameters } from "./parameters.ts";
import { databaseOf } from "./record.ts";

/** Sends the delete; one that goes on already is as good. Class `rejected`, code `DeletionProtected`: it is protected. */
export async function remove(
  clients: AwsClients,
  call: Call,
  id: string,
  snapshot: string | undefined,
  parameters: RdsParameters,
  now: () => number,
): Promise<void> {
  if (snapshot !== undefined && !isSnapshotName(snapshot)) {
    throw rejected(
      `"${
        printable(snapshot, 255)
      }" is no name for a snapshot: letters, digits and single hyphens, the first a letter`,
      "InvalidSnapshotName",
    );
  }
  const found = await byId(clients, call, id);
  const database = databaseOf(found.instance, now());
  if (database.state === "Deleting") return;
  try {
    await send(clients, call, found, snapshot, parameters);
  } catch (error) {
    switch (codeOf(error)) {
      case "DBSnapshotAlreadyExists":
        await checkSnapshot(clients, call, id, snapshot!);
        // It was taken for this very delete, as its name is of no other: only the deletion is left.
        return await send(clients, call, found, undefined, parameters);
      case "InvalidDBInstanceState": {
        const again = await byId(clients, call, id);
        const { state, providerState } = databaseOf(again.instance, now());
        if (state === "Deleting") return; // another was quicker
        if (state === "Failed" && snapshot !== undefined) {
          throw rejected(
            `RDS takes no final snapshot of an instance that is ${providerState}; mend it, or choose another deletionPolicy`,
            "SnapshotFailed",
          );
        }
        throw error;
      }
      case "InvalidParameterCombination":
        if (found.instance.DeletionProtection || /protected DB|deletion protection/i.test(String(error))) {
          throw rejected(
            `the instance ${found.identifier} has deletion protection`,
            "DeletionProtected",
          );
        }
    }
    throw error;
  }
}

async function send(
  clients: AwsClients,
  call: Call,
  { identifier }: Described,
  snapshot: string | undefined,
  { deleteAutomatedBackups }: RdsParameters,
): Promise<void> {
  const command = new DeleteDBInstanceCommand({
    DBInstanceIdentifier: identifier,
    DeleteAutomatedBackups: deleteAutomatedBackups,
    ...(snapshot === undefined
      ? { SkipFinalSnapshot: true }
      : { SkipFinalSnapshot: false, FinalDBSnapshotIdentifier: snapshot }),
  });
  await clients.rds(call, (client, options) => client.send(command, options));
}

/** A snapshot has the name already: it must be of this instance, and whole, before the instance goes without another. */
async function checkSnapshot(clients: AwsClients, call: Call, id: string, name: string): Promise<void> {
  const command = new DescribeDBSnapshotsCommand({ DBSnapshotIdentifier: name });
  const { DBSnapshots } = await clients.rds(call, (client, options) => client.send(command, options));
  // RDS keeps names in lower case.
  const snapshot = DBSnapshots?.find((each) => each.DBSnapshotIdentifier === name.toLowerCase());
  if (snapshot === undefined) throw new AnswerError("the answer is not about the snapshot asked for");
  const { DbiResourceId, Status = "" } = snapshot;
  if (DbiResourceId !== id) {
    throw rejected(`the snapshot "${name}" is there, and of another instance`, "SnapshotExists");
  }
  if (Status === "available") return;
  const what = `the snapshot "${name}" is ${printable(Status, 60)}`;
  if (Status === "creating") {
    throw new ProviderError("busy", `${ACTIONS.delete}: ${what}`, { code: "SnapshotCreating" });
  }
  throw rejected(`${what}; delete it, then another is taken`, "SnapshotFailed");
}

function rejected(why: string, code: string): ProviderError {
  return new ProviderError("rejected", `${ACTIONS.delete}: ${why}`, { code });
}
