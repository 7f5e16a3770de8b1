/**
 * What must hold at every moment (S1 to S7 of the design's safety rules), judged by the cloud's and the cluster's own books.
 *
 * @module
 */
import { ANNOTATION, FINALIZER, TAG } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { Effect } from "../providers/simulated/ledger.ts";
import type { CloudRecord } from "../providers/simulated/types.ts";
import { isObserveOnly, policiesOf } from "../statechart/facts.ts";
import { isNew } from "../statechart/resource.ts";
import { BindingJudge } from "./bindings.ts";
import { Books, type Taint } from "./books.ts";
import { Coverage } from "./coverage.ts";
import { PolicyJudge } from "./policies.ts";
import { ofAnotherCluster } from "./kube_port.ts";
import type { Change } from "./kube_store.ts";
import { Owners } from "./owners.ts";
import { SentJudge } from "./sent.ts";
import type { World } from "./world.ts";

/** Watches a world. */
export class Safety {
  readonly #writers = new Map<string, string>();
  readonly #hadFinalizer = new Set<string>();
  #effectMark = 0;
  #revision = -1;
  /** What is known of the resources and databases. */
  readonly books: Books;
  /** What holds of each mutation as it is sent. */
  readonly sent: SentJudge;
  readonly #policies: PolicyJudge;
  readonly #owners: Owners;
  /** What holds of connection Secrets. */
  readonly bindings: BindingJudge;
  /** The UID that each database was made for. */
  readonly #madeFor = new Map<string, string>();
  /** When each database was made. */
  readonly #madeAt = new Map<string, number>();
  /** When a CR's status first named an account, by UID. */
  readonly #accountAt = new Map<string, number>();
  /** The id that a CR's status named last, by UID. */
  readonly #named = new Map<string, string>();

