/**
 * One class at work: its provider made from what it says and from its Secret, its site started, tuned and stopped.
 *
 * A class that is gone, or cannot be used, stops its site: nothing is begun or changed there any more. What is under way
 * ends by itself, and what was known of the account stays, so that a class that comes back goes on where it was.
 *
 * @module
 */
import type { ExternalDatabaseClass } from "../api/class_schema.ts";
import { parseDuration } from "../api/duration.ts";
import type { ObjectKey } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import { equal } from "../core/equal.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { sleep } from "../core/wait.ts";
import type { ClassesPort } from "../kube/class_port.ts";
import { Reflector, type ReflectorOptions } from "../kube/reflector.ts";
import { secretTexts, type StoredSecret } from "../kube/secrets_port.ts";
import type { ClassRequest } from "../providers/from_class.ts";
import { createNoProvider } from "../providers/none.ts";
import type { DatabaseProvider } from "../providers/port.ts";
import type { ClassFacts } from "./class_status.ts";
import type { ProviderSite, SiteTuning } from "./site.ts";

/** What a {@linkcode ClassSite} takes. */
export interface ClassSiteOptions {
  readonly name: string;
  readonly makeSite: (provider: DatabaseProvider) => ProviderSite;
  /** Makes the provider; throws an Error that names the field at fault. */
  readonly provide: (request: ClassRequest, name: string) => DatabaseProvider;
  readonly port: Pick<ClassesPort, "secret">;
  /** Where a Secret is when the class does not say. */
  readonly ownNamespace: string;
  /** What holds where the class says nothing. */
  readonly tuning: SiteTuning;
  readonly callTimeoutMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly reflector?: Partial<ReflectorOptions<StoredSecret>> | undefined;
  /** Told when its resources must decide anew. */
  readonly onChange: () => void;
}

/** What is known of a class's Secret: whether it was heard of, and what it holds. */
interface SecretWatch {
  readonly key: ObjectKey;
  readonly reflector: Reflector<StoredSecret>;
  readonly abort: AbortController;
  heard: boolean;
  data: Readonly<Record<string, string>> | undefined;
}

