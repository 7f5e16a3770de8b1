/**
 * What a class says of itself in its status: pure.
 *
 * @module
 */
import type { ClassStatus, ExternalDatabaseClass } from "../api/class_schema.ts";
import type { Condition } from "../api/schema.ts";
import { equal } from "../core/equal.ts";
import { testUid } from "../kube/patches.ts";
import type { JsonPatchOperation } from "../kube/port.ts";

/** What is known of a class. */
export interface ClassFacts {
  /** Why its spec cannot be used. */
  readonly refused: string | undefined;
  /** It is the default, or would be but for another. */
  readonly isDefault: boolean;
  /** The default that stands over it. */
  readonly newerDefault: string | undefined;
  /** Why its Secret gives no credentials. */
  readonly credentials: string | undefined;
  readonly account: { readonly name: string | undefined } | undefined;
  /** Why the account does not answer. */
  readonly error: { readonly message: string; readonly errorClass: string | undefined } | undefined;
}

type Told = Pick<Condition, "type" | "status" | "reason" | "message">;

function accepted({ refused, isDefault, newerDefault }: ClassFacts): Told {
  if (refused !== undefined) {
    return {
      type: "Accepted",
      status: "False",
      reason: "Invalid",
      message: `The class cannot be used: ${refused}`,
    };
  }
  const message = !isDefault
    ? "The class can be used"
    : newerDefault === undefined
    ? "The class can be used, and is the default"
    : `The class can be used; it is marked as the default, but "${newerDefault}" is too and is newer: that one is`;
  return { type: "Accepted", status: "True", reason: "Accepted", message };
}

function ready({ refused, credentials, account, error }: ClassFacts): Told {
  const told = (status: Told["status"], reason: string, message: string): Told => ({
    type: "Ready",
    status,
    reason,
    message,
  });
  if (refused !== undefined) return told("False", "NotAccepted", "The class cannot be used: see Accepted");
  if (credentials !== undefined) return told("False", "CredentialsMissing", credentials);
  if (error !== undefined) {
    const reason = error.errorClass === "unauthorised"
      ? "Unauthorised"
      : error.errorClass === "throttled"
      ? "Throttled"
      : "ProviderUnavailable";
    return told("False", reason, error.message.slice(0, 1_024));
  }
  if (account === undefined) return told("Unknown", "Pending", "The account has not answered yet");
  const name = account.name === undefined ? "which tells no name" : `"${account.name}"`;
  return told("True", "Available", `The account answers: ${name}`);
}

/** The status that a class is to have, with times. */
export function classStatusOf(
  { metadata, status = {} }: ExternalDatabaseClass,
  facts: ClassFacts,
  time: string,
): ClassStatus {
  const before = status.conditions ?? [];
  const own = [accepted(facts), ready(facts)].map((c): Condition => {
    const same = before.find((b) => b.type === c.type);
    return {
      ...c,
      observedGeneration: metadata.generation,
      lastTransitionTime: same?.status === c.status ? same.lastTransitionTime : time,
    };
  });
  const account = facts.account?.name ?? status.account;
  return {
    ...status,
    ...(account === undefined ? {} : { account }),
    observedGeneration: metadata.generation,
    conditions: [...own, ...before.filter((b) => !own.some((c) => c.type === b.type))],
  };
}

/** The patch that brings a class's status there; `undefined` when it is so. */
export function classStatusPatch(
  { metadata, status }: ExternalDatabaseClass,
  wanted: ClassStatus,
): JsonPatchOperation[] | undefined {
  return equal(status, wanted) ? undefined : [
    testUid(metadata.uid),
    { op: "add", path: "/status", value: wanted },
  ];
}
