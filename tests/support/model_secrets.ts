/**
 * The cluster's Secrets at the operator's port: no lag, and faults where a test asks for them.
 *
 * @module
 */
import type { Clock } from "../../src/core/clock.ts";
import type { Secrets, StoredSecret } from "../../src/kube/secrets_port.ts";
import { type Shelf, Watch } from "../../src/simulation/kube_watch.ts";
import { isLabelled, labelled, SecretStore } from "../../src/simulation/secret_store.ts";

/** One request, for faults. */
export interface SecretCall {
  readonly verb: "get" | "list" | "create" | "patch" | "delete";
  readonly name: string | undefined;
  readonly phase: "before" | "after";
}

/** The model. What users do is called on its store directly. */
export class ModelSecrets {
  readonly store: SecretStore;
  /** Requests, as `verb name`. */
  readonly calls: string[] = [];
  /** May throw to fail a call, before or after its effect. */
  fault: (call: SecretCall) => void = () => {};

  constructor(private readonly clock: Clock, lives: (uid: string) => boolean) {
    this.store = new SecretStore(clock, lives);
  }

  /** What a client would be told, decoded; `undefined` where there is no such Secret. */
  read(name: string): Record<string, string> | undefined {
    const secret = this.store.find({ namespace: "default", name });
    if (secret === undefined) return undefined;
    return Object.fromEntries(Object.entries(secret.data ?? {}).map(([k, v]) => [k, atob(v)]));
  }

  /** The operator's port. */
  get port(): Secrets {
    const { store, clock } = this;
    // deno-lint-ignore require-await -- what a fault throws is to be a rejection
    const call = async <T>(
      verb: SecretCall["verb"],
      name: string | undefined,
      effect: () => T,
    ): Promise<T> => {
      this.calls.push(`${verb} ${name ?? "*"}`);
      this.fault({ verb, name, phase: "before" });
      const value = effect();
      this.fault({ verb, name, phase: "after" });
      return value;
    };
    const shelf: Shelf<StoredSecret> = {
      get rv() {
        return store.rv;
      },
      compactedTo: 0,
      all: () => store.all().filter(isLabelled),
      asOf: (rv) => store.asOf(rv).filter(isLabelled),
      versionAt: (at) => store.versionAt(at),
      since: (rv) => store.since(rv).flatMap((c) => labelled(c) ?? []),
      listen: (listener) =>
        store.listen((change) => {
          const shown = labelled(change);
          if (shown !== undefined) listener(shown);
        }),
    };
    return {
      get: (key) => call("get", key.name, () => store.get(key)),
      list: () => call("list", undefined, () => ({ items: shelf.all(), resourceVersion: String(store.rv) })),
      watch: ({ resourceVersion, timeoutSeconds, signal, onOpen }) => {
        const watch = new Watch<StoredSecret>({
          store: shelf,
          clock,
          namespace: undefined,
          from: Number(resourceVersion),
          timeoutMs: timeoutSeconds * 1_000,
          lag: () => 0,
        });
        signal.addEventListener("abort", () => watch.close(signal.reason), { once: true });
        onOpen?.();
        return { [Symbol.asyncIterator]: () => watch };
      },
      create: (secret) => call("create", secret.metadata.name, () => store.create(secret, "operator")),
      patch: (key, operations) => call("patch", key.name, () => store.patch(key, operations, "operator")),
      delete: (key, uid) => call("delete", key.name, () => store.delete(key, uid, "operator")),
    };
  }
}
