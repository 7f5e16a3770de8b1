/**
 * The classes: which there are, which is the default, which site a resource belongs to, and what each says in its status.
 *
 * Nothing is decided by classes that are not known yet: until they are listed, a resource that names one, or that a
 * default could be for, waits. A cluster without their CRD has none.
 *
 * @module
 */
import type { ExternalDatabaseClass } from "../api/class_schema.ts";
import { CLASS_CRD_NAME, IS_DEFAULT_CLASS } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import { jitter, type Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { sleep } from "../core/wait.ts";
import type { ClassesPort } from "../kube/class_port.ts";
import { KubeError } from "../kube/port.ts";
import { Reflector, type ReflectorOptions } from "../kube/reflector.ts";
import type { ClassRequest } from "../providers/from_class.ts";
import { NO_PROVIDER } from "../providers/none.ts";
import type { DatabaseProvider } from "../providers/port.ts";
import { classNameOf, type ClassView } from "../statechart/class_view.ts";
import { ClassSite, type ClassSiteOptions } from "./class_site.ts";
import { classStatusOf, classStatusPatch } from "./class_status.ts";
import { Summons } from "./summons.ts";
import type { ProviderSite, SiteTuning } from "./site.ts";

/** What the operator is given to serve classes. */
export interface ClassesDeps {
  readonly port: ClassesPort;
  /** Makes the provider of a class; throws an Error that names the field at fault. */
  readonly provide: (request: ClassRequest, name: string) => DatabaseProvider;
  /** Where a class's Secret is when the class does not say. */
  readonly ownNamespace: string;
}

/** What a {@linkcode ClassDirectory} takes. */
export interface DirectoryOptions {
  /** Absent: there are no classes, and one that a resource names is missing. */
  readonly classes: ClassesDeps | undefined;
  /** The site of the flags. */
  readonly flags: ProviderSite;
  readonly makeSite: (name: string, provider: DatabaseProvider) => ProviderSite;
  readonly tuning: SiteTuning;
  readonly callTimeoutMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly reflector?: Pick<ReflectorOptions, "watchTimeoutSeconds" | "idleMarginMs"> | undefined;
  /** Throws when this process may not write now (rule 21). */
  readonly fence: () => void;
  /** Whether a resource is of the site. */
  readonly isUsed: (site: ProviderSite) => boolean;
  /** The resources of a site must decide anew. */
  readonly onChange: (site: ProviderSite) => void;
}

/** What a resource without class is told where the flags name no account. */
const NO_CLASS: ClassView = {
  name: "",
  missing: "the resource names no class, no class is the default, and the operator has no account of its own",
};

/** Longest time between two looks at what the statuses are to say, in milliseconds. */
const REPORT_MS = 5_000;
/** Shortest, in milliseconds. */
const REPORT_DISTANCE_MS = 500;
/** Wait for what was written to show, or to be tried again, in milliseconds. */
const WRITTEN_MS = 30_000;
/** Time after which an operator that is refused the right to list classes all along serves none, in milliseconds. */
const FORBIDDEN_MS = 10_000;
/** Time between two looks for a CRD that is not installed, in milliseconds. */
const NO_CRD_MS = 60_000;
const RETRY = { baseMs: 1_000, capMs: 30_000 };

/** All classes. */
export class ClassDirectory {
  readonly #o: DirectoryOptions;
  readonly #sites = new Map<string, ClassSite>();
  readonly #reflector: Reflector<ExternalDatabaseClass> | undefined;
  readonly #summons: Summons;
  /** Until when a status that was written waits for the watch to show it, or its refusal for another try, by class. */
  readonly #writtenUntil = new Map<string, number>();
  #signal: AbortSignal | undefined;
  #heard = false;
  #problem: string | undefined;
  #default: string | undefined;
  #defaults: readonly string[] = [];

  constructor(options: DirectoryOptions) {
    this.#o = options;
    this.#summons = new Summons(options.clock, REPORT_DISTANCE_MS);
    const { classes, clock, random, log, metrics } = options;
    this.#heard = classes === undefined;
    this.#reflector = classes && new Reflector<ExternalDatabaseClass>({
      ...options.reflector,
      cluster: classes.port.classes,
      what: "the classes",
      clock,
      random,
      log,
      metrics,
      handler: {
        onUpsert: (object) => this.#take(object.metadata.name, object),
        onGone: ({ metadata }) => this.#take(metadata.name, undefined),
        onSynced: () => this.#listed(),
      },
    });
  }

  /** The default class, where there is one. */
  get defaultClass(): string | undefined {
    return this.#default;
  }

  /** The sites of all classes. */
  *sites(): Iterable<ProviderSite> {
    for (const { site } of this.#sites.values()) yield site;
  }

  /** The class of a resource, as it is now; `undefined` where the flags hold. */
  view(object: ExternalDatabase): ClassView | undefined {
    if (!this.#heard) {
      const probe = "?"; // no name of a class
      const name = classNameOf(object, probe);
      if (name === "") return undefined;
      return { name: name === probe ? "" : name, unheard: true, missing: this.#problem };
    }
    const name = classNameOf(object, this.#default);
    if (name === "") return this.#o.flags.gateway.name === NO_PROVIDER ? NO_CLASS : undefined;
    if (this.#o.classes === undefined) {
      return { name, missing: `classes are not served here, and the resource names "${name}"` };
    }
    const known = this.#siteOf(name);
    const spec = known.object?.spec;
    return {
      name,
      missing: known.missing,
      allowed: spec?.allowed,
      defaults: spec?.defaults,
      credentialsAt: known.credentialsAt,
    };
  }

  /** The site that a resource's database is, or is to be, at. */
  siteOf(object: ExternalDatabase): ProviderSite {
    const name = classNameOf(object, this.#default);
    return name === "" || this.#o.classes === undefined ? this.#o.flags : this.#siteOf(name).site;
  }

  /** Follows the classes and works for them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#reflector === undefined) return;
    this.#signal = signal;
    for (const known of this.#sites.values()) known.begin(signal);
    await Promise.all([this.#follow(this.#reflector, signal), this.#report(signal)]);
    await Promise.all([...this.#sites.values()].map((known) => known.ended()));
  }

  #siteOf(name: string): ClassSite {
    const known = this.#sites.get(name);
    if (known !== undefined) return known;
    const { classes, tuning, callTimeoutMs, clock, random, log, metrics } = this.#o;
    if (classes === undefined) throw new Error("There are no classes here");
    const options: ClassSiteOptions = {
      name,
      makeSite: (provider) => this.#o.makeSite(name, provider),
      provide: classes.provide,
      port: classes.port,
      ownNamespace: classes.ownNamespace,
      tuning,
      callTimeoutMs,
      clock,
      random,
      log,
      metrics,
      reflector: this.#o.reflector,
      onChange: () => this.#changed(name),
    };
    const made = new ClassSite(options);
    this.#sites.set(name, made);
    if (this.#signal !== undefined) made.begin(this.#signal);
    return made;
  }

  async #follow(reflector: Reflector<ExternalDatabaseClass>, signal: AbortSignal): Promise<void> {
    if (await this.#probe(signal)) await reflector.run(signal);
  }

  /** Waits until the classes can be listed; false when the signal aborted first. */
  async #probe(signal: AbortSignal): Promise<boolean> {
    const { classes, clock, random, log } = this.#o;
    let told: string | undefined;
    let refusedSince: number | undefined;
    for (let failures = 0; !signal.aborted;) {
      try {
        await classes?.port.classes.list({ limit: 1, signal });
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        const message = messageOf(error);
        const kind = error instanceof KubeError ? error.kind : undefined;
        // A role without the right may be of before there were classes; a right that is only late must not be missed.
        refusedSince = kind === "forbidden" ? refusedSince ?? clock.monotonic() : undefined;
        const patience = refusedSince === undefined
          ? Infinity
          : refusedSince + FORBIDDEN_MS - clock.monotonic();
        const none = kind === "notFound" || patience <= 0;
        if (told !== message) {
          told = message;
          if (none) log.log("info", `There are no classes, as the CRD ${CLASS_CRD_NAME} is not installed`);
          else log.log("warn", "Failed to list the classes", { error: message });
        }
        this.#problem = message;
        if (none) this.#listed();
        const wait = none
          ? jitter(random, NO_CRD_MS)
          : Math.min(patience, backoffMs(RETRY, failures++, random));
        await sleep(clock, wait, signal).catch(() => {}); // the abort itself
      }
    }
    return false;
  }

  #listed(): void {
    this.#problem = undefined;
    const first = !this.#heard;
    this.#heard = true;
    this.#choose();
    if (first) this.#everyone();
  }

  #take(name: string, object: ExternalDatabaseClass | undefined): void {
    this.#siteOf(name).take(object);
    this.#writtenUntil.delete(name);
    if (this.#heard) this.#choose();
    this.#summons.request();
  }

  /** The newest of those that are marked is the default, as among StorageClasses. */
  #choose(): void {
    const marked = [...this.#sites.values()].flatMap(({ object }) =>
      object?.metadata.annotations?.[IS_DEFAULT_CLASS] === "true" ? [object.metadata] : []
    );
    const bornAt = (at: string | undefined) => Date.parse(at ?? "") || 0;
    marked.sort((a, b) =>
      bornAt(b.creationTimestamp) - bornAt(a.creationTimestamp) || (a.name < b.name ? -1 : 1)
    );
    const names = marked.map(({ name }) => name);
    if (names.length > 1 && names.join() !== this.#defaults.join()) {
      this.#o.log.log("warn", "Several classes are marked as the default: the newest is", {
        default: names[0],
        others: names.slice(1).join(", "),
      });
    }
    this.#defaults = names;
    if (names[0] === this.#default) return;
    this.#default = names[0];
    this.#o.log.log("info", "The default class", {
      databaseClass: this.#default ?? "none: the operator's own flags",
    });
    this.#everyone();
  }

  #everyone(): void {
    this.#o.onChange(this.#o.flags);
    for (const site of this.sites()) this.#o.onChange(site);
    this.#summons.request();
  }

  #changed(name: string): void {
    const known = this.#sites.get(name);
    if (known !== undefined && this.#heard) this.#o.onChange(known.site);
    this.#summons.request();
  }

  /** Keeps the statuses as they are to be, and forgets what nobody uses. */
  async #report(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#summons.answer();
      for (const known of [...this.#sites.values()]) {
        known.tick();
        if (known.object !== undefined) await this.#reportOne(known, known.object, signal);
        else if (known.idle && !this.#o.isUsed(known.site)) {
          this.#sites.delete(known.name);
          void known.ended(); // what its provider holds: connections, a folder
        }
      }
      await this.#summons.pause(REPORT_MS, signal);
    }
  }

  async #reportOne(known: ClassSite, object: ExternalDatabaseClass, signal: AbortSignal): Promise<void> {
    const { classes, clock, log, fence } = this.#o;
    const { name } = object.metadata;
    const now = clock.monotonic();
    if (now < (this.#writtenUntil.get(name) ?? now) || !this.#heard) return;
    const isDefault = this.#defaults.includes(name);
    const newerDefault = isDefault && name !== this.#default ? this.#default : undefined;
    const time = new Date(Math.floor(clock.now() / 1_000) * 1_000).toISOString().replace(".000Z", "Z");
    const wanted = classStatusOf(object, known.facts({ isDefault, newerDefault }), time);
    const patch = classStatusPatch(object, wanted);
    if (patch === undefined) return;
    this.#writtenUntil.set(name, now + WRITTEN_MS); // until the watch shows it
    try {
      fence();
      await classes?.port.patchStatus(name, patch, { signal });
    } catch (error) {
      if (signal.aborted) return;
      const gone = error instanceof KubeError && error.kind === "notFound";
      log.log(gone ? "debug" : "warn", "Failed to write the status of a class", {
        databaseClass: name,
        error: messageOf(error),
      });
    }
  }
}
