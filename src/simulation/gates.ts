/**
 * The ports of a simulated process, each call of which passes its gate: it may die of it, and hears nothing once dead.
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { LeasePort } from "../kube/lease_port.ts";
import type { JsonPatchOperation, Source, Watched, WatchEvent, WatchRequest } from "../kube/port.ts";
import type { Secrets } from "../kube/secrets_port.ts";
import type { ClassesDeps } from "../operator/classes.ts";
import type { CallOptions, DatabaseProvider } from "../providers/port.ts";

/** A mutating call of a process, from the tick that sends it to its answer or time-out. */
export interface Mutation {
  readonly verb: "create" | "modify" | "delete";
  /** The database's id, or the UID that a create is for. */
  readonly target: string;
  readonly uid: string | undefined;
  /** It changes more than tags. */
  readonly values: boolean;
  /** It sets a password, which no drift policy speaks of. */
  readonly password?: boolean | undefined;
  /** Of a delete: the snapshot that it takes first. */
  readonly finalSnapshot?: string | undefined;
}

/** What stands between a process and the world. */
export interface Gate {
  /** Passes one call on; it is never answered where the process is dead or dies of it. */
  call<T>(what: string, send: () => Promise<T>, of?: "lease"): Promise<T>;
  /** Hands the process something that came from outside: at once, at its waking, or never. */
  resume(hand: () => void): void;
  /** A mutation is sent; the result is called at its end, with the error if it failed. */
  mutation(mutation: Mutation): (error: unknown) => void;
}

/** The Lease. */
export function gatedLease(inner: LeasePort, gate: Gate): LeasePort {
  const call = <T>(what: string, send: () => Promise<T>) => gate.call(`lease ${what}`, send, "lease");
  return {
    get: (signal) => call("get", () => inner.get(signal)),
    create: (write, signal) => call("create", () => inner.create(write, signal)),
    update: (version, write, signal) =>
      call(write.holderIdentity === "" ? "release" : "update", () => inner.update(version, write, signal)),
  };
}

/** Connection Secrets. */
export function gatedSecrets(inner: Secrets, gate: Gate): Secrets {
  return {
    get: (key, o) => gate.call(`kube get Secret ${key.name}`, () => inner.get(key, o)),
    list: (request) => gate.call("kube list Secrets", () => inner.list(request)),
    watch: (request) => gatedWatch(inner, gate, request),
    create: (secret, o) =>
      gate.call(`kube create Secret ${secret.metadata.name}`, () => inner.create(secret, o)),
    patch: (key, operations, o) =>
      gate.call(`kube write Secret ${key.name} ${brief(operations)}`, () => inner.patch(key, operations, o)),
    delete: (key, uid, o) => gate.call(`kube delete Secret ${key.name}`, () => inner.delete(key, uid, o)),
  };
}

/** Classes, their Secrets, and the accounts that they lead to. */
export function gatedClasses(inner: ClassesDeps, gate: Gate): ClassesDeps {
  const { port } = inner;
  const source = <T extends Watched>(what: string, from: Source<T>): Source<T> => ({
    get: (key, o) => gate.call(`kube get ${what} ${key.name}`, () => from.get(key, o)),
    list: (request) => gate.call(`kube list ${what}`, () => from.list(request)),
    watch: (request) => gatedWatch(from, gate, request),
  });
  return {
    ...inner,
    provide: (request, name) => gatedProvider(inner.provide(request, name), gate),
    port: {
      classes: source("classes", port.classes),
      patchStatus: (name, operations, o) =>
        gate.call(`kube patchStatus class ${name}`, () => port.patchStatus(name, operations, o)),
      secret: (key) => source("the Secret of a class", port.secret(key)),
    },
  };
}

/** A watch, whose events come only while the process can hear them. */
export function gatedWatch<T extends Watched>(
  inner: Source<T>,
  gate: Gate,
  request: WatchRequest,
): AsyncIterable<WatchEvent<T>> {
  const { onOpen } = request;
  const opened = () => gate.resume(() => onOpen?.());
  const iterator = inner.watch({ ...request, onOpen: opened })[Symbol.asyncIterator]();
  const next = () =>
    new Promise<IteratorResult<WatchEvent<T>>>((resolve, reject) => {
      iterator.next().then(
        (result) => gate.resume(() => resolve(result)),
        (error: unknown) => gate.resume(() => reject(error)),
      );
    });
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

/** A provider, of whose mutations the gate is told in the tick that sends them. */
export function gatedProvider(inner: DatabaseProvider, gate: Gate): DatabaseProvider {
  const mutate = <T>(
    mutation: Mutation,
    o: CallOptions,
    send: (o: { readonly beforeSend: () => void }) => Promise<T>,
  ): Promise<T> => {
    let end: ((error: unknown) => void) | undefined;
    const beforeSend = () => {
      o.beforeSend?.();
      end = gate.mutation(mutation);
    };
    return gate.call(`cloud ${mutation.verb} ${mutation.target}`, async () => {
      try {
        const value = await send({ beforeSend });
        end?.(undefined);
        return value;
      } catch (error) {
        end?.(error);
        throw error;
      }
    });
  };
  return {
    name: inner.name,
    info: (o) => gate.call("cloud info", () => inner.info(o)),
    get: (id, o) => gate.call(`cloud get ${id}`, () => inner.get(id, o)),
    list: (o) => gate.call(`cloud list ${JSON.stringify(o.tags)}`, () => inner.list(o)),
    create: (request, o) => {
      const uid = request.tags[TAG.uid] ?? "";
      return mutate(
        { verb: "create", target: uid, uid, values: true },
        o,
        (b) => inner.create(request, { ...o, ...b }),
      );
    },
    modify: (id, request, o) => {
      const password = request.password !== undefined;
      const values = request.version !== undefined || request.sizeGb !== undefined || password;
      return mutate(
        { verb: "modify", target: id, uid: undefined, values, password },
        o,
        (b) => inner.modify(id, request, { ...o, ...b }),
      );
    },
    delete: (id, o) =>
      mutate(
        { verb: "delete", target: id, uid: undefined, values: true, finalSnapshot: o.finalSnapshot },
        o,
        (b) => inner.delete(id, { ...o, ...b }),
      ),
  };
}

/** A patch as a trace tells it: the paths that it adds and removes, with the values that say most. */
export function brief(operations: readonly JsonPatchOperation[]): string {
  return operations.filter((o) => o.op !== "test").map((o) =>
    `${o.op === "remove" ? "-" : "+"}${o.path}${
      o.path === "/status/state" || o.path === "/status/providerId" || o.path === "/status/incarnation"
        ? `=${"value" in o ? o.value : undefined}`
        : ""
    }`
  ).join(" ");
}
