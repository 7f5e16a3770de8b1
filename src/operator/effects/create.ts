/**
 * The create effect (rules 3 to 5): at most one live database per UID, whatever was lost before.
 *
 * @module
 */
import { newerOf } from "../../api/resource_version.ts";
import type { ExternalDatabase } from "../../api/schema.ts";
import type { Password } from "../../binding/secret.ts";
import { validateSpec } from "../../api/validate.ts";
import { messageOf } from "../../core/text.ts";
import { ProviderError } from "../../providers/port.ts";
import { NotSentError } from "../gateway.ts";
import { notAllowed } from "../../statechart/class_view.ts";
import type { Decision } from "../../statechart/decision.ts";
import { quote } from "../../statechart/drift.ts";
import {
  accountDiffers,
  belongsToOther,
  isAccountConfirmed,
  isCreatedElsewhere,
  isProvenNew,
  ownFound,
  settledAt,
  specOf,
} from "../../statechart/facts.ts";
import type { ExternalState, Knowledge } from "../../statechart/knowledge.ts";
import type { Learned } from "../../statechart/learned.ts";
import { hasFinalizer } from "../../statechart/resource.ts";
import { learn } from "../../statechart/learn.ts";
import { statusOf } from "../../statechart/status.ts";
import { isRotationDue, isSecretAsked, secretName } from "../../statechart/binding.ts";
import { StepError } from "../../statechart/step_error.ts";
import {
  createRequestOf,
  type EffectEnv,
  type EffectFunction,
  freshWord,
  having,
  lookUp,
  present,
  readObject,
  stepError,
  stillAllowed,
  stillWanted,
  SupersededError,
} from "./env.ts";
import { LateRead } from "./late_read.ts";
import { type Held, readPassword } from "./bind.ts";
import { accountOf, writeStatus } from "./writes.ts";

/** A create that is queued or unanswered for this long, in milliseconds, is worth a status write (design.md). */
const SLOW_MS = 1_000;

/** Proves that no create can have been sent, or looks; then sends one. */
export const create: EffectFunction = async (env, { knowledge, decision, latest }, signal) => {
  let { object } = knowledge;
  // K1: the Secret holds it before the database does. Read first, so that nothing stands between the proof and the create.
  const held = await passwordFor(env, object, signal);
  if (held !== undefined && held.password === undefined) return held.learned;
  const password = held?.password;
  const proven = isProvenNew(knowledge, env.clock.monotonic());
  if (!proven) {
    const checked = await preflight(env, knowledge, signal);
    if (checked.stop !== undefined) return checked.stop;
    if (!isHeldBy(env, checked.object, object, password)) return { object: checked.object };
    object = checked.object;
  }
  const read = object;
  /** What was proved before the create was queued for long is proved again. */
  const again = new LateRead(env, { object: read, readAt: env.clock.monotonic() }, signal, (now) => {
    if (now?.metadata.generation !== read.metadata.generation || now.status?.providerId !== undefined) {
      throw new SupersededError("The create is no longer wanted as it was");
    }
  });
  /** The newest copy that this effect was told of, if any: what it read is not to be told anew (L4). */
  const known = (written: ExternalDatabase | undefined) =>
    read === knowledge.object ? written : newerOf(read, written);
  // The actor's own copy may be older than what was read just now: it says what has been said already (L4).
  const newest = () => withNewer(latest(), read);
  const slow = reportWhenSlow(env, newest, decision, signal);
  /** What is known now, by the answer of the slow create's own report too: the watch may be later than that. */
  const heard = () => withNewer(withNewer(newest(), slow.written), again.shown?.object);
  try {
    const answer = await env.gateway.create(
      {
        ...createRequestOf(object, env.clusterId()),
        ...(password === undefined ? {} : { password: password.password }),
      },
      "create",
      signal,
      () => {
        stillWanted(heard, "create")();
        stillAllowed(env, heard().object);
        // Edited meanwhile: what is made is what is asked for now, as its engine can never be changed (L1).
        // Named meanwhile: it is to be adopted, and a second one would be too many (S1). Stripped of our finalizer while
        // the create was queued: that is put back first (rule 1, S4).
        const now = heard().object;
        if (
          now.metadata.generation !== object.metadata.generation ||
          specOf(now).providerId !== undefined || !hasFinalizer(now)
        ) {
          throw new SupersededError("The create is no longer wanted");
        }
      },
      () => again.whenLate(),
    );
    if (belongsToOther(knowledge, answer.value)) throw takenSince(answer.value);
    return {
      object: known(await slow.end()),
      observation: present(answer),
      create: { outcome: "answered", at: answer.answeredAt },
      // Of a create before it the answer may be, with the password of then (rule 4): then it is set again.
      passwordSet: password !== undefined && (proven || isFirst(knowledge))
        ? { id: answer.value.id, revision: password.revision }
        : undefined,
      // Gone while it was made: nothing will be recorded, and an absence counts under this account alone (S2, A2).
      account: latest().gone
        ? await accountOf(env, latest(), answer.value, signal).catch(() => undefined)
        : undefined,
    };
  } catch (error) {
    const written = known(await slow.end());
    const { shown } = again;
    if (shown !== undefined && shown.object === undefined) return { gone: true };
    if (error instanceof SupersededError) return { object: newerOf(written, shown?.object) };
    throw refused(env, error, written, env.view(read.metadata.uid).provider?.account);
  }
};

