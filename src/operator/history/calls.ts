/**
 * The calls that an actor's effects make, to the cloud and to Kubernetes, as the history keeps them: raw, few, and
 * without a secret.
 *
 * An effect is known by its `AbortSignal`: XState makes one for each, and every call is given it.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/text.ts";
import { type Cluster, type JsonPatchOperation, KubeError } from "../../kube/port.ts";
import type { Secrets } from "../../kube/secrets_port.ts";
import type { CreateRequest, ModifyRequest } from "../../providers/port.ts";
import type { Failed } from "./failure.ts";
import { messageKept, shared } from "./intern.ts";

/** Calls of one effect that are kept; an effect makes a handful. */
export const MAX_CALLS = 12;

/** What a call was about, or what it brought, as facts; words are made of them on request. */
export type CallFact =
  | { readonly kind: "error"; readonly message: string }
  | { readonly kind: "names"; readonly names: readonly string[] }
  | {
    readonly kind: "wanted";
    readonly engine: string | undefined;
    readonly version: string | undefined;
    readonly sizeGb: number | undefined;
    readonly deletionProtection: boolean | undefined;
    /** That one was sent, never which. */
    readonly password: boolean;
    readonly tags: readonly string[];
  }
  | { readonly kind: "database"; readonly state: string }
  | { readonly kind: "count"; readonly count: number };

/** One call. Times are wall times in milliseconds. */
export interface Call {
  readonly to: "cloud" | "kubernetes";
  readonly verb: string;
  /** `ok`, `notSent`, or the class of the error. */
  readonly outcome: string;
  readonly at: number;
  readonly durationMs: number;
  readonly fact: CallFact | undefined;
}

/** A call as the way to the provider tells of it. Times are monotonic milliseconds. */
export interface CloudCall {
  /** Of the effect that made it. */
  readonly signal: AbortSignal;
  readonly verb: string;
  readonly outcome: string;
  readonly sentAt: number;
  /** What was asked for, for `create` and `modify`. */
  readonly request?: CreateRequest | ModifyRequest | undefined;
  /** What a change was about. */
  readonly error?: unknown;
  readonly answer?: unknown;
}

/** The calls of the effects that run. */
export class CallBook {
  readonly #effects = new WeakMap<AbortSignal, Call[]>();

  /** `failed`: told where a call cannot be noted. */
  constructor(private readonly clock: Clock, private readonly failed: Failed) {}

  /** An effect begins; its calls come to the list that is returned, also those that end after it. */
  begin(signal: AbortSignal): readonly Call[] {
    const calls: Call[] = [];
    this.#effects.set(signal, calls);
    return calls;
  }

  /** Notes a call to the cloud; one that no effect made, such as a list for all, is not kept. */
  cloud({ signal, verb, outcome, sentAt, request, error, answer }: CloudCall): void {
    const calls = this.#room(signal);
    if (calls === undefined) return;
    const fact = error === undefined
      ? request === undefined ? brought(answer) : wanted(request)
      : { kind: "error" as const, message: messageKept(messageOf(error)) };
    calls.push(this.#call("cloud", verb, outcome, sentAt, fact));
  }

  /** Does a request to Kubernetes and notes it. */
  async kubernetes<T>(
    signal: AbortSignal,
    verb: string,
    fact: CallFact | undefined,
    request: () => Promise<T>,
  ): Promise<T> {
    if (this.#room(signal) === undefined) return await request();
    const sentAt = this.clock.monotonic();
    const note = (outcome: string, fact: CallFact | undefined) => {
      try {
        this.#room(signal)?.push(this.#call("kubernetes", verb, outcome, sentAt, fact));
      } catch (error) {
        this.failed(error);
      }
    };
    let answer: T;
    try {
      answer = await request();
    } catch (error) {
      const outcome = error instanceof KubeError ? error.kind : "failed";
      note(outcome, { kind: "error", message: messageKept(messageOf(error)) });
      throw error;
    }
    note("ok", fact); // a call that was done is done, whether or not it can be noted
    return answer;
  }

  #room(signal: AbortSignal): Call[] | undefined {
    const calls = this.#effects.get(signal);
    return calls === undefined || calls.length >= MAX_CALLS ? undefined : calls;
  }

  #call(to: Call["to"], verb: string, outcome: string, sentAt: number, fact: CallFact | undefined): Call {
    const took = this.clock.monotonic() - sentAt;
    return {
      to,
      verb,
      outcome,
      at: Math.round(this.clock.now() - took),
      durationMs: Math.round(took),
      fact,
    };
  }
}

const NONE: readonly string[] = [];

function wanted(request: CreateRequest | ModifyRequest): CallFact {
  const { version, sizeGb, tags, password, deletionProtection } = request;
  return {
    kind: "wanted",
    engine: "engine" in request ? request.engine : undefined,
    version,
    sizeGb,
    deletionProtection,
    password: password !== undefined,
    tags: "engine" in request || tags === undefined ? NONE : Object.keys(tags),
  };
}

function brought(answer: unknown): CallFact | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const { providerState, items } = answer as Readonly<Record<string, unknown>>;
  if (Array.isArray(items)) return { kind: "count", count: items.length };
  return typeof providerState === "string" ? inState(providerState, "") : undefined;
}

const inState = shared((state): CallFact => ({ kind: "database", state }));

/** The cluster whose single reads and writes are noted; lists and watches are nobody's in particular. */
export function recordedCluster(cluster: Cluster, book: CallBook | undefined): Cluster {
  if (book === undefined) return cluster;
  return {
    get: (key, options) => book.kubernetes(options.signal, "get", undefined, () => cluster.get(key, options)),
    patch: (key, operations, options) =>
      book.kubernetes(
        options.signal,
        "patch",
        written(operations),
        () => cluster.patch(key, operations, options),
      ),
    patchStatus: (key, operations, options) =>
      book.kubernetes(
        options.signal,
        "patchStatus",
        written(operations),
        () => cluster.patchStatus(key, operations, options),
      ),
    list: (request) => cluster.list(request),
    watch: (request) => cluster.watch(request),
    crdState: (options) => cluster.crdState(options),
    clusterId: (options) => cluster.clusterId(options),
  };
}

/** The same for Secrets, of which the name alone is kept. */
export function recordedSecrets(
  secrets: Secrets | undefined,
  book: CallBook | undefined,
): Secrets | undefined {
  if (secrets === undefined || book === undefined) return secrets;
  return {
    get: (key, options) =>
      book.kubernetes(options.signal, "getSecret", named(key.name), () => secrets.get(key, options)),
    create: (secret, options) =>
      book.kubernetes(
        options.signal,
        "createSecret",
        named(secret.metadata.name),
        () => secrets.create(secret, options),
      ),
    patch: (key, operations, options) =>
      book.kubernetes(
        options.signal,
        "patchSecret",
        named(key.name),
        () => secrets.patch(key, operations, options),
      ),
    delete: (key, uid, options) =>
      book.kubernetes(
        options.signal,
        "deleteSecret",
        named(key.name),
        () => secrets.delete(key, uid, options),
      ),
    list: (request) => secrets.list(request),
    watch: (request) => secrets.watch(request),
  };
}

/** The paths that a patch writes; what it tests is no news, and values are not kept. */
function written(operations: readonly JsonPatchOperation[]): CallFact {
  let paths = "";
  for (const { op, path } of operations) if (op !== "test") paths += paths === "" ? path : ` ${path}`;
  return ofPaths(paths, "");
}

const ofPaths = shared((paths): CallFact => ({ kind: "names", names: paths.split(" ") }));

function named(name: string): CallFact {
  return { kind: "names", names: [name] };
}
