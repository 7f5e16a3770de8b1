/**
 * What must hold at every moment (S1 to S7 of the design's safety rules), judged by the cloud's and the cluster's own books.
 *
 * @module
 */
import { ANNOTATION, FINALIZER, TAG } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { ProviderError } from "../providers/port.ts";
import type { Effect } from "../providers/simulated/ledger.ts";
import type { CloudRecord } from "../providers/simulated/types.ts";
import { isObserveOnly, policiesOf } from "../statechart/facts.ts";
import { isNew } from "../statechart/knowledge.ts";
import { BindingJudge } from "./bindings.ts";
import { Coverage } from "./coverage.ts";
import { PolicyJudge } from "./policies.ts";
import { ofAnotherCluster } from "./kube_port.ts";
import type { Change } from "./kube_store.ts";
import type { Mutation } from "./gates.ts";
import type { SimulatedProcess } from "./process.ts";
import { ACCOUNT, type World } from "./world.ts";

/** Why a UID's databases are beyond what the operator promises. */
export type Taint =
  /** A person made a CR look new again though a create may have been sent for it. */
  | "looksNew"
  /** A CR went without the operator's release. */
  | "forced"
  /** A create may have been sent while the credentials were changed to another account. */
  | "account"
  /** A person put a second database with its UID in. */
  | "duplicated"
  /** The cluster went back in time. */
  | "restored"
  /** Released on purpose with its database left behind. */
  | "left"
  /** Abandoned: it goes at once, and what is under way for it may still come (rule 16). */
  | "abandoned";

/** How long a change by a user may go unnoticed by a call that is under way in a process that runs, in milliseconds. */
const NOTICE_MS = 70_000;
/** The operator asks for its account once a minute; until then what it creates may be recorded under the wrong one. */
const ACCOUNT_NOTICE_MS = 130_000;

/** Watches a world. */
export class Safety {
  readonly taints = new Map<string, Set<Taint>>();
  readonly #seen = new Map<string, ExternalDatabase>();
  /** CRs that went with our finalizer on them and no deletion, and the process that wrote them last. */
  readonly vanished = new Map<string, { readonly object: ExternalDatabase; readonly writer: string }>();
  readonly #writers = new Map<string, string>();
  readonly #hadFinalizer = new Set<string>();
  readonly #changedByUser = new Map<string, number>();
  readonly #restoredAt = new Map<string, number>();
  readonly #inFlight = new Map<string, Mutation>();
  readonly #unknownModify = new Map<string, number>();
  readonly #tags = new Map<string, Readonly<Record<string, string>>>();
  /** When a database was last given another owner. */
  readonly #takenAt = new Map<string, number>();
  /** When a person last changed a database by hand. */
  readonly #touched = new Map<string, number>();
  #effectMark = 0;
  #revision = -1;
  #crdChangedAt = Number.NEGATIVE_INFINITY;
  #switchedAt = Number.NEGATIVE_INFINITY;
  #crd = "established";
  /** How long a change may go unnoticed: a process may check, freeze, wake, and send. */
  readonly #noticeMs: number;
  readonly #policies: PolicyJudge;
  /** What holds of connection Secrets. */
  readonly bindings: BindingJudge;
  /** The UID that each database was made for. */
  readonly #madeFor = new Map<string, string>();
  /** When each database was made. */
  readonly #madeAt = new Map<string, number>();
  /** The id that a CR's status named last, by UID. */
  readonly #named = new Map<string, string>();
  /** The ids that a CR's status ever named, by UID. */
  readonly #recorded = new Map<string, Set<string>>();

