/**
 * Which fault struck a CR while its actor was in which state.
 *
 * A fault of one call strikes the CR that the call is about; one of a process strikes every CR whose actor it runs; one
 * of the cluster or of the account strikes every CR that is there. What a dead process's actor was in counts until the
 * next process's actor is somewhere.
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { KubeError, type ListPage } from "../kube/port.ts";
import type { Transition } from "../operator/keeper.ts";
import { ProviderError } from "../providers/port.ts";
import type { Effect } from "../providers/simulated/ledger.ts";
import type { TopState } from "../statechart/vocabulary.ts";
import type { Coverage } from "./coverage.ts";
import type { FaultName } from "./faults.ts";
import type { Deed } from "./plan.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

const NAMESPACE = "default";

/** Listens to a world and counts. */
export class Strikes {
  /** When each UID's actor entered which state, oldest first. */
  readonly #states = new Map<string, { readonly at: number; readonly state: TopState }[]>();
  /** What each process's actor of each UID is in: one that was frozen does not know what others did. */
  readonly #own = new Map<string, TopState>();
  /** The UID that each name had last. */
  readonly #uids = new Map<string, string>();
  /** The deed whose effects come next. */
  #deed: Deed | undefined;

  constructor(private readonly world: () => World, private readonly coverage: Coverage) {}

  transition(process: SimulatedProcess, { object, to }: Transition): void {
    if (to === undefined) return;
    const { uid } = object.metadata;
    this.#own.set(`${process.name} ${uid}`, to);
    const entry = { at: this.world().clock.monotonic(), state: to };
    const known = this.#states.get(uid);
    if (known === undefined) this.#states.set(uid, [entry]);
    else known.push(entry);
  }

