/**
 * The simulated cloud: the model's rules with time, latency and faults around them, and the eyes of the tests.
 *
 * Promises: a call that was sent takes effect at most once, within the effect bound, whether or not its caller still
 * waits; answers are what the cloud was like at the moment of the effect. All time comes from the clock, all chance
 * from the random source; the only timers are those that a waiting caller needs. What is due happens before anything
 * is looked at, in order of its time.
 *
 * @module
 */
import { TAG } from "../../api/constants.ts";
import type { Clock } from "../../core/clock.ts";
import { jitter, type Random } from "../../core/random.ts";
import { TokenBucket } from "../../core/token_bucket.ts";
import { sleep } from "../../core/wait.ts";
import { type Fault, type FaultContext, Faults, REFUSALS } from "./faults.ts";
import { type CallEntry, Ledger } from "./ledger.ts";
import { letsIn, settleLogin } from "./logins.ts";
import { type Applied, CloudModel } from "./model.ts";
import { checkSetting, type CloudSettings, DEFAULT_SETTINGS } from "./settings.ts";
import { dumpState, loadState } from "./state.ts";
import { view } from "./store.ts";
import { Timeline } from "./timeline.ts";
import type { CloudAnswer, CloudCall, CloudRecord, DatabaseView } from "./types.ts";
import { ConnectionLostError, isMutation } from "./types.ts";

/** How long a call without an answer is held before its connection breaks, in milliseconds. */
const STALL_MS = 600_000;

/** What a {@linkcode SimulatedCloud} is made of. Settings that are absent are {@linkcode DEFAULT_SETTINGS}. */
export interface SimulatedCloudOptions extends Partial<CloudSettings> {
  readonly clock: Clock;
  readonly random: Random;
}

/** Fields that a person at the console changes; see {@linkcode SimulatedCloud.edit}. */
export type ConsoleEdit = Partial<
  Pick<
    CloudRecord,
    "engine" | "version" | "sizeGb" | "usedGb" | "state" | "word" | "endpoint" | "tags" | "protected"
  >
>;

/** A cloud in this process. */
export class SimulatedCloud {
  /** The knobs; may be changed at any time. */
  readonly settings: CloudSettings;
  readonly faults: Faults;
  readonly #ledger = new Ledger();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #timeline = new Timeline();
  readonly #model: CloudModel;
  readonly #results = new Map<number, CloudAnswer | undefined>();
  readonly #bucket: TokenBucket;

