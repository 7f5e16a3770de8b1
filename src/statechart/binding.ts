/**
 * The connection Secret as an actor knows it: whether there is to be one, what it is to say, and what it lacks (K1–K4).
 *
 * @module
 */
import { ANNOTATION } from "../api/constants.ts";
import type { ExternalDatabase, ExternalDatabaseStatus } from "../api/schema.ts";
import { type ConnectionFacts, factsOf, factsText, isComplete, type SecretSeen } from "../binding/facts.ts";
import { isAdopted, isObserveOnly, presentDatabase, secretRef, specOf } from "./facts.ts";
import type { Knowledge } from "./knowledge.ts";
import type { View } from "./view.ts";

/** The longest name of an object. */
const MAX_NAME = 253;

/** The name that the connection Secret has or would have; `undefined` where the default is too long to be one. */
export function secretName(object: ExternalDatabase): string | undefined {
  const name = secretRef(object)?.name ?? `${object.metadata.name}-connection`;
  return name.length > MAX_NAME ? undefined : name;
}

/**
 * Whether there is to be a connection Secret: one is asked for, or the provider's databases are of no use without. The
 * password of an adopted database is only changed where one is asked for. `undefined` while the provider has not said.
 */
export function isSecretAsked(object: ExternalDatabase, view: View): boolean | undefined {
  if (isObserveOnly(object)) return false;
  if (secretRef(object) !== undefined) return true;
  if (isAdopted(object)) return false;
  return view.provider === undefined ? undefined : view.provider.passwords === "always";
}

/** What the Secret is to say now. The endpoint that was told last stands while none is told (C5). */
export function wantedFacts(k: Knowledge, view: View): ConnectionFacts {
  const database = presentDatabase(k);
  const { status } = k.object;
  const engine = specOf(k.object).engine ?? "";
  const provider = view.provider?.name ?? "";
  if (database === undefined) return factsOf(provider, engine);
  const told = status?.providerId === database.id ? status.endpoint : undefined;
  return factsOf(provider, engine, { access: database.access, endpoint: database.endpoint ?? told });
}

/** The Secret, where it is ours, under the name that is wanted, and its password is as it was written. */
export function soundSecret(k: Knowledge): SecretSeen & { readonly kind: "ours" } | undefined {
  const { secret } = k;
  if (secret?.kind !== "ours" || secret.revision === undefined) return undefined;
  return secret.name === secretName(k.object) ? secret : undefined;
}

/** Whether a person asked for a new password that the Secret does not hold yet. */
export function isRotationDue(object: ExternalDatabase, rotation: string | undefined): boolean {
  const asked = object.metadata.annotations?.[ANNOTATION.rotatePassword];
  return asked !== undefined && asked !== rotation;
}

/** Whether the Secret is known to be as it is to be, which names the provider; the password's effect at the database apart. */
export function isSecretInOrder(k: Knowledge, view: View): boolean {
  const secret = soundSecret(k);
  return view.provider !== undefined && secret !== undefined && !isRotationDue(k.object, secret.rotation) &&
    secret.facts === factsText(wantedFacts(k, view));
}

/** Secrets of the CR that are not, or not any more, the one that is asked for. */
export function straySecrets(k: Knowledge, view: View): readonly (SecretSeen & { readonly kind: "ours" })[] {
  const wanted = isSecretAsked(k.object, view) ? secretName(k.object) : undefined;
  return (view.secrets ?? []).flatMap((s) =>
    s.kind === "ours" && s.name !== wanted && !k.secretsRemoved?.includes(s.uid) ? [s] : []
  );
}

/** The revision of the password that the recorded database is known to have. */
export function setRevision(k: Knowledge): string | undefined {
  const { status } = k.object;
  const id = status?.providerId;
  if (id === undefined) return undefined;
  const set = k.passwordSet;
  if (set?.id === id) return set.pendingSince === undefined ? set.revision : undefined;
  return status?.binding?.id === id && !k.passwordUnsure ? status.binding.revision : undefined;
}

/** Whether the provider has accepted the Secret's password and is still about it. */
export function isPasswordPending(k: Knowledge): boolean {
  const set = k.passwordSet;
  return set?.pendingSince !== undefined && set.id === k.object.status?.providerId &&
    set.revision === soundSecret(k)?.revision;
}

/** What the Secret lacks, for people; `undefined` when a client can log in by it, or was told so and nothing else is known. */
export function lackOf(k: Knowledge, view: View, told: boolean): string | undefined {
  // L4: a restart is no news, until both the Secret and the provider were heard of.
  if (told && (k.secret === undefined || view.provider === undefined)) return undefined;
  const name = secretName(k.object) ?? "";
  const secret = soundSecret(k);
  if (secret === undefined) return `The connection Secret "${name}" is about to be written`;
  const facts = wantedFacts(k, view);
  if (presentDatabase(k) !== undefined && !isComplete(facts)) {
    return `The provider does not tell yet how to log in, which the connection Secret "${name}" is to say`;
  }
  if (presentDatabase(k) !== undefined && !isSecretInOrder(k, view)) {
    return `The connection Secret "${name}" is about to be brought up to date`;
  }
  return setRevision(k) === secret.revision
    ? undefined
    : `The password that the connection Secret "${name}" holds is about to be set at the provider`;
}

/** `status.binding` by what is known; as it was where nothing is. */
export function bindingStatus(k: Knowledge): ExternalDatabaseStatus["binding"] {
  const { secret, object: { status } } = k;
  const before = status?.binding;
  if (secret?.kind === "unasked") return undefined;
  const ours = secret?.kind === "ours" ? secret : undefined;
  const name = ours?.name ?? before?.name;
  if (name === undefined) return undefined;
  const revision = setRevision(k);
  const rotation = ours !== undefined && ours.revision !== undefined && ours.revision === revision
    ? ours.rotation
    : before?.rotation;
  return {
    name,
    ...(revision === undefined || status?.providerId === undefined
      ? {}
      : { id: status.providerId, revision }),
    ...(rotation === undefined ? {} : { rotation }),
  };
}
