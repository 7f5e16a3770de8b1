/**
 * Decisions for a CR that has no `providerId`: look up, adopt, create (rules 3 to 5 and 18).
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { Decision } from "./decision.ts";
import { quote } from "./drift.ts";
import {
  incarnationOf,
  isCreatedElsewhere,
  isProvenNew,
  ownFound,
  settledAt,
  transitionalPollMs,
} from "./facts.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { recordFound } from "./record_found.ts";
import { failureVerdict, no, unknown } from "./verdicts.ts";
import type { View } from "./view.ts";

/** How long a lookup answers for, in milliseconds, while one waits for something to show. */
const LOOKUP_AGAIN_MS = 2_000;

/** Pending or Creating. */
export function decideCreation(k: Knowledge, view: View): Decision {
  const { spec } = k.object;
  const creating = unknown("Creating", "The database is about to be created");
  const create: Decision = {
    state: "Creating",
    step: "create",
    ready: no("Creating", creating.message),
    synced: creating,
  };
  const named = spec.providerId;
  const proven = isProvenNew(k, view.now);
  if (named !== undefined && (proven || k.adopting === named)) return adopt(named);
  if (proven) return create; // rule 3: the finalizer write just made is the proof
  const own = ownFound(k, view);
  if (named !== undefined && own.some((d) => d.id === named)) return adopt(named);
  const live = own.find((d) => d.state !== "Deleting");
  if (live !== undefined) {
    const verdict = no("Creating", `The database ${quote(live.id)} was found by its tags`);
    return recordFound(k, view, live, { state: "Pending", ready: verdict, synced: verdict });
  }
  const dying = own[0];
  if (dying !== undefined) return afterDying(k, view, dying);
  if (named !== undefined) return adoptOnceSettled(k, view, named);
  const account = view.provider?.account;
  if (account !== undefined && isCreatedElsewhere(k, view)) {
    return underAnother(k.seenUnder ?? k.unknownUnder ?? "", account);
  }
  if (k.createExists !== undefined) return afterExists(k, view, k.createExists);
  // Rule 5, with tokens too: one need be remembered no longer than the effect bound after its last use, and the second
  // create may itself take that long, so that it meets neither the token nor, given any lag, a list that shows the first.
  const settled = settledAt(k, view);
  if (view.now >= settled) return create; // its own pass looks up once more, after the window
  const failed = k.failures.create;
  const verdict = failed === undefined
    ? unknown("Pending", "Looking for a database that an earlier create may still bring")
    : failureVerdict(failed); // L4: why it is not there yet
  return lookUpUntil(k, view, settled, verdict);
}

/** What a create of unknown outcome brought is in the account that it was sent to: another's lookups say nothing (A2). */
function underAnother(under: string, account: string): Decision {
  const verdict = no(
    "Conflict",
    `The credentials belong to account ${
      quote(account)
    }, but an earlier create may have brought a database in ` +
      `${quote(under)}; nothing is created until they agree, or the resource is made anew`,
  );
  return { state: "Pending", step: "wait", waitMs: 30_000, ready: verdict, synced: verdict };
}

function adopt(id: string): Decision {
  const verdict = unknown("Pending", `About to adopt the database ${quote(id)}`);
  return { state: "Pending", step: "adopt", ready: verdict, synced: verdict };
}

/**
 * The spec may have named the database after a create was sent: what that brings is this CR's one database (S1), so it
 * is looked for through the settle window before another is adopted.
 */
export function adoptOnceSettled(k: Knowledge, view: View, id: string): Decision {
  const settled = settledAt(k, view);
  const looked = k.lookup !== undefined && k.lookup.sentAt >= settled;
  if (settled === Number.NEGATIVE_INFINITY || looked) return adopt(id);
  const verdict = unknown(
    "Pending",
    `About to adopt the database ${quote(id)}, once no earlier create can bring another`,
  );
  return view.now >= settled
    ? { state: "Pending", step: "lookup", ready: verdict, synced: verdict }
    : lookUpUntil(k, view, settled, verdict);
}

/** Lookups through the settle window. In a crowd the observer's list looks for all. */
function lookUpUntil(k: Knowledge, view: View, settled: number, verdict: Decision["synced"]): Decision {
  const again = view.crowded ? Number.POSITIVE_INFINITY : LOOKUP_AGAIN_MS;
  const asked = lookUpEvery(k, view, again, verdict);
  if (asked.step !== "wait") return asked;
  return { ...asked, waitMs: Math.min(asked.waitMs ?? again, settled - view.now), settling: true };
}

/** An own database in `Deleting` is waited out, never taken (rule 7). */
function afterDying(k: Knowledge, view: View, dying: ExternalState): Decision {
  const verdict = no("Pending", `Waiting until the database ${quote(dying.id)} is deleted at the provider`);
  const ofThisIncarnation = Number(dying.tags[TAG.incarnation] ?? 1) >= incarnationOf(k.object);
  if (ofThisIncarnation) return { state: "Pending", step: "reincarnate", ready: verdict, synced: verdict };
  return lookUpEvery(k, view, Math.max(LOOKUP_AGAIN_MS, transitionalPollMs(k, view)), verdict);
}

/** Answers that speak of our token: what it made shows within the settle window, or is gone for good. */
const ABOUT_TOKEN: ReadonlySet<string> = new Set(["TokenUsed", "IdempotencyMismatch"]);

/**
 * The provider says that our create is known already (rule 4): look up until it shows. A token whose database stays
 * unseen past the settle window has lost it; only a new incarnation can bring another.
 */
function afterExists(k: Knowledge, view: View, code: string): Decision {
  const verdict = no(
    "CreateFailed",
    `The provider answered ${quote(code)}, but no database carries this resource's UID yet; looking for it`,
  );
  const lookup = k.lookup;
  if (ABOUT_TOKEN.has(code) && lookup !== undefined && lookup.sentAt >= settledAt(k, view)) {
    return { state: "Pending", step: "reincarnate", ready: verdict, synced: verdict };
  }
  const quick = view.now < settledAt(k, view) + LOOKUP_AGAIN_MS * 2;
  return lookUpEvery(k, view, quick ? LOOKUP_AGAIN_MS : 60_000, verdict);
}

/** A lookup now, or a wait until the last one is `everyMs` old. */
function lookUpEvery(
  k: Knowledge,
  view: View,
  everyMs: number,
  verdict: Decision["synced"],
): Decision {
  const age = k.lookup === undefined ? Number.POSITIVE_INFINITY : view.now - k.lookup.sentAt;
  const said = { state: "Pending" as const, ready: verdict, synced: verdict };
  return age >= everyMs ? { ...said, step: "lookup" } : { ...said, step: "wait", waitMs: everyMs - age };
}