  constructor(
    private readonly world: World,
    private readonly fail: (oracle: string, what: string) => void,
    private readonly coverage: Coverage = new Coverage(),
    /** Told of each change at the cloud, with the tags from before. */
    private readonly tell: (effect: Effect, before: Readonly<Record<string, string>> | undefined) => void =
      () => {},
  ) {
    const freezes = world.plan.actions.map((a) => a.do === "freeze" ? a.ms : 0);
    this.#noticeMs = NOTICE_MS + Math.max(0, ...freezes);
    this.bindings = new BindingJudge(
      world,
      fail,
      ({ metadata: { uid }, status }) =>
        this.#lately(uid) || this.wasTouched(status?.providerId ?? "") ||
        this.isTainted(uid, "restored", "account", "duplicated"),
      this.#noticeMs,
    );
    this.#policies = new PolicyJudge(
      world,
      fail,
      this.#noticeMs,
      (uid) => this.isTainted(uid, "restored"),
    );
    world.store.listen((change) => this.#onChange(change));
  }

  /** Judges what happened since the last call. */
  check(): void {
    const { cloud, store, clock } = this.world;
    if (store.crd !== this.#crd) {
      this.#crd = store.crd;
      this.#crdChangedAt = clock.monotonic();
    }
    const { revision } = cloud;
    if (revision === this.#revision) return;
    this.#revision = revision;
    for (const effect of cloud.ledger.effects({ since: this.#effectMark })) {
      this.#effectMark = effect.seq;
      this.#onEffect(effect);
    }
  }

  /** The credentials lead elsewhere: creates that are under way may be recorded under either account. */
  accountSwitched(): void {
    this.#switchedAt = this.world.clock.monotonic();
  }

  /** The cluster went back in time, and these CRs with it. */
  restored(uids: readonly string[]): void {
    for (const uid of uids) {
      this.#restoredAt.set(uid, this.world.clock.monotonic());
      this.taint(uid, "restored");
    }
  }

  taint(uid: string, why: Taint): void {
    const known = this.taints.get(uid);
    if (known === undefined) this.taints.set(uid, new Set([why]));
    else known.add(why);
  }

  /** Whether UID is tainted by one of `why`. */
  isTainted(uid: string, ...why: readonly Taint[]): boolean {
    const known = this.taints.get(uid);
    return known !== undefined && why.some((w) => known.has(w));
  }

  /** Whether the status of the CR of this UID ever named a database: somebody may know of it. */
  wasNamed(uid: string): boolean {
    return (this.#recorded.get(uid)?.size ?? 0) > 0;
  }

  /** Whether a judgement is not made for one of `why`; it is counted. */
  #excused(rule: string, uid: string, ...why: readonly Taint[]): boolean {
    const known = this.taints.get(uid);
    const taint = known === undefined ? undefined : why.find((w) => known.has(w));
    if (taint !== undefined) this.coverage.add("excused", `${rule} ${taint}`);
    return taint !== undefined;
  }

  /** A mutation is sent. */
  mutation(process: SimulatedProcess, mutation: Mutation): (error: unknown) => void {
    const { clock, cloud } = this.world;
    const key = `${process.name} ${mutation.target}`;
    const other = this.#inFlight.get(key);
    // Tags alone may be written by two that adopt the same: the last one has it.
    if (other !== undefined && (mutation.values || other.values)) {
      this.fail("in-flight", `${mutation.verb} of ${mutation.target} while a ${other.verb} is in flight`);
    }
    this.#inFlight.set(key, mutation);
    if (!process.leads) this.fail("H1", `${process.name} sends a ${mutation.verb} without the lease`);
    this.#onKnown(process, mutation);
    if (!this.wasTouched(mutation.target)) this.#policies.mutation(process, mutation);
    if (mutation.verb === "delete") this.#onDelete(process, mutation.target);
    else if (mutation.values) this.#onWish(mutation);
    // Tags alone may be written twice: the second changes nothing.
    if (mutation.verb === "modify" && mutation.values) {
      const at = this.#unknownModify.get(key);
      if (at !== undefined && clock.monotonic() - at < cloud.settings.effectBoundMs) {
        this.fail("rule 8", `modify of ${mutation.target} within the effect bound of one of unknown outcome`);
      }
    }
    return (error) => {
      this.#inFlight.delete(key);
      if (mutation.verb !== "modify" || !mutation.values) return;
      if (error instanceof ProviderError && error.errorClass === "unknown") {
        this.#unknownModify.set(key, clock.monotonic());
      } else this.#unknownModify.delete(key);
    };
  }

  /** The credentials lead elsewhere, or did until a moment ago. */
  #away(): boolean {
    return this.world.cloud.settings.account !== ACCOUNT ||
      this.world.clock.monotonic() - this.#switchedAt < ACCOUNT_NOTICE_MS;
  }

  /**
   * The database is in an account that the CR does not name: made while the credentials led there, and recorded under
   * another account or not at all. Nobody who asks the account that is named can know of it.
   */
  #elsewhere(rule: string, record: CloudRecord, status: ExternalDatabase["status"]): boolean {
    const there = status?.account !== undefined
      ? record.account !== status.account
      : record.account !== this.world.cloud.settings.account || this.#away();
    if (there) {
      this.coverage.add("excused", `${rule} account`);
      this.taint(record.tags[TAG.uid] ?? "", "account");
    }
    return there;
  }

  #lately(uid: string): boolean {
    const now = this.world.clock.monotonic();
    return now - (this.#changedByUser.get(uid) ?? Number.NEGATIVE_INFINITY) < this.#noticeMs ||
      now - this.#crdChangedAt < this.#noticeMs;
  }

  /** Rules 9 and 14, strictly: what the process itself had heard by then forbids it. */
  #onKnown(process: SimulatedProcess, { verb, target, values, password = false }: Mutation): void {
    if (!values) return;
    const uid = verb === "create" ? target : this.world.cloud.get(target)?.tags[TAG.uid];
    // What another resource's actor read of this one its own does not know; a password is sent without a read.
    const object = password ? process.hearing.heard(uid ?? "") : process.hearing.known(uid ?? "");
    if (object === undefined || this.isTainted(uid ?? "", "restored")) return; // it knew a history that is no more
    const { metadata, spec } = object;
    const why = spec.paused
      ? "is paused"
      : verb !== "delete" && metadata.deletionTimestamp !== undefined
      ? "is being deleted"
      : verb === "modify" && !password && policiesOf(object).drift === "Report"
      ? "only has its drift reported"
      : verb === "delete" && metadata.deletionTimestamp !== undefined &&
          policiesOf(object).deletion === "Retain"
      ? "retains it"
      : undefined;
    if (why !== undefined) {
      this.fail("rule 14", `${verb} of ${target}, though it knew that ${metadata.name} ${why}`);
    }
  }