/** The password that the create is to carry, where there is to be a connection Secret. */
async function passwordFor(
  env: EffectEnv,
  object: ExternalDatabase,
  signal: AbortSignal,
): Promise<Held | undefined> {
  return takesPassword(env, object) ? await readPassword(env, object, signal) : undefined;
}

function takesPassword(env: EffectEnv, object: ExternalDatabase): boolean {
  const view = env.view(object.metadata.uid);
  return view.provider?.passwords !== undefined && isSecretAsked(object, view) === true;
}

/** Whether what was read of the CR asks for the password that was read of the Secret that it named before. */
function isHeldBy(
  env: EffectEnv,
  read: ExternalDatabase,
  known: ExternalDatabase,
  password: Password | undefined,
): boolean {
  if (password === undefined) return !takesPassword(env, read);
  return secretName(read) === secretName(known) && !isRotationDue(read, password.rotation);
}

/** Whether no create was sent before this one. */
function isFirst({ bornHere, unknownSince }: Knowledge): boolean {
  return bornHere && unknownSince === undefined;
}

/** What is known, by the newer of the actor's own copy of the resource and another. */
function withNewer(known: Knowledge, other: ExternalDatabase | undefined): Knowledge {
  const object = newerOf(known.object, other);
  return object === known.object ? known : { ...known, object };
}

/**
 * The token still names what an earlier create made, but that has another owner since: it is used up (rule 4), and only
 * a new incarnation brings another.
 */
function takenSince({ id }: ExternalState): ProviderError {
  return new ProviderError(
    "exists",
    `Creating the database: the client token names the database ${
      quote(id)
    }, which belongs to another resource`,
    { code: "TokenUsed" },
  );
}

/** How a failed create ended: what is not a definite refusal may have taken effect. */
function refused(
  env: EffectEnv,
  error: unknown,
  object: ExternalDatabase | undefined,
  under: string | undefined,
): unknown {
  const at = env.clock.monotonic();
  if (error instanceof NotSentError) return stepError(error, { object, create: { outcome: "refused", at } });
  if (!(error instanceof ProviderError)) {
    // Aborted at the very end: whoever comes next decides from what it finds.
    return new StepError("unknown", messageOf(error), {
      learned: { object, create: { outcome: "unknown", at, under } },
      cause: error,
    });
  }
  const outcome = error.errorClass === "unknown"
    ? "unknown"
    : error.errorClass === "exists"
    ? "exists"
    : "refused";
  if (outcome === "unknown") env.requestAccount(); // which account took it must be sure
  return stepError(error, { object, create: { outcome, at, code: error.code, under } });
}

