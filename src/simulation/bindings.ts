/**
 * What holds of connection Secrets, judged by the books of cluster and cloud: none of another's is ever written (K2), who
 * is called ready can log in (K4), no password is told to anybody, and in the end every Secret works (K1).
 *
 * @module
 */
import type { Condition, ExternalDatabase } from "../api/schema.ts";
import { type ConnectionFacts, factsOf } from "../binding/facts.ts";
import { ownerUid, passwordOf, uriOf } from "../binding/secret.ts";
import type { StoredSecret } from "../kube/secrets_port.ts";
import { accessOf } from "../providers/access.ts";
import { secretName } from "../statechart/binding.ts";
import { isAdopted, isObserveOnly } from "../statechart/facts.ts";
import type { Change } from "./kube_store.ts";
import type { SecretChange } from "./secret_store.ts";
import type { World } from "./world.ts";

/** Whether a resource is to have a connection Secret. */
export function asksForSecret({ cloud }: World, object: ExternalDatabase): boolean {
  if (isObserveOnly(object)) return false;
  if (object.spec.connectionSecretRef !== undefined) return true;
  return !isAdopted(object) && cloud.settings.describesItself && cloud.settings.passwords === "always";
}

/** Why nobody can log in by the connection Secret of a resource. */
export function secretProblem(world: World, object: ExternalDatabase): string | undefined {
  const { namespace, uid } = object.metadata;
  const name = secretName(object) ?? "";
  const secret = world.kube.secrets.find({ namespace, name });
  if (secret === undefined) return `there is no Secret ${name}`;
  if (ownerUid(secret) !== uid) return `the Secret ${name} is another's`;
  const held = passwordOf(secret);
  if (held === undefined) return `the password in the Secret ${name} is damaged`;
  const record = world.cloud.get(object.status?.providerId ?? "");
  if (record === undefined) return undefined; // said elsewhere
  const facts: ConnectionFacts = factsOf("simulated", record.engine, {
    access: accessOf(record.engine, record.name),
    endpoint: record.endpoint ?? undefined,
  });
  const is = text(secret);
  const wanted = { ...facts, password: held.password, uri: uriOf(facts, held.password) };
  for (const [key, value] of Object.entries(wanted)) {
    if (is[key] !== value) return `the Secret ${name} has another ${key}`;
  }
  return world.cloud.loginWorks(record.id, held.password)
    ? undefined
    : `the password in the Secret ${name} does not log in`;
}

function text({ data = {} }: StoredSecret): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, atob(value)]));
}

/** A watch of Secrets may be silent, or refused for a spell, before what was done to one is heard of, in milliseconds. */
const SILENCE_MS = 600_000;

/** Watches a world. */
export class BindingJudge {
  /** Every password that a Secret ever held. */
  readonly #passwords = new Set<string>();
  /** When a user, or a restored cluster, last changed the Secret of a name. */
  readonly #harmed = new Map<string, number>();

  constructor(
    private readonly world: World,
    private readonly fail: (oracle: string, what: string) => void,
    /** Whether a resource or its database was changed behind the operator's back lately. */
    private readonly lately: (object: ExternalDatabase) => boolean,
    private readonly noticeMs: number,
  ) {
    world.kube.secrets.listen((change) => this.#onSecret(change));
    world.store.listen((change) => this.#onResource(change));
  }

  /** The cluster went back to where these Secrets were otherwise. */
  restored(names: readonly string[]): void {
    for (const name of names) this.#harmed.set(name, this.world.clock.monotonic());
  }

  /** Something that people read. */
  told(what: string, words: () => string): void {
    if (this.#passwords.size === 0) return;
    const said = words();
    for (const password of this.#passwords) {
      if (said.includes(password)) return this.fail("password", `${what} tells a password`);
    }
  }

  #onSecret({ object, before, by, type }: SecretChange): void {
    const { name } = object.metadata;
    if (by === "user" || by === "collector") {
      this.#harmed.set(name, this.world.clock.monotonic());
      return;
    }
    const password = object.data?.["password"];
    if (password !== undefined) this.#passwords.add(atob(password));
    if (before !== undefined && ownerUid(before) === undefined) {
      this.fail(
        "K2",
        `${by} ${type === "DELETED" ? "deleted" : "wrote over"} the Secret ${name}, which is foreign`,
      );
    }
    if (before !== undefined && ownerUid(before) !== ownerUid(object)) {
      this.fail("K2", `${by} took the Secret ${name} from another resource`);
    }
    if (ownerUid(object) === undefined) this.fail("K2", `${by} wrote the Secret ${name} without an owner`);
  }

  #onResource({ object, before, by, type }: Change): void {
    if (by === "user" || type === "DELETED") return;
    this.told(`the status of ${object.metadata.name}`, () => JSON.stringify(object));
    const ready = readyOf(object);
    if (ready === undefined || (before !== undefined && readyOf(before) !== undefined)) return;
    // It speaks of the spec as it was, which may have asked for none: the edit was not heard yet.
    if (ready.observedGeneration !== object.metadata.generation) return;
    if (!asksForSecret(this.world, object) || this.lately(object)) return;
    const harmed = this.#harmed.get(secretName(object) ?? "") ?? Number.NEGATIVE_INFINITY;
    if (this.world.clock.monotonic() - harmed < this.noticeMs + SILENCE_MS) return;
    // A database whose storage is full says so whatever it is at: nobody can see that its password is still changing.
    if (this.world.cloud.get(object.status?.providerId ?? "")?.word !== undefined) return;
    const problem = secretProblem(this.world, object);
    if (problem !== undefined) {
      this.fail("K4", `${by} says that ${object.metadata.name} is ready, but ${problem}`);
    }
  }
}

/** The condition that calls it ready. */
function readyOf({ status }: ExternalDatabase): Condition | undefined {
  return status?.conditions?.find((c) => c.type === "Ready" && c.status === "True");
}
