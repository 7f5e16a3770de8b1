/**
 * A model of the API for classes and their Secrets, in virtual time: what people do is called directly, what the operator
 * does comes through the port.
 *
 * @module
 */
import jsonpatch from "fast-json-patch";
import type { ClassSpec, ExternalDatabaseClass } from "../../src/api/class_schema.ts";
import { IS_DEFAULT_CLASS } from "../../src/api/constants.ts";
import type { ObjectKey } from "../../src/api/schema.ts";
import type { Clock } from "../../src/core/clock.ts";
import { sleep } from "../../src/core/wait.ts";
import type { ClassesPort } from "../../src/kube/class_port.ts";
import { KubeError, type Source, type Watched, type WatchEvent } from "../../src/kube/port.ts";
import type { StoredSecret } from "../../src/kube/secrets_port.ts";

/** Objects of one kind, by key. */
class Store<T extends Watched> {
  readonly #objects = new Map<string, T>();
  readonly #history: { readonly rv: number; readonly event: WatchEvent<T> & { readonly object: T } }[] = [];
  readonly #wakers = new Set<() => void>();
  #rv = 100;

  constructor(private readonly clock: Clock, private readonly fault: () => void) {}

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  put(key: string, make: (rv: string) => T): T {
    const object = make(String(++this.#rv));
    const type = this.#objects.has(key) ? "MODIFIED" : "ADDED";
    this.#objects.set(key, object);
    this.#tell({ type, object });
    return object;
  }

  remove(key: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    this.#rv++;
    this.#tell({
      type: "DELETED",
      object: { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#rv) } },
    });
  }

  source(selects: (key: string) => boolean): Source<T> {
    const answer = async <R>(work: () => R): Promise<R> => {
      await sleep(this.clock, 5);
      this.fault();
      return work();
    };
    return {
      get: ({ namespace, name }) =>
        answer(() => {
          const object = this.#objects.get(`${namespace}/${name}`);
          if (object === undefined) throw new KubeError("notFound", `${name} is not there`);
          return object;
        }),
      list: () =>
        answer(() => ({
          items: [...this.#objects].filter(([key]) => selects(key)).map(([, object]) => object),
          resourceVersion: String(this.#rv),
        })),
      watch: (request) => this.#watch(request, selects),
    };
  }

  async *#watch(
    { resourceVersion, signal, onOpen }: Parameters<Source<T>["watch"]>[0],
    selects: (key: string) => boolean,
  ): AsyncGenerator<WatchEvent<T>> {
    await sleep(this.clock, 5, signal);
    this.fault();
    onOpen?.();
    let seen = Number(resourceVersion);
    while (!signal.aborted) {
      for (const { rv, event } of [...this.#history]) {
        if (rv <= seen) continue;
        seen = rv;
        const { namespace, name } = event.object.metadata;
        if (selects(`${namespace}/${name}`)) yield event;
      }
      let timer: ReturnType<Clock["setTimeout"]> | undefined;
      const more = await new Promise<boolean>((resolve) => {
        const done = (more: boolean) => {
          this.#wakers.delete(wake);
          signal.removeEventListener("abort", onAbort);
          if (timer !== undefined) this.clock.clearTimeout(timer);
          resolve(more);
        };
        const wake = () => void (timer ??= this.clock.setTimeout(() => done(true), 5));
        const onAbort = () => done(false);
        this.#wakers.add(wake);
        signal.addEventListener("abort", onAbort, { once: true });
        if (this.#history.some(({ rv }) => rv > seen)) wake();
      });
      if (!more) return;
    }
  }

  #tell(event: WatchEvent<T> & { readonly object: T }): void {
    this.#history.push({ rv: this.#rv, event });
    for (const wake of [...this.#wakers]) wake();
  }
}

/** The model. */
export class ModelClasses implements ClassesPort {
  readonly #classes: Store<ExternalDatabaseClass>;
  readonly #secrets: Store<StoredSecret>;
  readonly classes: Source<ExternalDatabaseClass>;
  /** Thrown by every request for classes while it is set. */
  fault: KubeError | undefined;
  /** Status patches of the operator, by class. */
  readonly writes: string[] = [];
  /** Secrets that were asked for, as `namespace/name`. */
  readonly followed: string[] = [];
  #uids = 0;

  constructor(private readonly clock: Clock) {
    this.#classes = new Store(clock, () => {
      if (this.fault !== undefined) throw this.fault;
    });
    this.#secrets = new Store(clock, () => {});
    this.classes = this.#classes.source(() => true);
  }

  /** Applies a class: a new one, or the spec of one that is there. */
  apply(name: string, spec: ClassSpec, more: { readonly isDefault?: boolean } = {}): void {
    const before = this.get(name);
    const annotations = more.isDefault === undefined
      ? before?.metadata.annotations
      : { [IS_DEFAULT_CLASS]: String(more.isDefault) };
    this.#classes.put(`/${name}`, (resourceVersion) => ({
      metadata: {
        name,
        namespace: "",
        uid: before?.metadata.uid ?? `class-${++this.#uids}`,
        generation: (before?.metadata.generation ?? 0) + 1,
        creationTimestamp: before?.metadata.creationTimestamp ?? new Date(this.clock.now()).toISOString(),
        ...(annotations === undefined ? {} : { annotations }),
        resourceVersion,
      },
      spec,
      status: before?.status ?? {},
    }));
  }

  get(name: string): ExternalDatabaseClass | undefined {
    return this.#classes.get(`/${name}`);
  }

  remove(name: string): void {
    this.#classes.remove(`/${name}`);
  }

  /** A condition as `status/reason`. */
  condition(name: string, type: "Accepted" | "Ready"): string {
    const c = this.get(name)?.status?.conditions?.find((c) => c.type === type);
    return c === undefined ? "none" : `${c.status}/${c.reason}`;
  }

  /** Writes a Secret. */
  write(namespace: string, name: string, data: Readonly<Record<string, string>>): void {
    this.#secrets.put(`${namespace}/${name}`, (resourceVersion) => ({
      metadata: { namespace, name, uid: `secret-${namespace}-${name}`, resourceVersion },
      data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, btoa(value)])),
    }));
  }

  erase(namespace: string, name: string): void {
    this.#secrets.remove(`${namespace}/${name}`);
  }

  async patchStatus(
    name: string,
    operations: Parameters<ClassesPort["patchStatus"]>[1],
  ): Promise<ExternalDatabaseClass> {
    await sleep(this.clock, 5);
    const before = this.get(name);
    if (before === undefined) throw new KubeError("notFound", `${name} is not there`);
    this.writes.push(name);
    const patched = structuredClone(before);
    jsonpatch.applyPatch(patched, structuredClone([...operations]) as jsonpatch.Operation[], true);
    return this.#classes.put(`/${name}`, (resourceVersion) => ({
      ...patched,
      metadata: { ...before.metadata, resourceVersion },
    }));
  }

  secret(key: ObjectKey): Source<StoredSecret> {
    const wanted = `${key.namespace}/${key.name}`;
    this.followed.push(wanted);
    return this.#secrets.source((k) => k === wanted);
  }
}
