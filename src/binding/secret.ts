/**
 * The connection Secret itself: how it is made, judged and mended. Here alone a password is at hand.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { API_VERSION, KIND, MANAGED_BY, OPERATOR_NAME, SECRET_ANNOTATION } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { equal } from "../core/equal.ts";
import type { JsonPatchOperation } from "../kube/port.ts";
import { escapePointer, testUid, testVersion } from "../kube/patches.ts";
import type { NewSecret, OwnerReference, StoredSecret } from "../kube/secrets_port.ts";
import { type ConnectionFacts, factsText, isComplete, type SecretSeen } from "./facts.ts";

/** A password and what is said of it. */
export interface Password {
  readonly password: string;
  /** Its opaque name. */
  readonly revision: string;
  /** The `rotate-password` annotation that it was made for. */
  readonly rotation?: string | undefined;
}

/** The CR that a Secret belongs to, by its owner reference. */
export function ownerUid({ metadata }: Pick<StoredSecret, "metadata">): string | undefined {
  return metadata.ownerReferences?.find((o) => o.kind === KIND && o.apiVersion === API_VERSION)?.uid;
}

/** Whose a foreign Secret is, for people (K2). */
export function ownerWords({ metadata }: Pick<StoredSecret, "metadata">): string {
  const owner = metadata.ownerReferences?.find((o) => o.controller) ?? metadata.ownerReferences?.[0];
  if (owner !== undefined) return `belongs to ${owner.kind} ${owner.name}`;
  const manager = metadata.labels?.[MANAGED_BY];
  return manager === undefined || manager === OPERATOR_NAME
    ? "has no owner reference to this resource"
    : `is managed by ${manager}`;
}

/** The password of a Secret; `undefined` where it is missing, or not as it was written. */
export function passwordOf({ metadata, data }: StoredSecret): Password | undefined {
  const password = decode(data?.["password"]);
  const revision = metadata.annotations?.[SECRET_ANNOTATION.revision];
  if (!password || !revision) return undefined;
  if (metadata.annotations?.[SECRET_ANNOTATION.checksum] !== checksum(password)) return undefined;
  return { password, revision, rotation: metadata.annotations[SECRET_ANNOTATION.rotation] };
}

/** A Secret as an actor may know it. */
export function seenOf(secret: StoredSecret): SecretSeen & { readonly kind: "ours" } {
  const { metadata, data } = secret;
  const held = passwordOf(secret);
  const key = (name: string) => decode(data?.[name]);
  const facts: ConnectionFacts = {
    type: key("type") ?? "",
    provider: key("provider") ?? "",
    host: key("host"),
    port: key("port"),
    database: key("database"),
    username: key("username"),
  };
  const uri = held === undefined ? undefined : uriOf(facts, held.password);
  const tidy = metadata.labels?.[MANAGED_BY] === OPERATOR_NAME && key("uri") === uri;
  return {
    kind: "ours",
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    revision: held?.revision,
    rotation: held?.rotation,
    facts: tidy ? factsText(facts) : "",
  };
}

/** A new Secret of a CR. */
export function newSecret(
  object: ExternalDatabase,
  name: string,
  facts: ConnectionFacts,
  password: Password,
): NewSecret {
  return {
    metadata: {
      name,
      namespace: object.metadata.namespace,
      labels: { [MANAGED_BY]: OPERATOR_NAME },
      annotations: annotationsOf(password),
      ownerReferences: [ownerReference(object)],
    },
    type: `servicebinding.io/${facts.type}`,
    data: encoded(contents(facts, password.password)),
  };
}

/** What makes a Secret say what it is to say; empty where it does. Keys of others stay. */
export function mend(secret: StoredSecret, facts: ConnectionFacts, password: Password): JsonPatchOperation[] {
  const { metadata } = secret;
  const data = encoded(contents(facts, password.password));
  const writes = [
    ...merged("/data", secret.data, { ...absent(KEYS), ...data }),
    ...merged("/metadata/labels", metadata.labels, { [MANAGED_BY]: OPERATOR_NAME }),
    ...merged("/metadata/annotations", metadata.annotations, {
      ...absent(Object.values(SECRET_ANNOTATION)),
      ...annotationsOf(password),
    }),
  ];
  if (writes.length === 0) return [];
  return [testUid(metadata.uid), testVersion(metadata.resourceVersion), ...writes];
}

const KEYS = ["type", "provider", "host", "port", "database", "username", "password", "uri"];

function absent(names: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

function merged(
  path: string,
  before: Readonly<Record<string, string>> | undefined,
  change: Readonly<Record<string, string | undefined>>,
): JsonPatchOperation[] {
  const after = Object.fromEntries(
    Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined),
  );
  if (equal(before ?? {}, after)) return [];
  if (before === undefined) return [{ op: "add", path, value: after }];
  return Object.entries(change).flatMap(([name, value]): JsonPatchOperation[] => {
    const at = `${path}/${escapePointer(name)}`;
    if (value !== undefined) return before[name] === value ? [] : [{ op: "add", path: at, value }];
    return before[name] === undefined ? [] : [{ op: "remove", path: at }];
  });
}

function contents(facts: ConnectionFacts, password: string): Record<string, string | undefined> {
  return { ...facts, password, uri: uriOf(facts, password) };
}

/** The whole of it as one URI (RFC 3986); `undefined` until every part is known. */
export function uriOf(facts: ConnectionFacts, password: string): string | undefined {
  if (!isComplete(facts)) return undefined;
  const { type, host = "", port, database = "", username = "" } = facts;
  const [user, pass, path] = [username, password, database].map(percentEncoded);
  return `${type}://${user}:${pass}@${host.includes(":") ? `[${host}]` : host}:${port}/${path}`;
}

/** Every character that RFC 3986 reserves is escaped, those that `encodeURIComponent` leaves too. */
function percentEncoded(part: string): string {
  return encodeURIComponent(part).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function annotationsOf({ password, revision, rotation }: Password): Record<string, string> {
  return {
    [SECRET_ANNOTATION.revision]: revision,
    [SECRET_ANNOTATION.checksum]: checksum(password),
    ...(rotation === undefined ? {} : { [SECRET_ANNOTATION.rotation]: rotation }),
  };
}

function ownerReference({ apiVersion, kind, metadata }: ExternalDatabase): OwnerReference {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
}

/** Of a random password of 190 bits: it cannot be guessed from this. */
function checksum(password: string): string {
  return createHash("sha256").update(password).digest("hex");
}

function encoded(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) result[name] = btoa(String.fromCharCode(...new TextEncoder().encode(value)));
  }
  return result;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decode(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  try {
    return UTF8.decode(Uint8Array.fromBase64(value));
  } catch {
    return undefined; // not what we wrote
  }
}
