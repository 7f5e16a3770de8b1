/**
 * Someone in a simulated world who sees where each actor is, and does there what no path has met yet: drawn deeds come
 * at any time, and a state that lasts a moment is hardly ever met by the event that is rarest in it.
 *
 * @module
 */
import type { InspectionEvent } from "xstate";
import { ANNOTATION, API_VERSION, KIND, MANAGED_BY, OPERATOR_NAME, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { KubeError } from "../../src/kube/port.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { Dice } from "../../src/simulation/random.ts";
import type { World } from "../../src/simulation/world.ts";
import type { DatabaseSnapshot } from "../../src/operator/keeper.ts";
import type { Taken } from "../statechart/transitions.ts";

/** How long what it does lasts, in milliseconds. */
const SPELL_MS = 12_000;
/** Strikes of one kind in one world: what did not help twice will not help there. */
const TRIES = 2;

/** Looks for a chance in one world. */
export class Striker {
  readonly #world: World;
  readonly #taken: Taken;
  readonly #wanted: ReadonlySet<string>;
  readonly #dice: Dice;
  readonly #tries = new Map<string, number>();

  /** `wanted` are the names of the transitions that ought to be taken. */
  constructor(world: World, taken: Taken, wanted: readonly string[]) {
    this.#world = world;
    this.#taken = taken;
    this.#wanted = new Set(wanted.filter((name) => !taken.transitions.has(name)));
    this.#dice = new Dice(world.plan.seed, "striker");
  }

  /** An inspector of actors. */
  readonly inspect = (inspection: InspectionEvent): void => {
    this.#taken.inspect(inspection);
    if (inspection.type !== "@xstate.microstep" || this.#world.calm || this.#wanted.size === 0) return;
    const snapshot = inspection.snapshot as DatabaseSnapshot;
    const { value } = snapshot;
    if (typeof value !== "object") return;
    const [leaf] = Object.entries(value).map(([top, step]) => `${top}.${step}`);
    const { object } = snapshot.context.knowledge;
    for (const event of EVENTS) {
      const wanted = [...this.#wanted].find((name) =>
        name.startsWith(`${leaf} on ${event}`) && !this.#taken.transitions.has(name)
      );
      if (wanted === undefined || !this.#mayTry(wanted)) continue;
      this.#slow();
      this.#later(5, () => this.#strike(event, object, wanted));
      return;
    }
    const lead = this.#leadOf(leaf ?? "", snapshot.context.knowledge.observation === undefined);
    if (lead === "paused at once") this.#slow();
    const incarnation = object.status?.incarnation ?? 1;
    if (lead === undefined || !this.#mayTry(`${lead} ${object.metadata.uid} ${incarnation}`)) return;
    const late = WIPES.some((w) => w === lead) ? 1_500 : 5; // its watch must be open to fall silent
    this.#later(late, () => this.#leadIn(lead, object));
  };

  #mayTry(what: string): boolean {
    const tries = this.#tries.get(what) ?? 0;
    if (tries >= TRIES) return false;
    this.#tries.set(what, tries + 1);
    return true;
  }

  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof KubeError)) throw error; // the API server refuses
    }
  }

  /** What an effect asks from here on takes long. */
  #slow(): void {
    const { kube, cloud, clock, plan } = this.#world;
    kube.faults.latencyMs = SPELL_MS;
    cloud.configure({ latencyMs: SPELL_MS / 2 });
    // Other calls are as quick as ever again in the next moment.
    clock.setTimeout(() => {
      kube.faults.latencyMs = plan.kube.latencyMs;
      cloud.configure({ latencyMs: Math.min(500, plan.cloud.latencyMs ?? 20) });
    }, 1);
  }

  #strike(event: (typeof EVENTS)[number], { metadata, status }: ExternalDatabase, wanted: string): void {
    const { store, kube, cloud } = this.#world;
    const id = status?.providerId ?? this.#heard(metadata.uid)?.status?.providerId;
    switch (event) {
      case "object.gone":
        kube.faults.watchLagMs = 50;
        store.meta(metadata, { finalizers: [] });
        if (store.find(metadata) !== undefined) store.delete(metadata);
        return kube.breakWatches(); // what comes late comes at once
      case "object.changed":
        kube.faults.watchLagMs = 50;
        if (!wanted.includes("bringsDeletion")) {
          store.meta(metadata, { labels: { struck: String(this.#world.time) } });
        } else if (metadata.deletionTimestamp === undefined) store.delete(metadata);
        else {
          this.#undo(metadata.deletionTimestamp);
          this.#later(4_000, () => store.delete(metadata));
        }
        return;
      case "external.unlisted":
        if (id !== undefined && cloud.get(id) !== undefined) cloud.remove(id);
        return;
      case "external.unreadable":
        cloud.faults.add({ verbs: ["list"], forMs: SPELL_MS, fault: { answer: REFUSALS.unavailable } });
        return;
      case "external.found":
        if (cloud.presentByUid().has(metadata.uid)) return;
        this.#world.observer.duplicated(metadata.uid);
        cloud.insert({ tags: TAGS(metadata.uid, metadata.name) });
        return;
      case "external.listed":
        return cloud.faults.clear();
      case "binding.changed": {
        kube.faults.watchLagMs = 50;
        // One that no resource asks for, and that its actor hears of all the same.
        const { apiVersion, kind } = { apiVersion: API_VERSION, kind: KIND };
        const { namespace, name, uid } = metadata;
        kube.secrets.create({
          metadata: {
            namespace,
            name: `struck-${Math.round(this.#world.time)}`,
            labels: { [MANAGED_BY]: OPERATOR_NAME },
            ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
          },
          type: "Opaque",
          data: {},
        }, "user");
        return;
      }
    }
  }

  /** Lists fail, except the lookups of `uid`, until somebody ends it. */
  #hideFromLists(uid: string): void {
    const { faults } = this.#world.cloud;
    const verbs = ["list"] as const;
    faults.add({ verbs, uid, forMs: 5 * SPELL_MS, fault: {} });
    faults.add({ verbs, forMs: 5 * SPELL_MS, fault: { answer: REFUSALS.unavailable } });
  }

  #later(ms: number, act: () => void): void {
    this.#world.clock.setTimeout(() => this.#try(act), ms);
  }

  /** The copy that the process was told of by its watch. */
  #heard(uid: string): ExternalDatabase | undefined {
    return [...this.#world.working?.operator.supervisor.keepers ?? []]
      .find((k) => k.object.metadata.uid === uid)?.object;
  }

  /** Restores the cluster from before a deletion. */
  #undo(deletedAt: string): void {
    const { store, clock, kube, observer } = this.#world;
    const ms = clock.now() - Date.parse(deletedAt) + 1_500; // the timestamp has no fractions in a real cluster
    observer.restored(store.restore(clock.monotonic() - ms, 1_000), []);
    kube.faults.watchLagMs = 50;
    kube.breakWatches();
  }

  /** What leads from `leaf` towards something that is wanted. */
  #leadOf(leaf: string, unseen: boolean): Lead | undefined {
    const some = (prefix: RegExp) =>
      [...this.#wanted].some((name) => prefix.test(name) && !this.#taken.transitions.has(name));
    const leads: Lead[] = [];
    const young = (this.#world.working?.clock.monotonic() ?? 0) < 20_000;
    if (leaf.startsWith("Deleting.") && some(/^Deleting\.deciding \[belongsTo/)) leads.push("undo");
    if (leaf === "Creating.record" && some(/^Creating\.idle on external\.found/)) {
      leads.push("paused at once");
    }
    if (leaf === "Creating.create" && some(/ on external\.found/)) leads.push("deaf");
    if (leaf === "Available.idle") {
      if (some(/^Available\.(backingOff|observe)/)) leads.push("unread");
      if (some(/^Creating\.(deciding \[chose )?setPassword/)) leads.push("no endpoint");
      if (some(/^Drifted\.(deciding \[chose )?(bind|setPassword)/)) leads.push("reported");
      if (some(/^Pending\.(?!reincarnate)\w+ on external\.(listed|unlisted|unreadable)/)) {
        leads.push("spent", "renamed", ...young ? WIPES : ["crash" as const]);
      }
      if (some(/^Creating\.create on external\.listed/)) leads.push(young && unseen ? "wiped" : "blind");
      if (some(/^Pending\.reincarnate/)) leads.push("dying", "spent");
      if (some(/^Drifted\.reincarnate on external\.listed/)) leads.push("late list");
      if (some(/^Drifted\.(adopt|lookup)/)) leads.push("stray");
      if (some(/^(Drifted|Creating)\.reincarnate/)) leads.push("lost");
    }
    return leads.length === 0 ? undefined : this.#dice.pick(leads);
  }

  #leadIn(lead: Lead, { metadata, status, spec }: ExternalDatabase): void {
    const { store, kube, cloud } = this.#world;
    const id = status?.providerId;
    if (lead === "deaf") return kube.silenceWatches();
    if (lead === "paused at once") {
      kube.silenceWatches();
      store.edit(metadata, { paused: true });
      return;
    }
    if (lead === "blind") this.#hideFromLists(metadata.uid); // the next process acts on what it does not see
    if (lead === "crash" || lead === "blind") return this.#world.working?.crash("killed");
    if (lead === "undo") {
      if (metadata.deletionTimestamp !== undefined) this.#undo(metadata.deletionTimestamp);
      return;
    }
    kube.faults.watchLagMs = 50;
    const record = id === undefined ? undefined : cloud.get(id);
    if (id === undefined || record === undefined) return;
    const { [TAG.uid]: _uid, ...untagged } = record.tags;
    switch (lead) {
      case "unread":
        store.annotate(metadata, { [ANNOTATION.reconcile]: String(this.#world.time) });
        cloud.faults.add({
          verbs: ["get"],
          id,
          forMs: SPELL_MS * 3,
          fault: { answer: REFUSALS.unavailable },
        });
        return;
      case "stray":
        store.edit(metadata, { providerId: id });
        cloud.edit(id, { tags: untagged });
        return;
      case "lost":
        cloud.remove(id);
        return;
      case "reported": // drift that nothing is done about, and a Secret that is to be made again
        store.edit(metadata, {
          driftPolicy: "Report",
          sizeGb: record.sizeGb + 1,
          connectionSecretRef: {},
        });
        if (status?.binding === undefined) return;
        kube.secrets.delete({ namespace: metadata.namespace, name: status.binding.name }, undefined, "user");
        return;
      case "no endpoint": // and no Secret, so that its next password is set while it is called being created
        if (spec.connectionSecretRef === undefined) return;
        cloud.edit(id, { endpoint: undefined });
        kube.secrets.delete(
          { namespace: metadata.namespace, name: status?.binding?.name ?? "" },
          undefined,
          "user",
        );
        return;
      case "dying": // and nobody there who knows it
        store.setStatus(metadata, {});
        cloud.edit(id, { state: "Deleting" });
        this.#world.working?.crash("killed");
        return;
      case "spent": // an incarnation that is forgotten sends a token again that was used
        if ((status?.incarnation ?? 1) === 1) return cloud.remove(id);
        this.#hideFromLists(metadata.uid);
        break;
      case "late list": {
        const { latencyMs } = cloud.settings;
        cloud.configure({ latencyMs: SPELL_MS }); // the next list sees the database, and says so when it is long gone
        this.#later(2_500, () => cloud.configure({ latencyMs }));
        this.#later(9_000, () => {
          if (cloud.get(id) !== undefined) cloud.remove(id);
          store.annotate(metadata, { [ANNOTATION.reconcile]: "late", [ANNOTATION.confirmAbsence]: "late" });
        });
        return;
      }
      case "renamed":
        kube.silenceWatches();
        store.setStatus(metadata, {});
        store.edit(metadata, { providerId: cloud.insert({ name: "free" }).id });
        cloud.remove(id);
        return;
    }
    // A wiped status that only the answer of its own write tells the actor of.
    kube.silenceWatches();
    if (lead === "wiped, paused") store.edit(metadata, { paused: true });
    if (lead === "wiped, named") store.edit(metadata, { providerId: id });
    if (lead === "wiped, refused") {
      cloud.faults.add({
        verbs: ["list"],
        uid: metadata.uid,
        forMs: SPELL_MS * 2,
        fault: { answer: REFUSALS.unavailable },
      });
    }
    store.setStatus(metadata, {});
    const sizeGb = Math.max(record.sizeGb, spec.sizeGb) + 1;
    if (lead === "wiped, dying") cloud.edit(id, { sizeGb, state: "Deleting" });
    else cloud.edit(id, lead === "wiped, named" ? { sizeGb } : { sizeGb, tags: untagged });
  }
}

const EVENTS = [
  "object.gone",
  "object.changed",
  "external.unlisted",
  "external.unreadable",
  "external.found",
  "external.listed",
  "binding.changed",
] as const;

const WIPES = ["wiped", "wiped, paused", "wiped, named", "wiped, refused", "wiped, dying"] as const;

type Lead =
  | "deaf"
  | "crash"
  | "blind"
  | "undo"
  | "unread"
  | "stray"
  | "lost"
  | "dying"
  | "spent"
  | "paused at once"
  | "late list"
  | "no endpoint"
  | "reported"
  | "renamed"
  | (typeof WIPES)[number];

const TAGS = (uid: string, name: string) => ({
  [TAG.uid]: uid,
  [TAG.crName]: name,
  [TAG.namespace]: "default",
  [TAG.cluster]: "cluster-1",
  [TAG.managedBy]: "externaldatabase-operator",
});