  constructor(
    private readonly world: World,
    private readonly fail: (oracle: string, what: string) => void,
    coverage: Coverage = new Coverage(),
    /** Told of each change at the cloud, with the tags from before. */
    private readonly tell: (effect: Effect, before: Readonly<Record<string, string>> | undefined) => void =
      () => {},
  ) {
    const books = this.books = new Books(world, coverage);
    this.#owners = new Owners(world, books.noticeMs);
    this.bindings = new BindingJudge(
      world,
      fail,
      ({ metadata: { uid }, status }) =>
        books.wasChangedLately(uid) || books.wasTouched(status?.providerId ?? "") ||
        books.isTainted(uid, "restored", "account", "duplicated"),
      books.noticeMs,
    );
    this.#policies = new PolicyJudge(
      world,
      fail,
      books.noticeMs,
      (uid) => books.isTainted(uid, "restored"),
    );
    this.sent = new SentJudge(world, books, this.#policies, fail);
    world.store.listen((change) => this.#onChange(change));
  }

  /** Judges what happened since the last call. */
  check(): void {
    this.books.lookAtCrd();
    const { cloud } = this.world;
    const { revision } = cloud;
    if (revision === this.#revision) return;
    this.#revision = revision;
    for (const effect of cloud.ledger.effects({ since: this.#effectMark })) {
      this.#effectMark = effect.seq;
      this.#onEffect(effect);
    }
  }

  #onEffect(effect: Effect): void {
    const { before, late } = this.#owners.note(effect);
    this.tell(effect, before);
    if (effect.by === "console") this.books.touch(effect.id);
    if (effect.by !== "api") return;
    // What another cluster's operator does with its own in the same account is not judged here.
    if (ofAnotherCluster(effect.tags) && (before === undefined || ofAnotherCluster(before))) return;
    const { uid } = effect;
    if (!this.books.wasTouched(effect.id)) this.#policies.effect(effect);
    switch (effect.kind) {
      case "create":
        return this.#onCreate(effect);
      case "modify":
        if (this.books.wasTouched(effect.id)) return;
        if (uid === undefined || !this.books.seen.has(uid)) {
          this.fail("S3", `modify of ${effect.id}, which carries ${uid ?? "no UID"}`);
        }
        if (before !== undefined && before[TAG.uid] !== uid && !late) this.#onTakeover(effect, before);
        return;
    }
  }

  #onTakeover(effect: Effect, before: Readonly<Record<string, string>>): void {
    const owner = before[TAG.uid];
    if (owner === undefined || before[TAG.retained] === owner) return;
    const uid = effect.uid ?? "";
    // One that a restored cluster has no more consented where nobody can read it now.
    const taker = this.world.store.byUid(uid) ??
      (this.books.isTainted(uid, "restored") ? this.books.seen.get(uid) : undefined);
    const consents = taker?.metadata.annotations?.[ANNOTATION.adoptFrom] === owner;
    if (ofAnotherCluster(before) && !consents) {
      return this.fail("S3", `${effect.id} was taken from another cluster for ${effect.uid}`);
    }
    if (consents || this.world.store.byUid(owner) === undefined) return;
    this.fail("S3", `${effect.id} was taken from ${owner}, who lives, for ${effect.uid}`);
  }

  /** When the call that made a database was sent: it may take effect much later. */
  #sentAt({ id, at }: Effect): number {
    const calls = this.world.cloud.ledger.calls({ verb: "create" });
    return calls.findLast((call) => call.id === id)?.at ?? at;
  }

  /**
   * Whether a create went where nobody could know of those that lived there: the credentials lead, since before its lookup
   * was over, to where one was made that nobody recorded, or that is recorded under another account, or whose absence
   * another account told in a moment (A2).
   */
  #isOfUnseen(effect: Effect, live: readonly CloudRecord[]): boolean {
    const uid = effect.uid ?? "";
    const now = this.world.clock.monotonic();
    const { switchedAt, isBlinded, noticeMs } = this.books;
    const named = (this.#accountAt.get(uid) ?? 0) > this.#sentAt(effect)
      ? undefined
      : this.world.store.byUid(uid)?.status?.account;
    return (named === undefined || named !== effect.account || isBlinded) &&
      now - switchedAt < noticeMs &&
      live.every((d) => d.id === effect.id || (this.#madeAt.get(d.id) ?? now) < switchedAt);
  }

  #onCreate(effect: Effect): void {
    const { cloud, store } = this.world;
    const uid = effect.uid ?? "";
    this.#madeFor.set(effect.id, uid);
    const object = store.byUid(uid);
    const now = this.world.clock.monotonic();
    this.#madeAt.set(effect.id, now);
    if (this.books.isAway) this.books.taint(uid, "account");
    const live = (cloud.liveByUid().get(uid) ?? []).filter((d) => d.account === effect.account);
    const excuses: Taint[] = ["looksNew", "duplicated", "restored"];
    if (live.length > 1) {
      if (this.#isOfUnseen(effect, live)) excuses.push("account");
      if (!this.books.excused("S1", uid, ...excuses)) {
        const ids = live.map((d) => `${d.id} (${d.state})`).join(", ");
        this.fail("S1", `${live.length} live databases for ${object?.metadata.name ?? uid}: ${ids}`);
      }
    }
    if (object === undefined) {
      if (this.books.excused("S2", uid, "forced", "looksNew", "restored", "abandoned")) return;
      this.fail("S2", `${effect.id} was made for ${this.books.nameOf(uid)}, whose CR is gone`);
    } else if (!object.metadata.finalizers?.includes(FINALIZER) && !this.books.wasChangedLately(uid)) {
      if (this.books.excused("S4 create", uid, "forced", "looksNew", "restored", "abandoned")) return;
      this.fail("S4", `${effect.id} was made for ${object.metadata.name}, which has no finalizer`);
    }
  }

  #onChange(change: Change): void {
    const { object, before, by } = change;
    const { uid, name } = object.metadata;
    this.books.seen.set(uid, object);
    if (before?.status?.account === undefined && object.status?.account !== undefined) {
      this.#accountAt.set(uid, this.world.clock.monotonic());
    }
    const had = before?.metadata.finalizers?.includes(FINALIZER) ?? false;
    const has = object.metadata.finalizers?.includes(FINALIZER) ?? false;
    if (has) this.#hadFinalizer.add(uid);
    if (by === "user") {
      this.books.changedByUser(uid);
      if (change.type === "DELETED" && this.#hadFinalizer.has(uid)) this.books.taint(uid, "forced");
      if (change.type === "DELETED" && had && object.metadata.deletionTimestamp === undefined) {
        this.books.vanished.set(uid, { object, writer: this.#writers.get(uid) ?? "" });
      }
      // Nobody can tell any more where it is, once the process that saw it is gone.
      if (
        before?.status?.account !== undefined && object.status?.account === undefined && this.books.isAway
      ) {
        this.books.taint(uid, "account");
      }
      // Rule 1 cannot tell it from a new one any more, once the process that knows better is gone.
      if (before !== undefined && isNew(object) && this.#hadFinalizer.has(uid)) {
        this.books.taint(uid, "looksNew");
      }
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
    const ahead = !this.books.isTainted(uid, "restored") &&
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
    this.check(); // what another took in this very moment
    const owner = recorded?.tags[TAG.uid];
    const known = this.books.recorded.get(uid) ?? new Set();
    this.books.recorded.set(uid, known);
    // One that was its own and lost its tags may be named, again or as a client token's answer: it is not touched.
    // So may the one that it named until its status was wiped, or that was made for it and is not recorded yet, where
    // another adopted that too lately to be seen.
    const itsOwn = this.#named.get(uid) === id || this.#madeFor.get(id ?? "") === uid;
    const own = owner === uid || (itsOwn && this.#owners.isTakenLately(id ?? "")) ||
      this.#owners.isLostLately(id ?? "", uid) ||
      (owner === undefined && (known.has(id ?? "") || this.#owners.wasEver(id ?? "", uid)));
    const observed = after.status?.observeOnly === true; // looked at and never touched
    if (recorded !== undefined && !own && !observed && !this.books.wasTouched(recorded.id)) {
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
    if (left === undefined || left.state === "Deleting" || this.books.wasTouched(left.id)) return;
    if (this.books.excused("S6", uid, "looksNew", "restored")) return;
    if (this.books.isElsewhere("S6", left, before.status)) return;
    const heir = left.tags[TAG.uid];
    if (heir !== undefined && heir !== uid) return; // another resource adopted it meanwhile
    if (heir === undefined && owner === uid) return; // its tags are lost, and what stands in for it has them
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
    const left = present.filter((d) => !this.books.isElsewhere("S4", d, before.status));
    const abandoned = annotations?.[ANNOTATION.abandon] === uid;
    if (abandoned) this.books.taint(uid, "abandoned");
    const meant = abandoned || store.crd !== "established" ||
      this.books.wasChangedLately(uid) && left.every((d) => d.tags[TAG.retained] === uid) ||
      policiesOf(before).deletion === "Retain" || isObserveOnly(before);
    if (left.length === 0) return;
    if (meant) return this.books.taint(uid, "left");
    if (this.books.excused("S4", uid, "looksNew", "restored")) return;
    const ids = left.map((d) => `${d.id} (${d.state})`).join(", ");
    this.fail("S4", `${by} released ${name} while the cloud still holds ${ids}`);
  }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