  /** A create or a change is for a CR of this cluster; a create, which reads it first, for one that wants it. */
  #onWish({ verb, target }: Mutation): void {
    const { cloud, store } = this.world;
    const uid = verb === "create" ? target : cloud.get(target)?.tags[TAG.uid];
    if (verb === "modify" && this.wasTouched(target)) return;
    if (uid === undefined || !this.#seen.has(uid)) {
      return this.fail("S3", `${verb} of ${target}, which is nobody's`);
    }
    if (verb === "modify" || this.#lately(uid)) return;
    if (this.#excused("wish", uid, "restored", "forced", "looksNew")) return;
    const object = store.byUid(uid);
    const name = this.#nameOf(uid);
    if (object === undefined) return this.fail("S2", `${verb} for ${name}, which is gone`);
    if (object.metadata.deletionTimestamp !== undefined) {
      this.fail("rule 14", `${verb} for ${name}, being deleted`);
    }
    if (object.spec.paused) this.fail("D4", `${verb} for ${name}, which is paused`);
  }

  /** Whether a person changed a database by hand so lately that nobody need know, plus `more` milliseconds. */
  wasTouched(id: string, more = 0): boolean {
    const at = this.#touched.get(id);
    return at !== undefined && this.world.clock.monotonic() - at < this.#noticeMs + more;
  }

  /**
   * The read that a delete relies on (rule 9) showed a CR being deleted, and was sent before the cluster went back to
   * where it lives: between that read and the delete lies a read of the database, and nobody can know.
   */
  #readBeforeRestore(process: SimulatedProcess, uid: string): boolean {
    const at = this.#restoredAt.get(uid);
    const asked = process.hearing.asked(uid);
    return at !== undefined && asked !== undefined && asked.sentAt <= at &&
      asked.object.metadata.deletionTimestamp !== undefined &&
      this.world.clock.monotonic() - at < this.#noticeMs;
  }

