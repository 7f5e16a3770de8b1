/**
 * The effects of the connection Secret: bind writes it, setPassword makes the database take its password (K1 to K3).
 *
 * A password is read, or made, and used within one effect. What an actor is told of it is its revision.
 *
 * @module
 */
import { ANNOTATION } from "../../api/constants.ts";
import type { ExternalDatabase } from "../../api/schema.ts";
import { type ConnectionFacts, factsText } from "../../binding/facts.ts";
import {
  mend,
  newSecret,
  ownerUid,
  ownerWords,
  type Password,
  passwordOf,
  seenOf,
} from "../../binding/secret.ts";
import { newPassword, newRevision } from "../../core/passwords.ts";
import { KubeError } from "../../kube/port.ts";
import type { Secrets, StoredSecret } from "../../kube/secrets_port.ts";
import {
  isRotationDue,
  isSecretAsked,
  secretName,
  straySecrets,
  wantedFacts,
} from "../../statechart/binding.ts";
import { quote } from "../../statechart/drift.ts";
import { ownership, specOf } from "../../statechart/facts.ts";
import type { Knowledge } from "../../statechart/knowledge.ts";
import type { Learned } from "../../statechart/learned.ts";
import { hasFinalizer } from "../../statechart/resource.ts";
import { learn } from "../../statechart/learn.ts";
import { StepError } from "../../statechart/step_error.ts";
import { emit } from "./announce.ts";
import { LateRead, showed } from "./late_read.ts";
import {
  changeFailed,
  type EffectEnv,
  type EffectFunction,
  isManaged,
  present,
  readById,
  stepError,
  stillWanted,
  SupersededError,
} from "./env.ts";

/** Creates, mends or removes the connection Secret, as the newest CR asks. */
export const bind: EffectFunction = async (env, { latest }, signal) => {
  const k = latest();
  const { object } = k;
  if (!isHandled(k)) return { object };
  const view = env.view(object.metadata.uid);
  const asked = isSecretAsked(object, view);
  const former = object.status?.binding?.name;
  const secrets = secretsOf(env);
  const name = asked === true ? secretName(object) : undefined;
  const removeStrays = async (): Promise<Learned> => {
    const strays = straySecrets(k, view);
    const names = new Set([former, ...strays.map((s) => s.name)]);
    for (const stray of names) {
      if (stray !== undefined && stray !== name) await discard(env, secrets, object, stray, signal);
    }
    return { secretsRemoved: strays.map((s) => s.uid) };
  };
  if (asked === undefined) return { object };
  if (asked === false) return { ...await removeStrays(), secret: { kind: "unasked" } };
  if (name === undefined) return { object }; // the decision says so
  const secretAt = env.clock.monotonic();
  const facts = wantedFacts(k, view);
  const secret = await write(env, secrets, { object, name, facts, former }, signal);
  // What was moved, or left behind by a name that changed: only once the new one is there (K1).
  return { ...await removeStrays(), secret: seenOf(secret), secretAt };
};

/** Nothing is written for a CR that is going, is not held by our finalizer, or is paused (D3). */
function isHandled({ object, gone }: Knowledge): boolean {
  return !gone && hasFinalizer(object) && object.metadata.deletionTimestamp === undefined &&
    specOf(object).paused !== true;
}

interface Wanted {
  readonly object: ExternalDatabase;
  readonly name: string;
  readonly facts: ConnectionFacts;
  /** The name that the status tells. */
  readonly former: string | undefined;
}