/** One class. */
export class ClassSite {
  readonly name: string;
  readonly site: ProviderSite;
  readonly #o: ClassSiteOptions;
  #object: ExternalDatabaseClass | undefined;
  #refused: string | undefined;
  #secret: SecretWatch | undefined;
  #provider: DatabaseProvider | undefined;
  #running: { readonly abort: AbortController; readonly done: Promise<unknown> } | undefined;
  /** The operator's own end; sites run only between {@linkcode begin} and that. */
  #signal: AbortSignal | undefined;
  #rotatedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ClassSiteOptions) {
    this.#o = options;
    this.name = options.name;
    this.site = options.makeSite(
      createNoProvider(`The ExternalDatabaseClass "${options.name}" is not there`),
    );
  }

  /** The class as the cluster has it; `undefined` when it is not there. */
  get object(): ExternalDatabaseClass | undefined {
    return this.#object;
  }

  /** Why nothing can be begun under it. */
  get missing(): string | undefined {
    if (this.#object === undefined) return `the ExternalDatabaseClass "${this.name}" is not there`;
    if (this.#refused === undefined) return undefined;
    return `the ExternalDatabaseClass "${this.name}" cannot be used: ${this.#refused}`;
  }

  /** When its credentials changed last, monotonic milliseconds. */
  get credentialsAt(): number {
    return this.#rotatedAt;
  }

  /** Nothing runs for it. */
  get idle(): boolean {
    return this.#object === undefined && this.#running === undefined &&
      this.site.gateway.mutationsInFlight === 0;
  }

  /** From now on it may run, until the signal aborts. */
  begin(signal: AbortSignal): void {
    this.#signal = signal;
    if (this.#secret !== undefined) this.#watch(this.#secret);
    this.#update();
  }

  /** Closes it, and resolves once all that ran has ended: after the signal aborted, or when nothing runs for it any more. */
  async ended(): Promise<void> {
    await this.#running?.done;
    await this.#provider?.close?.().catch(() => {}); // what it held goes with the process
  }

  /** The class is new, changed, or gone. */
  take(object: ExternalDatabaseClass | undefined): void {
    const before = this.#object;
    this.#object = object;
    const spec = object?.spec;
    if (!equal(spec?.credentialsSecretRef, before?.spec.credentialsSecretRef)) {
      this.#follow(spec?.credentialsSecretRef);
    }
    if (spec !== undefined) this.site.tune(this.#tuning(spec));
    const remade = object !== undefined && (before === undefined || this.#provider === undefined ||
      before.metadata.uid !== object.metadata.uid || !equal(before.spec.parameters, object.spec.parameters) ||
      (before.spec.credentialsSecretRef === undefined) !== (object.spec.credentialsSecretRef === undefined));
    if (remade) this.#remake(object);
    const period = spec?.defaults?.pollInterval;
    if (period !== before?.spec.defaults?.pollInterval) this.#stop(); // and begins anew with the other period
    this.#update();
    this.#o.onChange();
  }

  /** What its status is to say. */
  facts(defaults: Pick<ClassFacts, "isDefault" | "newerDefault">): ClassFacts {
    const { info, error, errorClass } = this.site.account;
    return {
      ...defaults,
      refused: this.#refused,
      credentials: this.#secretProblem(),
      account: info && { name: info.account },
      error: error === undefined ? undefined : { message: error, errorClass },
    };
  }

  #tuning({ defaults, rateLimit }: ExternalDatabaseClass["spec"]): SiteTuning {
    const { tuning } = this.#o;
    return {
      periodMs: defaults?.pollInterval === undefined ? tuning.periodMs : parseDuration(defaults.pollInterval),
      concurrency: rateLimit?.concurrency ?? tuning.concurrency,
      ratePerSecond: rateLimit?.perSecond ?? tuning.ratePerSecond,
    };
  }

  #remake({ spec }: ExternalDatabaseClass): void {
    const { provide, log } = this.#o;
    try {
      const provider = provide({
        provider: spec.provider,
        parameters: spec.parameters ?? {},
        credentials: spec.credentialsSecretRef && (() => this.#credentials()),
      }, this.name);
      this.#refused = undefined;
      const before = this.#provider;
      this.#provider = provider;
      this.site.replace(provider);
      if (before !== undefined) void this.#closeLater(before);
      this.#stop();
    } catch (error) {
      this.#refused = messageOf(error);
      log.log("warn", "A class cannot be used", { databaseClass: this.name, error: this.#refused });
    }
  }

  /** A provider that was replaced still answers what it was sent. */
  async #closeLater(provider: DatabaseProvider): Promise<void> {
    const { clock, callTimeoutMs, log } = this.#o;
    try {
      await sleep(clock, 2 * callTimeoutMs, this.#signal).catch(() => {}); // at the end at once
      await provider.close?.();
    } catch (error) {
      log.log("warn", "Failed to close a provider that was replaced", {
        databaseClass: this.name,
        error: messageOf(error),
      });
    }
  }

  /** Starts or stops the site, as is due. */
  #update(): void {
    const { missing } = this;
    this.site.barred = missing;
    const due = this.#signal !== undefined && !this.#signal.aborted && missing === undefined &&
      (this.#secret === undefined || this.#secret.heard);
    if (!due) return this.#stop();
    if (this.#running !== undefined || this.#signal === undefined) return;
    const abort = new AbortController();
    const signal = AbortSignal.any([this.#signal, abort.signal]);
    this.#running = { abort, done: Promise.allSettled([this.site.run(signal)]) };
  }

  #stop(): void {
    this.#running?.abort.abort(new Error("The class has changed"));
    this.#running = undefined;
  }

  #follow(ref: ExternalDatabaseClass["spec"]["credentialsSecretRef"]): void {
    this.#secret?.abort.abort(new Error("The class names another Secret"));
    this.#secret = undefined;
    if (ref === undefined) return;
    const { port, clock, random, log, metrics, ownNamespace, reflector } = this.#o;
    const key = { namespace: ref.namespace ?? ownNamespace, name: ref.name };
    const take = (data: StoredSecret["data"] | undefined) => {
      if (equal(watch.data, data)) return;
      watch.data = data;
      if (watch.heard) this.#rotated(watch);
    };
    const watch: SecretWatch = {
      key,
      abort: new AbortController(),
      heard: false,
      data: undefined,
      reflector: new Reflector<StoredSecret>({
        ...reflector,
        cluster: port.secret(key),
        what: `the Secret of the class "${this.name}"`,
        clock,
        random,
        log,
        metrics,
        handler: {
          onUpsert: (secret) => take(secret.data),
          onGone: () => take(undefined),
          onSynced: () => {
            watch.heard = true;
            this.#rotated(watch);
          },
        },
      }),
    };
    this.#secret = watch;
    if (this.#signal !== undefined) this.#watch(watch);
  }

  #watch(watch: SecretWatch): void {
    if (this.#signal === undefined) return;
    void watch.reflector.run(AbortSignal.any([this.#signal, watch.abort.signal]));
  }

  /** The Secret's word came, or another one: what was refused or missing is tried at once. */
  #rotated(watch: SecretWatch): void {
    if (watch !== this.#secret) return;
    this.#o.log.log("info", "The credentials of a class were read", {
      databaseClass: this.name,
      secret: `${watch.key.namespace}/${watch.key.name}`,
      there: watch.data !== undefined,
    });
    this.#rotatedAt = this.#o.clock.monotonic();
    this.#stop(); // no back-off is to keep good ones waiting
    this.#update();
    this.#o.onChange();
  }

  /** A Secret that cannot be read is told by the account that then has no credentials. */
  tick(): void {
    const watch = this.#secret;
    if (watch === undefined || watch.heard || watch.reflector.failure === undefined) return;
    watch.heard = true;
    this.#update();
  }

  #secretProblem(): string | undefined {
    const watch = this.#secret;
    if (watch === undefined || watch.data !== undefined) return undefined;
    const name = `The Secret ${watch.key.namespace}/${watch.key.name}`;
    if (watch.reflector.synced) return `${name} is not there`;
    const { failure } = watch.reflector;
    return failure === undefined ? undefined : `${name} cannot be read: ${failure}`;
  }

  // deno-lint-ignore require-await -- what it throws is to be a rejection
  async #credentials(): Promise<Readonly<Record<string, string>>> {
    const problem = this.#secretProblem();
    const data = this.#secret?.data;
    if (data === undefined) throw new Error(problem ?? "The class's Secret has not been read yet");
    return secretTexts(data);
  }
}
