/**
 * What every part of one embedded API shares.
 *
 * @module
 */
import type { Clock, TimerId } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import { BUILT_IN } from "./builtin/core.ts";
import { CRD_STORAGE, customResourceDefinitions } from "./builtin/crd.ts";
import { customResources } from "./custom.ts";
import { groupVersion, type Resource } from "./resource.ts";
import type { Store } from "./store.ts";
import { kubeTime } from "./time.ts";
import { jsonEqual, type KubeObject } from "./types.ts";

/** Shared state. */
export class Context {
  readonly registry: Registry;
  readonly #timers = new Set<TimerId>();
  #closed = false;

  constructor(
    readonly store: Store,
    readonly clock: Clock,
    readonly random: Random,
    /** How old what caches show is, in milliseconds. */
    readonly cacheLagMs: number,
    readonly bookmarkIntervalMs: number,
  ) {
    this.registry = new Registry(store);
  }

  /** The present as `metav1.Time`. */
  now(): string {
    return kubeTime(this.clock.now());
  }

  /** A version-4 UUID from the injected randomness. */
  uuid(): string {
    let hex = "";
    while (hex.length < 32) hex += Math.floor(this.random.next() * 0x100000000).toString(16).padStart(8, "0");
    const variant = "89ab"[parseInt(hex[16]!, 16) & 3]!;
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${
      hex.slice(20, 32)
    }`;
  }

  /** Five characters for `generateName`, from the server's alphabet without vowels. */
  suffix(): string {
    const alphabet = "bcdfghjklmnpqrstvwxz2456789";
    return Array.from({ length: 5 }, () => alphabet[Math.floor(this.random.next() * alphabet.length)]).join(
      "",
    );
  }

  /** Calls back after `ms`; never after {@linkcode close}. */
  later(ms: number, fn: () => void): () => void {
    if (this.#closed) return () => {};
    const timer = this.clock.setTimeout(() => {
      this.#timers.delete(timer);
      fn();
    }, ms);
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
      this.clock.clearTimeout(timer);
    };
  }

  /** Cancels every timer. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) this.clock.clearTimeout(timer);
    this.#timers.clear();
  }
}

/** Every resource that is served: the built-in ones and those that CRDs make. */
export class Registry {
  readonly #resources = new Map<string, Resource>();
  readonly #byCrd = new Map<string, Resource[]>();
  readonly #gone = new Set<(storage: string) => void>();

  constructor(store: Store) {
    for (const resource of [...BUILT_IN, customResourceDefinitions]) this.#add(resource);
    store.subscribe((event) => {
      if (event.storage !== CRD_STORAGE) return;
      if (event.type !== "DELETED" && event.previous !== undefined) {
        if (jsonEqual(event.previous["spec"], event.object["spec"])) return;
      }
      this.#replace(event.key, event.type === "DELETED" ? undefined : event.object);
    });
  }

  #add(resource: Resource): void {
    this.#resources.set(`${groupVersion(resource)}/${resource.plural}`, resource);
  }

  #replace(key: string, crd: KubeObject | undefined): void {
    const before = this.#byCrd.get(key) ?? [];
    for (const old of before) this.#resources.delete(`${groupVersion(old)}/${old.plural}`);
    this.#byCrd.delete(key);
    if (crd !== undefined) {
      const made = customResources(crd);
      this.#byCrd.set(key, made);
      for (const resource of made) this.#add(resource);
    }
    // The server tears a custom resource's storage down when its definition changes: watches end, clients reconnect.
    for (const storage of new Set(before.map((resource) => resource.storage))) {
      for (const listener of [...this.#gone]) listener(storage);
    }
  }

  /** The resource of a group version, such as `v1` or `apps/v1`. */
  find(gv: string, plural: string): Resource | undefined {
    return this.#resources.get(`${gv}/${plural}`);
  }

  /** All of them. */
  all(): Resource[] {
    return [...this.#resources.values()];
  }

  /** Whether anything is served under a group version. */
  has(gv: string): boolean {
    return this.all().some((resource) => groupVersion(resource) === gv);
  }

  /** One resource of a storage, for work that is not a request. */
  ofStorage(storage: string): Resource | undefined {
    return this.all().find((resource) => resource.storage === storage);
  }

  /** Calls the listener when a kind's storage is torn down, until the returned function is called. */
  onTeardown(listener: (storage: string) => void): () => void {
    this.#gone.add(listener);
    return () => this.#gone.delete(listener);
  }
}