type Preflight =
  | { readonly stop: Learned }
  | { readonly stop?: undefined; readonly object: ExternalDatabase };

/** Rule 3: a quorum read of the CR, then a lookup, in the same pass as the create. */
async function preflight(env: EffectEnv, known: Knowledge, signal: AbortSignal): Promise<Preflight> {
  const object = await readObject(env, known.object, signal);
  if (object === undefined) return { stop: { gone: true } };
  const { metadata, spec, status } = object;
  if (
    !hasFinalizer(object) || metadata.deletionTimestamp !== undefined || !validateSpec(spec).ok ||
    spec.paused || spec.providerId !== undefined || status?.providerId !== undefined ||
    notAllowed(object, env.view(metadata.uid)) !== undefined
  ) return { stop: { object } };
  return await having(object, () => lookedFor(env, known, object, signal));
}

/** The lookup, and what it says of earlier creates. */
async function lookedFor(
  env: EffectEnv,
  known: Knowledge,
  object: ExternalDatabase,
  signal: AbortSignal,
): Promise<Preflight> {
  const { metadata } = object;
  const { seenUnder, unknownUnder } = known;
  // What a wiped status named is in the account that it named, whose word alone counts too (A2, A4).
  const under = seenUnder ?? unknownUnder ??
    (env.view(metadata.uid).provider?.account === undefined ? undefined : known.account);
  if (under !== undefined) await freshWord(env, signal);
  const lookup = await lookUp(env, metadata.uid, "create", signal);
  if (under !== undefined) await env.accountHeard(lookup.sentAt, signal);
  const view = env.view(metadata.uid);
  const k = learn(known, { object, lookup }, view.now);
  if (ownFound(k, view).length > 0) return { stop: { object, lookup } };
  if (lookup.sentAt < settledAt(k, view)) return { stop: { object, lookup } };
  if (
    under !== undefined && !isAccountConfirmed({ ...k, account: under }, view, lookup.sentAt)
  ) {
    const said = view.provider?.account;
    if (accountDiffers(k, view)) return { stop: { object, lookup } }; // decide says so
    if (isCreatedElsewhere(k, view)) return { stop: { object, lookup } }; // decide says so
    // Which account took the create nobody can tell where another was heard of first after it.
    if (said !== undefined && said !== under) return { object };
    throw new StepError(
      "retryable",
      `Looking for what an earlier create brought: the provider's account is not sure to be ${quote(under)}`,
      { learned: { object, lookup } },
    );
  }
  return { object };
}

/** Writes the status once when the create takes long; `written` is the resource as that showed it, `end` waits for that. */
function reportWhenSlow(
  env: EffectEnv,
  latest: () => Knowledge,
  decision: Decision,
  signal: AbortSignal,
): { readonly written: ExternalDatabase | undefined; end(): Promise<ExternalDatabase | undefined> } {
  let writing: Promise<ExternalDatabase | undefined> | undefined;
  let written: ExternalDatabase | undefined;
  const timer = env.clock.setTimeout(() => {
    const k = latest();
    if (k.gone || k.object.metadata.deletionTimestamp !== undefined) return;
    const said = { ...decision, ready: waiting(decision.ready), synced: waiting(decision.synced) };
    writing = writeStatus(env, k.object, statusOf(k, said), signal).then(
      (facts) => written = facts.object,
      (error: unknown) => {
        // The create goes on; its own record or failure writes the status anew.
        env.log.log("debug", "Failed to report a slow create", {
          namespace: k.object.metadata.namespace,
          name: k.object.metadata.name,
          error: messageOf(error),
        });
        // A refused guard has read the resource anew: that is heard too.
        return written = error instanceof StepError ? error.learned.object : undefined;
      },
    );
  }, SLOW_MS);
  return {
    get written() {
      return written;
    },
    end: async () => {
      env.clock.clearTimeout(timer);
      return await writing;
    },
  };
}

function waiting(verdict: Decision["ready"]): Decision["ready"] {
  return {
    ...verdict,
    message: "The provider has been asked to create the database and has not answered yet",
  };
}
