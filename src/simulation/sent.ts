/**
 * Judges each mutation in the tick that sends it, by what the world is and by what its process knew (S3, rules 8, 9, 13,
 * 14, H1).
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import { ProviderError } from "../providers/port.ts";
import { policiesOf } from "../statechart/facts.ts";
import type { Books } from "./books.ts";
import type { Mutation } from "./gates.ts";
import type { PolicyJudge } from "./policies.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** Watches what is sent to the cloud. */
export class SentJudge {
  readonly #inFlight = new Map<string, Mutation>();
  readonly #unknownModify = new Map<string, number>();

  constructor(
    private readonly world: World,
    private readonly books: Books,
    private readonly policies: PolicyJudge,
    private readonly fail: (oracle: string, what: string) => void,
  ) {}

  /** A mutation is sent; the result is called at its end, with the error if it failed. */
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
    if (!this.books.wasTouched(mutation.target)) this.policies.mutation(process, mutation);
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

  /** Rules 9 and 14, strictly: what the process itself had heard by then forbids it. */
  #onKnown(process: SimulatedProcess, { verb, target, values, password = false }: Mutation): void {
    if (!values) return;
    const uid = verb === "create" ? target : this.world.cloud.get(target)?.tags[TAG.uid];
    // What another resource's actor read of this one its own does not know; a password is sent without a read.
    const object = password ? process.hearing.heard(uid ?? "") : process.hearing.known(uid ?? "");
    if (object === undefined || this.books.isTainted(uid ?? "", "restored")) return; // it knew a history that is no more
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
    if (verb === "modify" && this.books.wasTouched(target)) return;
    if (uid === undefined || !this.books.seen.has(uid)) {
      return this.fail("S3", `${verb} of ${target}, which is nobody's`);
    }
    if (verb === "modify" || this.books.wasChangedLately(uid)) return;
    if (this.books.excused("wish", uid, "restored", "forced", "looksNew")) return;
    const object = store.byUid(uid);
    const name = this.books.nameOf(uid);
    if (object === undefined) return this.fail("S2", `${verb} for ${name}, which is gone`);
    if (object.metadata.deletionTimestamp !== undefined) {
      this.fail("rule 14", `${verb} for ${name}, being deleted`);
    }
    if (object.spec.paused) this.fail("D4", `${verb} for ${name}, which is paused`);
  }

  /**
   * The read that a delete relies on (rule 9) showed a CR being deleted, and was sent before the cluster went back to
   * where it lives: between that read and the delete lies a read of the database, and nobody can know.
   */
  #readBeforeRestore(process: SimulatedProcess, uid: string): boolean {
    const at = this.books.restoredAt(uid);
    const asked = process.hearing.asked(uid);
    return at !== undefined && asked !== undefined && asked.sentAt <= at &&
      asked.object.metadata.deletionTimestamp !== undefined &&
      this.world.clock.monotonic() - at < this.books.noticeMs;
  }

  #onDelete(process: SimulatedProcess, id: string): void {
    const { cloud, store } = this.world;
    const record = cloud.get(id);
    if (record === undefined || this.books.wasTouched(id)) return;
    const uid = record.tags[TAG.uid];
    if (uid === undefined || !this.books.seen.has(uid)) {
      return this.fail("S3", `delete of ${id}, which carries ${uid ?? "no UID"}`);
    }
    const object = store.byUid(uid);
    if (this.books.wasChangedLately(uid) || this.#readBeforeRestore(process, uid)) return;
    if (object === undefined) {
      // One that a restored cluster never knew is deleted only where nobody was ever told of it (vanished.ts).
      // So is one whose CR's DELETE crossed the finalizer (S2, C6).
      const untold = this.books.isTainted(uid, "restored") || this.books.vanished.has(uid);
      if (untold && !this.books.recorded.get(uid)?.has(id)) return;
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
}