async function write(
  env: EffectEnv,
  secrets: Secrets,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<StoredSecret> {
  const { object, name, facts, former } = wanted;
  const secret = await readSecret(secrets, object, name, signal);
  if (secret !== undefined) {
    requireOwn(object, secret);
    const held = passwordOf(secret);
    const kept = held !== undefined && !isRotationDue(object, held.rotation) ? held : undefined;
    const operations = mend(secret, facts, kept ?? fresh(env, object));
    if (operations.length === 0) return secret;
    return await writing(() => secrets.patch(secret.metadata, operations, { signal }));
  }
  const moved = former === undefined || former === name
    ? undefined
    : await readSecret(secrets, object, former, signal);
  const held = moved !== undefined && isOwn(object, moved) ? passwordOf(moved) : undefined;
  const kept = held !== undefined && !isRotationDue(object, held.rotation) ? held : undefined;
  const made = newSecret(object, name, facts, kept ?? fresh(env, object));
  const created = await writing(() => secrets.create(made, { signal }));
  emit(env, object, {
    type: "Normal",
    reason: "SecretWritten",
    action: "Bind",
    note: `Wrote the connection Secret ${quote(name)}`,
  });
  return created;
}

function fresh({ entropy }: EffectEnv, object: ExternalDatabase): Password {
  return {
    password: newPassword(entropy),
    revision: newRevision(entropy),
    rotation: object.metadata.annotations?.[ANNOTATION.rotatePassword],
  };
}

/** Deletes a Secret that is not wanted any more, if it is ours. */
async function discard(
  env: EffectEnv,
  secrets: Secrets,
  object: ExternalDatabase,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const secret = await readSecret(secrets, object, name, signal);
  if (secret === undefined || !isOwn(object, secret)) return;
  try {
    await secrets.delete(secret.metadata, secret.metadata.uid, { signal });
  } catch (error) {
    if (error instanceof KubeError && error.kind === "notFound") return;
    throw failed(error);
  }
  emit(env, object, {
    type: "Normal",
    reason: "SecretRemoved",
    action: "Bind",
    note: `Removed the connection Secret ${quote(name)}, which is not asked for any more`,
  });
}

function isOwn(object: ExternalDatabase, secret: StoredSecret): boolean {
  return ownerUid(secret) === object.metadata.uid;
}

function requireOwn(object: ExternalDatabase, secret: StoredSecret): void {
  if (isOwn(object, secret)) return;
  const name = quote(secret.metadata.name);
  throw new StepError(
    "taken",
    `The Secret ${name} ${ownerWords(secret)} and is not touched; give another name in ` +
      "spec.connectionSecretRef.name, or remove that Secret",
    { learned: { secret: { kind: "absent" } } },
  );
}

function secretsOf({ secrets }: EffectEnv): Secrets {
  if (secrets === undefined) {
    throw new StepError("kubernetes", "This operator was given no way to the cluster's Secrets");
  }
  return secrets;
}

/** A quorum read; `undefined` where there is none. */
async function readSecret(
  secrets: Secrets,
  { metadata: { namespace } }: ExternalDatabase,
  name: string,
  signal: AbortSignal,
): Promise<StoredSecret | undefined> {
  try {
    return await secrets.get({ namespace, name }, { signal });
  } catch (error) {
    if (error instanceof KubeError && error.kind === "notFound") return undefined;
    throw failed(error);
  }
}

/** What was there may be another by now: a refused guard is read again by the next try. */
async function writing(write: () => Promise<StoredSecret>): Promise<StoredSecret> {
  try {
    return await write();
  } catch (error) {
    throw failed(error);
  }
}

function failed(error: unknown): unknown {
  if (!(error instanceof KubeError)) return error;
  const again = error.kind === "conflict" || error.kind === "notFound";
  return again ? new StepError("conflict", error.message, { cause: error }) : stepError(error);
}

/** What of a connection Secret is sent to the provider; nothing, with what was learned, where it is not as it was written. */
export type Held =
  | { readonly password: Password; readonly learned: Learned }
  | { readonly password?: undefined; readonly learned: Learned };

/** A quorum read of the Secret, just before its password is sent: never from anything that was kept (K1). */
export async function readPassword(
  env: EffectEnv,
  object: ExternalDatabase,
  signal: AbortSignal,
): Promise<Held> {
  const name = secretName(object) ?? "";
  const secretAt = env.clock.monotonic();
  const secret = await readSecret(secretsOf(env), object, name, signal);
  if (secret === undefined || !isOwn(object, secret)) return { learned: { secret: { kind: "absent" } } };
  const password = passwordOf(secret);
  const learned = { secret: seenOf(secret), secretAt };
  if (password === undefined || isRotationDue(object, password.rotation)) return { learned };
  return { password, learned };
}

/** Makes the recorded database take the password that the Secret holds; setting it again changes nothing. */
export const setPassword: EffectFunction = async (env, { knowledge, latest }, signal) => {
  const id = knowledge.object.status?.providerId;
  if (id === undefined) throw new StepError("bug", "There is no providerId to set a password at");
  const readAt = env.clock.monotonic();
  const observation = await readById(env, id, "urgent", signal);
  if (observation.kind === "absent") return { observation };
  const now = latest();
  const { object } = now;
  const view = env.view(object.metadata.uid);
  const { database } = observation;
  const ready = ownership(now, database, view) === "ours" && database.state === "Available" &&
    !database.unknownState;
  if (!ready || object.status?.providerId !== id || !isHandled(now)) return { observation };
  const held = await readPassword(env, object, signal).catch((error: unknown) => {
    throw error instanceof StepError ? error.knowing({ ...error.learned, observation }) : error;
  });
  const learned: Learned = { ...held.learned, observation };
  if (held.password === undefined) return learned;
  // One that the Secret says nothing new of is mended first: its facts may be those of another database.
  const inOrder = held.learned.secret?.kind === "ours" &&
    held.learned.secret.facts === factsText(wantedFacts(learn(now, learned, view.now), view));
  if (!inOrder) return learned;
  const { password, revision } = held.password;
  const again = new LateRead(env, { object, readAt }, signal, (read) => {
    if (read?.metadata.generation !== object.metadata.generation || !isManaged(read)) {
      throw new SupersededError("The password is no longer wanted");
    }
  });
  let sentAt = env.clock.monotonic();
  const wanted = () => {
    stillWanted(latest, "password")();
    sentAt = env.clock.monotonic();
    if (isSecretAsked(latest().object, view) !== true) {
      throw new SupersededError("The password is no longer wanted");
    }
  };
  try {
    const prepare = () => again.whenLate();
    const answer = await env.gateway.modify(id, { password }, "urgent", signal, wanted, prepare);
    announcePassword(env, object, id, revision);
    return {
      ...learned,
      observation: present(answer),
      modify: { outcome: "answered", at: answer.answeredAt },
      passwordSet: {
        id,
        revision,
        pendingSince: answer.value.state === "Available" ? undefined : answer.answeredAt,
      },
    };
  } catch (error) {
    return changeFailed(env, error, { id, sentAt, seen: { ...learned, ...showed(again) } });
  }
};

/** Says that a password took the place of another; the first one is no news. */
function announcePassword(env: EffectEnv, object: ExternalDatabase, id: string, revision: string): void {
  const before = object.status?.binding;
  if (before?.id !== id || before.revision === undefined || before.revision === revision) return;
  emit(env, object, {
    type: "Normal",
    reason: "PasswordRotated",
    action: "Bind",
    note: `The password of the database ${quote(id)} was changed to that of the connection Secret ${
      quote(before.name)
    }`,
  });
}
