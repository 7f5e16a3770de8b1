/**
 * What the judges of a world know of its resources and databases, and of which of them the operator promises nothing.
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { CloudRecord } from "../providers/simulated/types.ts";
import { ACCOUNT_BRACKET_MS } from "../statechart/view.ts";
import type { Coverage } from "./coverage.ts";
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

/** Calls to the cloud that may be answered between two words of the account that an absence is held to. */
const CALLS_BETWEEN = 3;

/** The judges' books. */
export class Books {
  readonly #taints = new Map<string, Set<Taint>>();
  readonly #changedByUser = new Map<string, number>();
  readonly #restoredAt = new Map<string, number>();
  /** When a person last changed a database by hand. */
  readonly #touched = new Map<string, number>();
  #crd = "established";
  #crdChangedAt = Number.NEGATIVE_INFINITY;
  #switchedAt = Number.NEGATIVE_INFINITY;
  /** When the credentials came back from where they were too short to be noticed. */
  #blinkedAt = Number.NEGATIVE_INFINITY;
  /** The last copy of every CR that ever was, by UID. */
  readonly seen = new Map<string, ExternalDatabase>();
  /** CRs that went with our finalizer on them and no deletion, and the process that wrote them last. */
  readonly vanished = new Map<string, { readonly object: ExternalDatabase; readonly writer: string }>();
  /** The ids that a CR's status ever named, by UID. */
  readonly recorded = new Map<string, Set<string>>();
  /** How long a change may go unnoticed, in milliseconds: a process may check, freeze, wake, and send. */
  readonly noticeMs: number;

  constructor(private readonly world: World, private readonly coverage: Coverage) {
    const freezes = world.plan.actions.map((a) => a.do === "freeze" ? a.ms : 0);
    this.noticeMs = NOTICE_MS + Math.max(0, ...freezes);
  }

  /** Notes whether the CRD is there. */
  lookAtCrd(): void {
    const { store, clock } = this.world;
    if (store.crd === this.#crd) return;
    this.#crd = store.crd;
    this.#crdChangedAt = clock.monotonic();
  }

  /** A person changed a CR. */
  changedByUser(uid: string): void {
    this.#changedByUser.set(uid, this.world.clock.monotonic());
  }

  /** A person changed a database by hand. */
  touch(id: string): void {
    this.#touched.set(id, this.world.clock.monotonic());
  }

  /** The credentials lead elsewhere: creates that are under way may be recorded under either account. */
  accountSwitched(): void {
    const now = this.world.clock.monotonic();
    const { account, latencyMs } = this.world.cloud.settings;
    const unseenMs = ACCOUNT_BRACKET_MS + CALLS_BETWEEN * latencyMs;
    if (account === ACCOUNT && now - this.#switchedAt < unseenMs) this.#blinkedAt = now;
    this.#switchedAt = now;
  }

  /**
   * The credentials led elsewhere a moment ago, for a time that fits between the account's own words before and after an
   * absence: nobody can tell that the absence was another account's word (A2).
   */
  get isBlinded(): boolean {
    return this.world.clock.monotonic() - this.#blinkedAt < this.noticeMs;
  }

  /** The cluster went back in time, and these CRs with it. */
  restored(uids: readonly string[]): void {
    for (const uid of uids) {
      this.#restoredAt.set(uid, this.world.clock.monotonic());
      this.taint(uid, "restored");
    }
  }

  /** From now on the operator promises nothing for what is a UID's. */
  taint(uid: string, why: Taint): void {
    const known = this.#taints.get(uid);
    if (known === undefined) this.#taints.set(uid, new Set([why]));
    else known.add(why);
  }

  /** Whether a UID is tainted by one of `why`. */
  isTainted(uid: string, ...why: readonly Taint[]): boolean {
    const known = this.#taints.get(uid);
    return known !== undefined && why.some((w) => known.has(w));
  }

  /** Whether the status of the CR of this UID ever named a database: somebody may know of it. */
  wasNamed(uid: string): boolean {
    return (this.recorded.get(uid)?.size ?? 0) > 0;
  }

  /** What a UID's CR is called, for people. */
  nameOf(uid: string): string {
    return this.seen.get(uid)?.metadata.name ?? uid;
  }

  /** Whether a judgement is not made for one of `why`; it is counted. */
  excused(rule: string, uid: string, ...why: readonly Taint[]): boolean {
    const known = this.#taints.get(uid);
    const taint = known === undefined ? undefined : why.find((w) => known.has(w));
    if (taint !== undefined) this.coverage.add("excused", `${rule} ${taint}`);
    return taint !== undefined;
  }

  /** The credentials lead elsewhere, or did until a moment ago. */
  get isAway(): boolean {
    return this.world.cloud.settings.account !== ACCOUNT ||
      this.world.clock.monotonic() - this.#switchedAt < ACCOUNT_NOTICE_MS;
  }

  /** When the credentials last led elsewhere, in monotonic milliseconds. */
  get switchedAt(): number {
    return this.#switchedAt;
  }

  /**
   * The database is in an account that the CR does not name: made while the credentials led there, and recorded under
   * another account or not at all. Nobody who asks the account that is named can know of it. Or it was said to be absent
   * by an account that answered for a moment.
   */
  isElsewhere(rule: string, record: CloudRecord, status: ExternalDatabase["status"]): boolean {
    const there = status?.account !== undefined
      ? record.account !== status.account
      : record.account !== this.world.cloud.settings.account || this.isAway;
    if (!there && !this.isBlinded) return false;
    this.coverage.add("excused", `${rule} ${there ? "account" : "blink"}`);
    this.taint(record.tags[TAG.uid] ?? "", "account");
    return true;
  }

  /** Whether the CR or the CRD changed so lately that nobody need know. */
  wasChangedLately(uid: string): boolean {
    const now = this.world.clock.monotonic();
    return now - (this.#changedByUser.get(uid) ?? Number.NEGATIVE_INFINITY) < this.noticeMs ||
      now - this.#crdChangedAt < this.noticeMs;
  }

  /** Whether a person changed a database by hand so lately that nobody need know, plus `more` milliseconds. */
  wasTouched(id: string, more = 0): boolean {
    const at = this.#touched.get(id);
    return at !== undefined && this.world.clock.monotonic() - at < this.noticeMs + more;
  }

  /** When the cluster went back to where this CR was otherwise, in monotonic milliseconds. */
  restoredAt(uid: string): number | undefined {
    return this.#restoredAt.get(uid);
  }
}
