/**
 * What the policies of the specs forbid, judged by the cloud's and the cluster's own books: a resource that only observes
 * changes nothing (D4), what is protected by its spec is not deleted (D5), and what is to be kept in a snapshot goes only
 * after that was named and taken, once (rule 17, D7).
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { Effect } from "../providers/simulated/ledger.ts";
import { equal } from "../core/equal.ts";
import { isObserveOnly, policiesOf } from "../statechart/facts.ts";
import type { Mutation } from "./gates.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** A watch that says nothing for so long is dead (W2), in milliseconds, and some more until another has told. */
const SILENT_MS = 180_000;

/** Watches a world. */
export class PolicyJudge {
  /** When a user last changed what the policies of a UID are, monotonic milliseconds. */
  readonly #changed = new Map<string, number>();

  constructor(
    private readonly world: World,
    private readonly fail: (oracle: string, what: string) => void,
    /** How long a change by a user may go unnoticed by a call that is under way, in milliseconds. */
    private readonly noticeMs: number,
    /** Whether its cluster went back in time: what is known of it may be no more. */
    private readonly restored: (uid: string) => boolean,
  ) {
    world.store.listen(({ object, before, by }) => {
      if (by !== "user" || before === undefined) return;
      const same = equal(policyOf(before), policyOf(object)) && before.status === object.status;
      if (!same) this.#changed.set(object.metadata.uid, world.clock.monotonic());
    });
  }

  /** A mutation is sent. */
  mutation(process: SimulatedProcess, mutation: Mutation): void {
    const { verb, target, values } = mutation;
    const uid = verb === "create" ? target : this.world.cloud.get(target)?.tags[TAG.uid];
    // Tags alone may be another's, who adopts the database.
    const adopted = verb === "modify" && !values &&
      this.#naming(target).some((o) => o.metadata.uid !== uid && !isObserveOnly(o));
    if (adopted) return;
    const hears = (uid: string) =>
      mutation.password ? process.hearing.heard(uid) : process.hearing.known(uid);
    const known = uid === undefined || this.restored(uid) ? undefined : hears(uid);
    if (known !== undefined) this.#judge(mutation, known, "though it knew that");
    // A change goes by the copy that is known (rule 8), and that may be of before a watch fell silent (W2).
    const more = verb === "modify" ? SILENT_MS : 0;
    const object = uid === undefined || this.#unsure(uid, more) ? undefined : this.world.store.byUid(uid);
    if (object !== undefined) {
      this.#judge(mutation, object, "though");
      this.#onSnapshot(mutation, object);
    }
    if (verb !== "create") this.#onObserved(target, uid, verb, more);
  }

  #unsure(uid: string, moreMs = 0): boolean {
    const at = this.#changed.get(uid) ?? Number.NEGATIVE_INFINITY;
    return this.world.clock.monotonic() - at < this.noticeMs + moreMs || this.restored(uid);
  }

  #judge({ verb, target }: Mutation, object: ExternalDatabase, though: string): void {
    const { name, deletionTimestamp } = object.metadata;
    if (isObserveOnly(object)) {
      this.fail("ObserveOnly", `${verb} of ${target}, ${though} ${name} only observes`);
    }
    const deletes = verb === "delete" && deletionTimestamp !== undefined;
    if (deletes && object.spec.deletionProtection === true) {
      this.fail("D5", `delete of ${target}, ${though} the spec of ${name} protects it`);
    }
  }

  /** Rule 17: named before it is sent. One that failed before it was ever available holds nothing. */
  #onSnapshot({ verb, target, finalSnapshot }: Mutation, object: ExternalDatabase): void {
    if (verb !== "delete" || object.metadata.deletionTimestamp === undefined) return;
    if (policiesOf(object).deletion !== "Snapshot") return;
    const { name } = object.metadata;
    const record = this.world.cloud.get(target);
    if (finalSnapshot === undefined) {
      if (record?.endpoint === undefined) return;
      return this.fail("rule 17", `delete of ${target} without the snapshot that ${name} asks for`);
    }
    if (object.status?.finalSnapshot !== finalSnapshot) {
      const said = object.status?.finalSnapshot ?? "none";
      this.fail("rule 17", `delete of ${target} with snapshot ${finalSnapshot}, while ${name} names ${said}`);
    }
  }

  /** Nothing is done to what is only observed, except for another resource that manages it. */
  #onObserved(id: string, owner: string | undefined, verb: string, moreMs: number): void {
    const naming = this.#naming(id);
    const [observer] = naming;
    if (observer === undefined) return;
    if (naming.some((o) => !isObserveOnly(o) || this.#unsure(o.metadata.uid, moreMs))) return;
    if (owner !== undefined && owner !== observer.metadata.uid) return; // judged by its own resource
    this.fail(
      "ObserveOnly",
      `${verb} of ${id}, which ${observer.metadata.name} alone names and only observes`,
    );
  }

  /** The resources that name a database. */
  #naming(id: string): ExternalDatabase[] {
    return this.world.store.all().filter((o) => o.status?.providerId === id || o.spec.providerId === id);
  }

  /** A change at the cloud. */
  effect({ kind, by, id, uid = "", detail }: Effect): void {
    if (kind !== "delete" || by !== "api") return;
    const { cloud, store } = this.world;
    const taken = cloud.snapshots().filter((s) => s.databaseId === id);
    if (taken.length > 1) {
      this.fail("D7", `${taken.length} snapshots of ${id}: ${taken.map((s) => s.name).join(", ")}`);
    }
    const object = store.byUid(uid);
    if (object?.metadata.deletionTimestamp === undefined || this.#unsure(uid)) return;
    const used = cloud.get(id)?.endpoint !== undefined;
    if (policiesOf(object).deletion === "Snapshot" && used && (taken.length === 0 || detail === "")) {
      this.fail("D7", `${id} is deleted without the snapshot that ${object.metadata.name} asks for`);
    }
  }
}

/** The part of a spec that says what may be done with its database. */
function policyOf({ spec }: ExternalDatabase): unknown {
  const { managementPolicy, deletionPolicy, deletionProtection, providerId } = spec;
  return [managementPolicy, deletionPolicy, deletionProtection, providerId];
}
