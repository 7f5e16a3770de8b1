/**
 * Decisions about the connection Secret (K1 to K4): it is written before its password is set, and the resource is ready
 * only when a client can log in by it.
 *
 * @module
 */
import {
  isPasswordPending,
  isSecretAsked,
  isSecretInOrder,
  lackOf,
  secretName,
  setRevision,
  soundSecret,
  straySecrets,
} from "./binding.ts";
import { type Decision, isEffect, type Verdict } from "./decision.ts";
import { ownership, presentDatabase } from "./facts.ts";
import type { Failure, Knowledge } from "./knowledge.ts";
import { failureVerdict, lastReady, no } from "./verdicts.ts";
import type { View } from "./view.ts";

/** How long the first list of Secrets is waited for before each is read alone, in milliseconds. */
const LIST_PATIENCE_MS = 60_000;

/**
 * `Ready` with the Secret counted in (K4). `unheard` is said where nobody knows whether there is to be one and the
 * resource was not ready before: a Secret that could never be written has left nothing in the status.
 */
export function boundReadiness(k: Knowledge, view: View, ready: Verdict, unheard?: Verdict): Verdict {
  // Until the provider has said whether there is to be one, one that is there is to be in order.
  const said = isSecretAsked(k.object, view);
  const asked = said ?? k.object.status?.binding !== undefined;
  if (ready.status !== "True") return ready;
  if (said === undefined && !asked && lastReady(k)?.status !== "True") return unheard ?? ready;
  if (!asked) return ready;
  if (secretName(k.object) === undefined) return nameless();
  if (view.provider !== undefined && view.provider.passwords === undefined) return UNSUPPORTED;
  const lack = lackOf(k, view, lastReady(k)?.status === "True");
  if (lack === undefined) return ready;
  const failure = k.failures.bind ?? k.failures.setPassword;
  return failure === undefined ? no("SecretPending", lack) : { ...failureVerdict(failure), status: "False" };
}

const UNSUPPORTED = no(
  "SecretPending",
  "The provider sets no passwords, so that there can be no connection Secret; remove spec.connectionSecretRef",
);

function nameless(): Verdict {
  return no(
    "InvalidSpec",
    "The default name of the connection Secret is longer than 253 characters; set spec.connectionSecretRef.name",
  );
}

/** The next thing to do about the Secret where nothing else is to be done first, or what was planned. */
export function heedBinding(k: Knowledge, view: View, planned: Decision): Decision {
  const asked = isSecretAsked(k.object, view);
  if (asked === undefined) return planned;
  if (!asked) {
    const told = k.object.status?.binding !== undefined && k.secret?.kind !== "unasked";
    const done = !told && straySecrets(k, view).length === 0;
    const rests = !isEffect(planned.step) && planned.step !== "end" && planned.state !== "Pending";
    return done || !rests ? planned : attempt(k, view, planned, "bind");
  }
  const ready = boundReadiness(k, view, planned.ready);
  const said = ready === planned.ready ? planned : { ...planned, ready };
  if (view.provider?.passwords === undefined) return said;
  if (planned.step === "create") return beforeCreate(k, view, planned);
  const database = presentDatabase(k);
  if (isEffect(planned.step) || planned.step === "end" || secretName(k.object) === undefined) return said;
  const recorded = database !== undefined && database.id === k.object.status?.providerId;
  if (!recorded || ownership(k, database, view) !== "ours") return said;
  if (database.state === "Deleting" || database.state === "Failed") return said;
  if (isSecretInOrder(k, view) && straySecrets(k, view).length > 0) return attempt(k, view, said, "bind");
  if (!isSecretInOrder(k, view)) {
    const patience = view.settleSince + LIST_PATIENCE_MS - view.now;
    const listed = k.secret !== undefined || view.secretsListed || k.bornHere ||
      lastReady(k)?.status !== "True";
    // A restart is no reason to read thousands of Secrets one by one: the list of all is under way.
    return listed || patience <= 0 ? attempt(k, view, said, "bind") : sooner(said, patience);
  }
  if (setRevision(k) === soundSecret(k)?.revision || isPasswordPending(k)) return said;
  if (database.state !== "Available" || database.unknownState) return said;
  const wait = passwordWaitMs(k, view);
  return wait > 0 ? sooner(said, wait) : attempt(k, view, said, "setPassword");
}

/** K1: the create carries the password that the Secret holds already. */
function beforeCreate(k: Knowledge, view: View, planned: Decision): Decision {
  if (secretName(k.object) === undefined) {
    return { ...planned, step: "idle", ready: nameless(), synced: nameless() };
  }
  return isSecretInOrder(k, view) ? planned : { ...planned, step: "bind" };
}

/** The step, or a rest until its failure's next try, which does not hold up what else there is to do. */
function attempt(k: Knowledge, view: View, planned: Decision, step: "bind" | "setPassword"): Decision {
  const failure: Failure | undefined = k.failures[step];
  if (failure === undefined || view.now >= failure.until) return { ...planned, step };
  const verdict = failureVerdict(failure);
  return {
    ...sooner(planned, failure.until - view.now),
    synced: planned.synced.status === "True" ? verdict : planned.synced,
  };
}

function sooner(planned: Decision, ms: number): Decision {
  return { ...planned, waitMs: Math.min(planned.waitMs ?? ms, ms) };
}

/**
 * Wait until no earlier change can take effect any more, in milliseconds: a password that is set late would undo the
 * next one, and nobody could see that (rule 8).
 */
function passwordWaitMs(k: Knowledge, view: View): number {
  const since = Math.max(
    k.modifyUnknownSince ?? Number.NEGATIVE_INFINITY,
    k.bornHere ? Number.NEGATIVE_INFINITY : view.settleSince,
  );
  return since + (view.provider?.effectBoundMs ?? 0) - view.now;
}