  /** A deed is about to happen. */
  deed(deed: Deed): void {
    const world = this.world();
    this.#deed = deed;
    if (world.calm && !("name" in deed)) return;
    switch (deed.do) {
      case "edit":
      case "delete":
      case "crossDelete":
      case "annotate":
      case "abandon":
      case "label":
      case "stripFinalizers":
      case "stripStatus":
      case "editStatus":
        return this.#strike(
          deed.do,
          world.store.find({ namespace: NAMESPACE, name: deed.name })?.metadata.uid,
        );
      case "freeze":
      case "skew":
        return this.#strikeProcess(deed.do, world.process(deed.nth));
      case "stop":
        return this.#strikeProcess("stopped", world.process(deed.nth));
      case "breakWatches":
      case "silenceWatches":
      case "compact":
      case "deleteCrd":
      case "restore":
        return this.#strikeAll(deed.do);
      case "kubeDenied":
      case "kubeOutage":
        return this.#strikeAll(`cluster ${deed.kind}`);
      case "cloudOutage":
        return this.#strikeAll(
          `cloud ${deed.kind === "stall" || deed.kind === "lost" ? deed.kind : "outage"}`,
        );
      case "switchAccount":
        if (world.cloud.settings.describesItself) this.#strikeAll(deed.do);
        return;
    }
  }

  /** A change at the cloud; `before` are the tags it had. */
  effect(effect: Effect, before: Readonly<Record<string, string>> | undefined): void {
    const uid = effect.uid ?? before?.[TAG.uid];
    if (effect.by === "cloud") {
      return this.#strike(effect.detail.startsWith("grew") ? "grows by itself" : "upgrades itself", uid);
    }
    if (effect.by !== "console" || this.#deed === undefined) return;
    const { do: word } = this.#deed;
    if (word === "console") return this.#strike(`console ${this.#deed.change.kind}`, uid);
    if (word === "vanish" || word === "duplicate" || word === "retag") return this.#strike(word, uid);
  }

  /** A process has died. */
  died(process: SimulatedProcess, why: string): void {
    const doom = /^(before|after|at the answer of) (.+?)(?: was sent)?$/.exec(why);
    if (why === "killed") return this.#strikeProcess(why, process);
    // It has stopped its actors before it dies of this.
    if (why === "lost its lease") return this.#strikeAll(why);
    if (doom === null) return;
    const [, when = "", what = ""] = doom;
    const fault = when === "before" ? "dies before" : when === "after" ? "dies sent" : "dies answered";
    const uid = this.#uidOf(what);
    if (uid !== undefined) this.#strikeActor(fault, process, uid);
    else this.#strikeProcess(fault, process);
  }

  /** A call of a process has ended; `result` is its value or its error. */
  answer(process: SimulatedProcess, what: string, result: unknown): void {
    const { store, clock, cloud, plan } = this.world();
    if (result instanceof ProviderError) {
      const fault = `cloud ${result.errorClass}` as const;
      if (what.startsWith("cloud info")) return;
      const uid = this.#uidOf(what);
      if (uid === undefined && what.startsWith("cloud list")) {
        this.#strikeProcess("list of all fails", process);
      } else this.#strikeActor(fault, process, uid);
    } else if (result instanceof KubeError) {
      this.#strikeActor(`kube ${result.kind}` as FaultName, process, this.#uidOf(what));
    } else if (what.startsWith("cloud list")) {
      const uid = this.#uidOf(what);
      const now = clock.monotonic();
      const hidden = cloud.databases().find((d) =>
        uid !== undefined && d.tags[TAG.uid] === uid && d.listedFrom > now
      );
      if (hidden !== undefined) this.#strikeActor("hidden by read lag", process, uid);
    } else if (what === "kube list") {
      const rv = Number((result as ListPage).resourceVersion);
      if (rv < store.versionAt(clock.monotonic() - plan.kube.latencyMs)) this.#strikeAll("stale list");
    }
  }

  /** A CR was written. */
  changed(before: ExternalDatabase | undefined, { metadata, status }: ExternalDatabase): void {
    this.#uids.set(metadata.name, metadata.uid);
    if (status?.providerState !== "Failed" || before?.status?.providerState === "Failed") return;
    if (status.endpoint === undefined) this.#strike("provisioning fails", metadata.uid);
  }

  /** The end: effects that came after the caller had gone. */
  finish(): void {
    for (const { effect, effectAt, answeredAt, uid, outcome } of this.world().cloud.ledger.mutatingCalls()) {
      if (effect !== "done" || effectAt === undefined || answeredAt === undefined || uid === undefined) {
        continue;
      }
      if (outcome !== "ok" && effectAt > answeredAt) this.#strike("late effect", uid, effectAt);
    }
  }

  #strike(fault: FaultName, uid: string | undefined, at = Infinity): void {
    const state = this.#states.get(uid ?? "")?.findLast((s) => s.at <= at)?.state;
    if (state !== undefined) this.coverage.add("strike", `${fault}|${state}`);
  }

  #strikeActor(fault: FaultName, process: SimulatedProcess, uid: string | undefined): void {
    const state = this.#own.get(`${process.name} ${uid}`);
    if (state !== undefined) this.coverage.add("strike", `${fault}|${state}`);
  }

  #strikeAll(fault: FaultName): void {
    for (const { metadata } of this.world().store.all()) this.#strike(fault, metadata.uid);
  }

  #strikeProcess(fault: FaultName, process: SimulatedProcess | undefined): void {
    if (process === undefined) return;
    for (const { object } of process.operator.supervisor.keepers) {
      this.#strikeActor(fault, process, object.metadata.uid);
    }
  }

  /** The UID that a call is about, or `undefined` where it is about none or many. */
  #uidOf(what: string): string | undefined {
    const [side, verb, target = ""] = what.split(" ", 3);
    const { store, cloud } = this.world();
    if (side !== "cloud") return side === "kube" ? this.#uids.get(target) : undefined;
    if (verb === "create") return target;
    if (verb === "list") return /"db\.my\.domain\/uid":"([^"]+)"/.exec(what)?.[1];
    // Of those that name it, one that lives asks for it; another may be kept for somebody's finalizer.
    const named = store.all().filter((o) => o.status?.providerId === target);
    const alive = named.find((o) => o.metadata.deletionTimestamp === undefined) ?? named[0];
    return cloud.get(target)?.tags[TAG.uid] ?? alive?.metadata.uid;
  }
}