  #onDelete(process: SimulatedProcess, id: string): void {
    const { cloud, store } = this.world;
    const record = cloud.get(id);
    if (record === undefined || this.wasTouched(id)) return;
    const uid = record.tags[TAG.uid];
    if (uid === undefined || !this.#seen.has(uid)) {
      return this.fail("S3", `delete of ${id}, which carries ${uid ?? "no UID"}`);
    }
    const object = store.byUid(uid);
    if (this.#lately(uid) || this.#readBeforeRestore(process, uid)) return;
    if (object === undefined) {
      // One that a restored cluster never knew is deleted only where nobody was ever told of it (vanished.ts).
      // So is one whose CR's DELETE crossed the finalizer (S2, C6).
      const untold = this.isTainted(uid, "restored") || this.vanished.has(uid);
      if (untold && !this.#recorded.get(uid)?.has(id)) return;
      return this.fail("S3", `delete of ${id}, whose CR has long been gone`);
    }
    const name = object.metadata.name;
    if (object.metadata.deletionTimestamp === undefined) {
      // A delete of a failed one may take effect late, when the next is on its way: that changes nothing.
      const failed = record.state === "Failed" || record.state === "Deleting";
      if (!failed || record.endpoint !== undefined) {
        this.fail("S3", `delete of ${id} (${record.state}) though ${name} lives`);
      }
      return;
    }
    if (policiesOf(object).deletion === "Retain") this.fail("rule 9", `delete of ${id}: ${name} retains it`);
    if (object.spec.paused) this.fail("rule 9", `delete of ${id}: ${name} is paused`);
    if (store.crd !== "established") this.fail("rule 13", `delete of ${id} while the CRD is ${store.crd}`);
  }

  #onEffect(effect: Effect): void {
    const before = this.#tags.get(effect.id);
    this.#tags.set(effect.id, effect.tags);
    this.tell(effect, before);
    if (effect.by === "console") this.#touched.set(effect.id, this.world.clock.monotonic());
    if (effect.by !== "api") return;
    // What another cluster's operator does with its own in the same account is not judged here.
    if (ofAnotherCluster(effect.tags) && (before === undefined || ofAnotherCluster(before))) return;
    const { uid } = effect;
    if (!this.wasTouched(effect.id)) this.#policies.effect(effect);
    switch (effect.kind) {
      case "create":
        return this.#onCreate(effect);
      case "modify":
        if (before !== undefined && before[TAG.uid] !== uid) {
          this.#takenAt.set(effect.id, this.world.clock.monotonic());
        }
        if (this.wasTouched(effect.id)) return;
        if (uid === undefined || !this.#seen.has(uid)) {
          this.fail("S3", `modify of ${effect.id}, which carries ${uid ?? "no UID"}`);
        }
        if (before !== undefined && before[TAG.uid] !== uid) this.#onTakeover(effect, before);
        return;
    }
  }

  /** Whether it has another owner since a moment ago: whoever read it just before records it still. */
  #isTakenLately(id: string): boolean {
    return this.world.clock.monotonic() - (this.#takenAt.get(id) ?? Number.NEGATIVE_INFINITY) <
      this.#noticeMs;
  }

