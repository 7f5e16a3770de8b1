/**
 * The provider accounts that a plan looks at: that of the flags, and those of the classes that its resources are of.
 *
 * @module
 */
import type { ExternalDatabaseClass } from "../api/class_schema.ts";
import { IS_DEFAULT_CLASS } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import { noMetrics } from "../core/metrics.ts";
import { messageOf } from "../core/text.ts";
import type { ClassesPort } from "../kube/class_port.ts";
import { KubeError } from "../kube/port.ts";
import { AbsenceLedger } from "../operator/absences.ts";
import { ProviderGateway } from "../operator/gateway.ts";
import { Scheduler } from "../operator/scheduler.ts";
import { secretTexts } from "../kube/secrets_port.ts";
import type { ClassRequest } from "../providers/from_class.ts";
import { type DatabaseProvider, ProviderError, type ProviderInfo } from "../providers/port.ts";
import { classNameOf, type ClassView } from "../statechart/class_view.ts";
import { ForecastProvider } from "./forecast_provider.ts";
import type { PlannedAction } from "./types.ts";

/** One account. */
export interface Account {
  readonly provider: ForecastProvider;
  readonly gateway: ProviderGateway;
  readonly absences: AbsenceLedger;
  /** What it said of itself, or why it did not. */
  readonly info: ProviderInfo | undefined;
  readonly error: ProviderError | undefined;
  /** Databases that ought to be there, of the resources that are planned (rule 12). */
  known: number;
  /** Ends the real provider. */
  close(): Promise<void>;
}

/** What {@linkcode Accounts} takes. */
export interface AccountsOptions {
  readonly clock: Clock;
  readonly provider: DatabaseProvider;
  /** Makes the provider of a class; throws an Error that names the field at fault. */
  readonly provide: (request: ClassRequest) => DatabaseProvider;
  /** Absent: there are no classes. */
  readonly classes?: ClassesPort | undefined;
  /** Where a class's Secret is when the class does not say. */
  readonly ownNamespace: string;
  readonly callTimeoutMs: number;
  readonly concurrency: number;
  readonly ratePerSecond: number;
  readonly clusterId: string;
  readonly tell: (action: PlannedAction) => void;
  readonly signal: AbortSignal;
}

/** Objects a page of a list of the cluster. */
const PAGE = 500;

/** The accounts of one plan. */
export class Accounts {
  readonly #o: AccountsOptions;
  readonly #classes = new Map<string, ExternalDatabaseClass>();
  readonly #accounts = new Map<string, Promise<Account | string>>();
  #default: string | undefined;

  constructor(options: AccountsOptions) {
    this.#o = options;
  }

  /** Reads the classes. A cluster without their CRD has none. */
  async readClasses(): Promise<void> {
    const { classes, signal } = this.#o;
    if (classes === undefined) return;
    let continueToken: string | undefined;
    try {
      do {
        const page = await classes.classes.list({ signal, limit: PAGE, continueToken });
        for (const each of page.items) this.#classes.set(each.metadata.name, each);
        continueToken = page.continueToken;
      } while (continueToken !== undefined);
    } catch (error) {
      if (!(error instanceof KubeError) || error.kind !== "notFound") throw error;
    }
    const marked = [...this.#classes.values()].filter((c) =>
      c.metadata.annotations?.[IS_DEFAULT_CLASS] === "true"
    );
    // The newest, as for StorageClass.
    this.#default = marked.toSorted((a, b) =>
      (b.metadata.creationTimestamp ?? "").localeCompare(a.metadata.creationTimestamp ?? "") ||
      a.metadata.name.localeCompare(b.metadata.name)
    )[0]?.metadata.name;
  }

  /** The class of a resource; "" is the account of the flags. */
  classNameOf(object: ExternalDatabase): string {
    return classNameOf(object, this.#default);
  }

  /** The account of a resource, and what its class says. */
  async of(
    object: ExternalDatabase,
  ): Promise<{ readonly account: Account; readonly class: ClassView | undefined }> {
    const name = this.classNameOf(object);
    const flags = await this.flags();
    if (name === "") return { account: flags, class: undefined };
    const known = this.#classes.get(name);
    if (known === undefined) {
      return { account: flags, class: { name, missing: `the ExternalDatabaseClass "${name}" is not there` } };
    }
    const made = await this.#account(name, () => this.#providerOf(known));
    const { allowed, defaults } = known.spec;
    if (typeof made === "string") {
      const missing = `the ExternalDatabaseClass "${name}" cannot be used: ${made}`;
      return { account: flags, class: { name, missing, allowed, defaults } };
    }
    return { account: made, class: { name, allowed, defaults } };
  }

  /** The account of the flags. */
  async flags(): Promise<Account> {
    const made = await this.#account("", () => this.#o.provider);
    if (typeof made === "string") throw new Error(made);
    return made;
  }

  /** Ends all providers. */
  async close(): Promise<void> {
    for (const made of this.#accounts.values()) {
      const account = await made;
      if (typeof account !== "string") await account.close();
    }
  }

  #account(name: string, provide: () => DatabaseProvider): Promise<Account | string> {
    let made = this.#accounts.get(name);
    if (made === undefined) this.#accounts.set(name, made = this.#make(provide));
    return made;
  }

  async #make(provide: () => DatabaseProvider): Promise<Account | string> {
    const { clock, tell, signal, callTimeoutMs, concurrency, ratePerSecond, clusterId } = this.#o;
    let real: DatabaseProvider;
    try {
      real = provide();
    } catch (error) {
      return messageOf(error);
    }
    const provider = new ForecastProvider(real, tell);
    const gateway = new ProviderGateway({
      provider,
      scheduler: new Scheduler({ clock, concurrency, ratePerSecond }),
      clock,
      metrics: noMetrics,
      callTimeoutMs,
      fence: () => {},
    });
    let info: ProviderInfo | undefined;
    let error: ProviderError | undefined;
    try {
      info = await gateway.info(signal);
      await provider.readAhead(clusterId, { signal });
    } catch (cause) {
      signal.throwIfAborted();
      error = cause instanceof ProviderError
        ? cause
        : new ProviderError("retryable", String(cause), { cause });
    }
    const account: Account = {
      provider,
      gateway,
      info,
      error: info === undefined ? error : undefined,
      known: 0,
      absences: new AbsenceLedger({
        clock,
        periodMs: Number.MAX_SAFE_INTEGER,
        known: () => account.known,
        onChange: () => {},
      }),
      close: async () => await real.close?.(),
    };
    return account;
  }

  #providerOf({ spec }: ExternalDatabaseClass): DatabaseProvider {
    const { provide, classes, ownNamespace, signal } = this.#o;
    const ref = spec.credentialsSecretRef;
    const credentials = ref && (async () => {
      const key = { namespace: ref.namespace ?? ownNamespace, name: ref.name };
      const secret = await classes?.secret(key).get(key, { signal });
      return secretTexts(secret?.data);
    });
    return provide({ provider: spec.provider, parameters: spec.parameters ?? {}, credentials });
  }
}