  constructor({ clock, random, ...settings }: SimulatedCloudOptions) {
    this.settings = { ...structuredClone(DEFAULT_SETTINGS) };
    this.configure(settings);
    this.#clock = clock;
    this.#random = random;
    this.faults = new Faults(random, this.settings, () => clock.monotonic());
    this.#bucket = new TokenBucket(this.settings, () => clock.monotonic());
    this.#model = new CloudModel({
      settings: this.settings,
      random,
      timeline: this.#timeline,
      ledger: this.#ledger,
      wall: (at) => clock.now() - (clock.monotonic() - at),
    });
  }

  /** What was called and what happened, up to now. */
  get ledger(): Ledger {
    this.advance();
    return this.#ledger;
  }

  /** Changes knobs. Throws when one is unknown or its value makes no sense. */
  configure(settings: Partial<CloudSettings>): void {
    for (const [key, value] of Object.entries(settings)) {
      if (value === undefined) continue;
      checkSetting(key, value);
      Object.assign(this.settings, { [key]: value });
    }
  }

  /**
   * Sends one call. Resolves with the cloud's answer, refusals included; rejects with
   * {@linkcode ConnectionLostError} when the answer is lost, or with the signal's reason when the caller goes first
   * (the call goes on).
   */
  async call(
    call: CloudCall,
    options: { readonly signal?: AbortSignal | undefined; readonly caller?: string | undefined } = {},
  ): Promise<CloudAnswer> {
    const { signal, caller } = options;
    this.advance();
    const sent = this.#clock.monotonic();
    const account = this.settings.account;
    const context = this.#context(call, caller);
    const fault = this.#throttle() ?? this.faults.pick(context) ?? {};
    const { effectAt, answerAt } = this.#schedule(fault, sent, isMutation(call.verb));
    const entry = this.#ledger.open({
      at: sent,
      verb: call.verb,
      caller,
      id: context.id,
      uid: context.uid,
      clientToken: call.verb === "create" ? call.body.clientToken : undefined,
      tags: call.verb === "list"
        ? Object.fromEntries(call.tags)
        : "body" in call
        ? call.body.tags
        : undefined,
      effect: effectAt === undefined ? "none" : "pending",
    });
    const wanted = fault.answer === undefined;
    if (effectAt !== undefined) {
      if (wanted) this.#results.set(entry.seq, undefined);
      this.#timeline.push({ kind: "call", call, account, entry: entry.seq, at: effectAt });
    }
    try {
      const wait = answerAt - this.#clock.monotonic();
      if (wait > 0) await sleep(this.#clock, wait, signal);
      else signal?.throwIfAborted();
      this.#advanceTo(Math.max(answerAt, this.#clock.monotonic())); // timers may fire a little early
      return this.#answer(entry, fault);
    } catch (error) {
      if (entry.outcome === "pending") entry.outcome = "aborted";
      throw error;
    } finally {
      entry.answeredAt = this.#clock.monotonic();
      this.#results.delete(entry.seq);
    }
  }

  #answer(entry: CallEntry, fault: Fault): CloudAnswer {
    if (fault.answer === "lost" || fault.answer === "stall") {
      entry.outcome = "lost";
      throw new ConnectionLostError("The connection broke");
    }
    const answer: CloudAnswer | undefined = fault.answer === undefined
      ? this.#results.get(entry.seq)
      : { status: fault.answer.status, refusal: fault.answer };
    if (answer === undefined) {
      throw new Error(`Simulating a ${entry.verb}: it was answered before its effect`);
    }
    entry.outcome = answer.refusal?.code ?? "ok";
    return answer;
  }

  #context(call: CloudCall, caller: string | undefined): FaultContext {
    const id = "id" in call ? call.id : undefined;
    const tags = call.verb === "create"
      ? call.body.tags
      : id !== undefined
      ? this.#model.store.get(id)?.tags
      : call.verb === "list"
      ? Object.fromEntries(call.tags)
      : undefined;
    return { verb: call.verb, id, uid: tags?.[TAG.uid], caller };
  }

  #throttle(): Fault | undefined {
    const retryAfterSeconds = this.#bucket.take();
    if (retryAfterSeconds === undefined) return undefined;
    return { answer: { ...REFUSALS.throttled, retryAfterSeconds }, effect: "none" };
  }

  #schedule(
    fault: Fault,
    sent: number,
    mutation: boolean,
  ): { effectAt: number | undefined; answerAt: number } {
    const s = this.settings;
    const latency = Math.max(0, s.latencyMs === 0 ? 0 : jitter(this.#random, s.latencyMs, s.jitter));
    const effect = fault.effect ?? (typeof fault.answer === "object" ? "none" : "done");
    let delay = latency / 2 + (fault.delayMs ?? 0);
    if (effect === "late" && fault.delayMs === undefined) {
      delay = s.effectBoundMs * (0.1 + 0.85 * this.#random.next());
    }
    // A call takes effect within the bound of being sent, or never; reads may be as slow as they like.
    if (mutation) delay = Math.min(delay, s.effectBoundMs * 0.99);
    const effectAt = effect === "none" ? undefined : sent + delay;
    if (fault.answer === "stall") return { effectAt, answerAt: sent + STALL_MS };
    if (fault.answer === undefined) return { effectAt, answerAt: sent + delay + latency / 2 };
    return { effectAt, answerAt: sent + latency + (effect === "late" ? 0 : fault.delayMs ?? 0) };
  }

  /** Lets everything happen that is due. Every other method does it first. */
  advance(): void {
    this.#advanceTo(this.#clock.monotonic());
  }

  #advanceTo(now: number): void {
    for (let job = this.#timeline.popDue(now); job !== undefined; job = this.#timeline.popDue(now)) {
      if (job.kind !== "call") {
        this.#model.finish(job);
        continue;
      }
      const entry = this.#ledger.take(job.entry);
      const applied = this.#model.apply(job.call, {
        account: job.account,
        caller: entry?.caller,
        at: job.at,
      });
      if (entry !== undefined) note(entry, applied, job.at);
      if (this.#results.has(job.entry)) this.#results.set(job.entry, applied.answer);
    }
  }

  /** Mutating calls that were sent and have not taken effect yet. */
  pendingEffects(): number {
    this.advance();
    return this.#timeline.jobs().filter((j) => j.kind === "call" && isMutation(j.call.verb)).length;
  }

  /** When the next thing happens, in monotonic milliseconds, or `undefined`. */
  nextAt(): number | undefined {
    this.advance();
    return this.#timeline.next();
  }

  /** All databases of an account, or of all accounts, in creation order. */
  databases(account?: string): CloudRecord[] {
    this.advance();
    return [...this.#model.store.all()].filter((r) => account === undefined || r.account === account);
  }

  /** One database in whatever account, without a call. */
  get(id: string): CloudRecord | undefined {
    this.advance();
    return this.#model.store.get(id);
  }

  /** The databases by UID tag that live and are not being deleted: S1 holds while none has two. */
  liveByUid(): Map<string, CloudRecord[]> {
    return this.#byUid((r) => r.state !== "Deleting");
  }

  /** The databases by UID tag, those being deleted too: S2 holds when none is left without its CR. */
  presentByUid(): Map<string, CloudRecord[]> {
    return this.#byUid(() => true);
  }

  #byUid(keep: (record: CloudRecord) => boolean): Map<string, CloudRecord[]> {
    const result = new Map<string, CloudRecord[]>();
    for (const record of this.databases()) {
      const uid = record.tags[TAG.uid];
      if (uid === undefined || !keep(record)) continue;
      const list = result.get(uid);
      if (list === undefined) result.set(uid, [record]);
      else list.push(record);
    }
    return result;
  }

  /** Final snapshots, oldest first. */
  snapshots() {
    this.advance();
    return [...this.#model.snapshots];
  }

  /** Whether the database is there and lets its master user in with this password, as its engine would. */
  loginWorks(id: string, password: string): boolean {
    const record = this.get(id);
    return record !== undefined && letsIn(record, password);
  }

  /** Changes a database as a person at the console does: no rule, no operation, at once. */
  edit(id: string, change: ConsoleEdit): DatabaseView {
    const record = this.#known(id);
    const { tags, ...fields } = change;
    if (fields.state !== undefined) {
      record.op++; // what was going on is over
      settleLogin(record);
    }
    Object.assign(record, fields);
    if (tags !== undefined) this.#model.store.setTags(record, { ...tags });
    const now = this.#clock.monotonic();
    record.updatedAt = this.#clock.now();
    this.#model.record("change", "console", record, now, JSON.stringify(change));
    return view(record, this.settings);
  }

  /** Takes a database away as a person at the console does, whatever its state (R7, D9). */
  remove(id: string): void {
    this.#model.drop(this.#known(id), this.#clock.monotonic(), "console");
  }

  /** Puts an available database in as a person at the console does, listed at once (A1, S3). */
  insert(fields: Partial<Omit<CloudRecord, "id" | "seq">> = {}): DatabaseView {
    this.advance();
    const now = this.#clock.monotonic();
    const { name = "foreign", engine = "postgres", version = "14.2", sizeGb = 20, tags = {}, account } =
      fields;
    const made = this.#model.insert(
      { name, engine, version, sizeGb, tags: { ...tags } },
      now,
      account ?? this.settings.account,
    );
    const { tags: _tags, ...rest } = fields;
    Object.assign(
      made,
      { state: "Available", endpoint: `${made.id}.db.example:5432`, listedFrom: now },
      rest,
    );
    this.#model.record("create", "console", made, now, "");
    return view(made, this.settings);
  }

  #known(id: string): CloudRecord {
    this.advance();
    const record = this.#model.store.get(id);
    if (record === undefined) throw new Error(`Changing a database by hand: there is no "${id}"`);
    return record;
  }

  /** Differs when {@linkcode dump} would. */
  get revision(): number {
    this.advance();
    return this.#model.revision;
  }

  /** Everything that the cloud knows, as text: databases, tokens, snapshots, and what is still to happen. */
  dump(): string {
    this.advance();
    return dumpState(this.#model, this.#timeline, this.#clock);
  }

  /** Puts a {@linkcode dump} into this (new) cloud; the time between counts. Throws when the text is not a dump. */
  load(text: string): void {
    loadState(text, this.#model, this.#timeline, this.#clock);
    this.advance();
  }
}

function note(entry: CallEntry, applied: Applied, at: number): void {
  entry.effect = applied.effect;
  entry.effectAt = at;
  if (applied.id !== undefined) entry.id = applied.id;
  if (applied.uid !== undefined) entry.uid = applied.uid;
}