  #onTakeover(effect: Effect, before: Readonly<Record<string, string>>): void {
    const owner = before[TAG.uid];
    if (owner === undefined || before[TAG.retained] !== undefined) return;
    const taker = this.world.store.byUid(effect.uid ?? "");
    if (ofAnotherCluster(before) && taker?.metadata.annotations?.[ANNOTATION.adoptFrom] !== owner) {
      return this.fail("S3", `${effect.id} was taken from another cluster for ${effect.uid}`);
    }
    if (this.world.store.byUid(owner) === undefined) return;
    this.fail("S3", `${effect.id} was taken from ${owner}, who lives, for ${effect.uid}`);
  }

  #onCreate(effect: Effect): void {
    const { cloud, store } = this.world;
    const uid = effect.uid ?? "";
    this.#madeFor.set(effect.id, uid);
    const object = store.byUid(uid);
    const now = this.world.clock.monotonic();
    this.#madeAt.set(effect.id, now);
    if (this.#away()) this.taint(uid, "account");
    const live = (cloud.liveByUid().get(uid) ?? []).filter((d) => d.account === effect.account);
    // The credentials came back, between the lookup and the create, to where one was made that nobody recorded.
    const back = object?.status?.account === undefined && now - this.#switchedAt < this.#noticeMs &&
      live.every((d) => d.id === effect.id || (this.#madeAt.get(d.id) ?? now) < this.#switchedAt);
    const excuses: Taint[] = ["looksNew", "duplicated", "restored"];
    if (live.length > 1 && !this.#excused("S1", uid, ...excuses, ...back ? ["account" as const] : [])) {
      const ids = live.map((d) => `${d.id} (${d.state})`).join(", ");
      this.fail("S1", `${live.length} live databases for ${object?.metadata.name ?? uid}: ${ids}`);
    }
    if (object === undefined) {
      if (this.#excused("S2", uid, "forced", "looksNew", "restored", "abandoned")) return;
      this.fail("S2", `${effect.id} was made for ${this.#nameOf(uid)}, whose CR is gone`);
    } else if (!object.metadata.finalizers?.includes(FINALIZER) && !this.#lately(uid)) {
      if (this.#excused("S4 create", uid, "forced", "looksNew", "restored", "abandoned")) return;
      this.fail("S4", `${effect.id} was made for ${object.metadata.name}, which has no finalizer`);
    }
  }

  #nameOf(uid: string): string {
    return this.#seen.get(uid)?.metadata.name ?? uid;
  }

  #onChange(change: Change): void {
    const { object, before, by } = change;
    const { uid, name } = object.metadata;
    this.#seen.set(uid, object);
    const had = before?.metadata.finalizers?.includes(FINALIZER) ?? false;
    const has = object.metadata.finalizers?.includes(FINALIZER) ?? false;
    if (has) this.#hadFinalizer.add(uid);
    if (by === "user") {
      this.#changedByUser.set(uid, this.world.clock.monotonic());
      if (change.type === "DELETED" && this.#hadFinalizer.has(uid)) this.taint(uid, "forced");
      if (change.type === "DELETED" && had && object.metadata.deletionTimestamp === undefined) {
        this.vanished.set(uid, { object, writer: this.#writers.get(uid) ?? "" });
      }
      // Nobody can tell any more where it is, once the process that saw it is gone.
      if (before?.status?.account !== undefined && object.status?.account === undefined && this.#away()) {
        this.taint(uid, "account");
      }
      // Rule 1 cannot tell it from a new one any more, once the process that knows better is gone.
      if (before !== undefined && isNew(object) && this.#hadFinalizer.has(uid)) this.taint(uid, "looksNew");
      return;
    }
    this.#writers.set(uid, by);
    if (before !== undefined && before.spec !== object.spec && !same(before.spec, object.spec)) {
      this.fail("S7", `${by} changed the spec of ${name}`);
    }
    const others = (o: ExternalDatabase) => (o.metadata.finalizers ?? []).filter((f) => f !== FINALIZER);
    if (before !== undefined && !same(others(before), others(object))) {
      this.fail("D6", `${by} changed a foreign finalizer of ${name}`);
    }
    const { generation } = object.metadata;
    const { observedGeneration, conditions = [] } = object.status ?? {};
    // A status that was under way when the cluster was restored speaks of a generation that is no more.
    const ahead = !this.isTainted(uid, "restored") &&
      ((observedGeneration ?? 0) > generation ||
        conditions.some((c) => (c.observedGeneration ?? 0) > generation));
    if (ahead) this.fail("observedGeneration", `${name}: ${observedGeneration} is ahead of ${generation}`);
    if (before !== undefined) this.#onRecord(before, object, by);
    if (had && !has && before !== undefined) this.#onRelease(before, by);
  }

  /** S3, S6: what is recorded is its own; what is given up is gone. */
  #onRecord(before: ExternalDatabase, after: ExternalDatabase, by: string): void {
    const lost = before.status?.providerId;
    const id = after.status?.providerId;
    if (lost === id) return;
    const { uid, name } = after.metadata;
    const { cloud } = this.world;
    const recorded = cloud.get(id ?? "");
    const owner = recorded?.tags[TAG.uid];
    const known = this.#recorded.get(uid) ?? new Set();
    this.#recorded.set(uid, known);
    // One that was its own and lost its tags may be named, again or as a client token's answer: it is not touched.
    // So may the one that it named until its status was wiped, or that was made for it and is not recorded yet, where
    // another adopted that too lately to be seen.
    const itsOwn = this.#named.get(uid) === id || this.#madeFor.get(id ?? "") === uid;
    const own = owner === uid || (itsOwn && this.#isTakenLately(id ?? "")) ||
      (owner === undefined && (known.has(id ?? "") || this.#madeFor.get(id ?? "") === uid));
    const observed = after.status?.observeOnly === true; // looked at and never touched
    if (recorded !== undefined && !own && !observed && !this.wasTouched(recorded.id)) {
      this.fail("S3", `${by} recorded ${id}, which is not ${name}'s`);
    }
    if (recorded?.state === "Deleting" && !known.has(recorded.id) && !observed) {
      this.fail("rule 7", `${by} recorded ${id} for ${name}, which is being deleted`);
    }
    if (id === undefined) this.#named.delete(uid); // given up by a raised incarnation
    else if (!observed) {
      known.add(id);
      this.#named.set(uid, id);
    }
    if (before.status?.observeOnly) return; // it never was its own
    const left = cloud.get(lost ?? "");
    if (left === undefined || left.state === "Deleting" || this.wasTouched(left.id)) return;
    if (this.#excused("S6", uid, "looksNew", "restored")) return;
    if (this.#elsewhere("S6", left, before.status)) return;
    const heir = left.tags[TAG.uid];
    if (heir !== undefined && heir !== uid) return; // another resource adopted it meanwhile
    this.fail("S6", `${by} gave up ${lost} of ${name}, which is ${left.state}`);
  }

  /** S4: the finalizer goes only when nothing is left, or what is left was meant to stay. */
  #onRelease(before: ExternalDatabase, by: string): void {
    const { cloud, store } = this.world;
    const { uid, name, annotations, deletionTimestamp } = before.metadata;
    if (deletionTimestamp === undefined) {
      return this.fail("S4", `${by} released ${name}, which is not being deleted`);
    }
    const present = cloud.presentByUid().get(uid) ?? [];
    const left = present.filter((d) => !this.#elsewhere("S4", d, before.status));
    const abandoned = annotations?.[ANNOTATION.abandon] === uid;
    if (abandoned) this.taint(uid, "abandoned");
    const meant = abandoned || store.crd !== "established" ||
      this.#lately(uid) && left.every((d) => d.tags[TAG.retained] === uid) ||
      policiesOf(before).deletion === "Retain" || isObserveOnly(before);
    if (left.length === 0) return;
    if (meant) return this.taint(uid, "left");
    if (this.#excused("S4", uid, "looksNew", "restored")) return;
    const ids = left.map((d) => `${d.id} (${d.state})`).join(", ");
    this.fail("S4", `${by} released ${name} while the cloud still holds ${ids}`);
  }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
