/**
 * Follows the connection Secrets of all resources, and tells their actors what changed. What a Secret holds is reduced
 * to what an actor may know as it arrives: no password is kept.
 *
 * @module
 */
import { ownerUid, seenOf } from "../binding/secret.ts";
import type { SecretSeen } from "../binding/facts.ts";
import type { Source, Watched, WatchEvent } from "../kube/port.ts";
import { Reflector, type ReflectorOptions } from "../kube/reflector.ts";
import type { Secrets, StoredSecret } from "../kube/secrets_port.ts";
import type { DatabaseEvent } from "../statechart/events.ts";

/** A Secret without what it holds. */
interface Summary extends Watched {
  readonly spec: {
    readonly owner: string | undefined;
    readonly seen: SecretSeen & { readonly kind: "ours" };
  };
}

/** An event about the connection Secret of a resource. */
export type BindingEvent = DatabaseEvent & { readonly type: "binding.changed" };

/** What a {@linkcode BindingWatch} takes. */
export interface BindingWatchOptions
  extends Omit<ReflectorOptions<Summary>, "cluster" | "handler" | "held" | "what"> {
  /** Absent: this operator was given no way to Secrets. */
  readonly secrets: Secrets | undefined;
  /** A Secret of the resource of this UID changed. */
  readonly onChange: (uid: string, event: BindingEvent) => void;
  /** Those of a namespace, or all, are listed: those that are not known are not there. */
  readonly onListed: (namespace: string | undefined) => void;
}

/** Watches once a resource asks for a Secret; a cluster in which none does is spared. */
export class BindingWatch {
  readonly #secrets = new Map<string, Map<string, SecretSeen>>();
  readonly #owners = new Map<string, string>();
  readonly #reflector: Reflector<Summary> | undefined;
  readonly #asked = Promise.withResolvers<void>();

  constructor(options: BindingWatchOptions) {
    const { secrets, onChange, onListed, ...rest } = options;
    if (secrets === undefined) return;
    this.#reflector = new Reflector<Summary>({
      ...rest,
      cluster: summaries(secrets),
      what: "the connection Secrets",
      handler: {
        onUpsert: ({ metadata: { uid }, spec: { owner, seen } }, lost) => {
          const before = this.#owners.get(uid);
          if (before !== undefined && before !== owner) {
            this.#forget(before, uid);
            onChange(before, { type: "binding.changed", gone: uid });
          }
          if (owner === undefined) return;
          this.#owners.set(uid, owner);
          const known = this.#secrets.get(owner) ?? new Map<string, SecretSeen>();
          this.#secrets.set(owner, known.set(uid, seen));
          onChange(owner, { type: "binding.changed", secret: seen, rewound: lost !== undefined });
        },
        onGone: ({ metadata: { uid }, spec: { owner } }) => {
          if (owner === undefined) return;
          this.#forget(owner, uid);
          onChange(owner, { type: "binding.changed", gone: uid });
        },
        onSynced: () => onListed(undefined),
        onListed,
      },
    });
  }

  /** All Secrets are listed. */
  get listed(): boolean {
    return this.#reflector?.synced ?? false;
  }

  /** The Secrets of the resource of this UID, as last seen. */
  of(uid: string): readonly SecretSeen[] {
    return [...this.#secrets.get(uid)?.values() ?? []];
  }

  /** A resource asks for a Secret, or has one. */
  ask(): void {
    this.#asked.resolve();
  }

  /** Watches from the first {@linkcode ask} until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const onAbort = () => ended.resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    await Promise.race([this.#asked.promise, ended.promise]);
    signal.removeEventListener("abort", onAbort);
    if (!signal.aborted) await this.#reflector?.run(signal);
  }

  #forget(owner: string, uid: string): void {
    this.#owners.delete(uid);
    const known = this.#secrets.get(owner);
    known?.delete(uid);
    if (known?.size === 0) this.#secrets.delete(owner);
  }
}

/** Secrets as what may be known of them. */
function summaries(secrets: Secrets): Source<Summary> {
  return {
    get: async (key, options) => summaryOf(await secrets.get(key, options)),
    list: async (request) => {
      const { items, ...page } = await secrets.list(request);
      return { ...page, items: items.map(summaryOf) };
    },
    watch: (request) => summarised(secrets.watch(request)),
  };
}

/** By hand: a generator would hold its end back until the event that it waits for has come. */
function summarised(events: AsyncIterable<WatchEvent<StoredSecret>>): AsyncIterable<WatchEvent<Summary>> {
  return {
    [Symbol.asyncIterator]() {
      const inner = events[Symbol.asyncIterator]();
      return {
        async next(): Promise<IteratorResult<WatchEvent<Summary>>> {
          const next = await inner.next();
          if (next.done) return next;
          const event = next.value;
          return {
            done: false,
            value: event.type === "BOOKMARK" ? event : { ...event, object: summaryOf(event.object) },
          };
        },
      };
    },
  };
}

function summaryOf(secret: StoredSecret): Summary {
  const { name, namespace, uid, resourceVersion } = secret.metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion },
    spec: { owner: ownerUid(secret), seen: seenOf(secret) },
  };
}
