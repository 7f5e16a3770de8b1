/**
 * Watches the cloud's own books while everything is killed around it, and judges what must hold at every moment.
 *
 * A kill of the cloud forgets the ledger since the last look, but no database: what the file holds is looked at as
 * soon as it serves again, and a database lives longer than two looks are apart.
 *
 * @module
 */
import { TAG } from "../../src/api/constants.ts";
import type { CallEntry, Effect } from "../../src/providers/simulated/ledger.ts";
import type { CloudSettings } from "../../src/providers/simulated/settings.ts";
import type { CloudRecord } from "../../src/providers/simulated/types.ts";
import { isMutation } from "../../src/providers/simulated/types.ts";
import type { Figures } from "./figures.ts";

/** How many calls back one that is still in flight is looked for. */
const RECENT = 2_000;

/** What a {@linkcode Witness} takes. */
export interface WitnessOptions {
  readonly figures: Figures;
  /** UIDs of resources that a user has asked to delete. */
  readonly asked: ReadonlySet<string>;
  /** File to which every effect is written. */
  readonly log: string;
  readonly violation: (oracle: string, what: string) => void;
}

/** The watcher of one cloud. */
export class Witness {
  /** Every database that was ever seen, by UID tag. */
  readonly #ids = new Map<string, Set<string>>();
  readonly #foreign = new Map<string, string>();
  readonly #told = new Set<string>();
  #effectMark = 0;
  #callMark = 0;
  /** Raised by each start of the cloud: an answer of the one before is not counted. */
  #life = 0;

  constructor(
    private readonly url: string,
    private readonly options: WitnessOptions,
  ) {}

  /** Puts databases in that are nobody's: they must never be touched (S3). */
  async addForeign(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const uid = crypto.randomUUID();
      const tags = i % 2 === 0 ? {} : { [TAG.uid]: uid, [TAG.cluster]: "another", [TAG.crName]: `db-${i}` };
      await this.#ask("POST", "databases", { name: `db-${i}`, tags });
    }
    for (const record of await this.databases()) this.#foreign.set(record.id, looks(record));
  }

  /** The cloud was started anew: its ledger is empty. */
  restarted(): void {
    this.#life++;
    this.#effectMark = 0;
    this.#callMark = 0;
  }

  /** Looks at what happened since the last time. Rejects while the cloud cannot be asked. */
  async look(): Promise<void> {
    const life = this.#life;
    const effects = await this.#ask("GET", `effects?since=${this.#effectMark}`) as Page<Effect>;
    const calls = await this.#ask("GET", `calls?since=${this.#callMark}`) as Page<CallEntry>;
    const databases = await this.databases();
    if (life !== this.#life) return;
    this.#effectMark = effects.mark;
    this.#callMark = calls.mark;
    for (const effect of effects.items) this.#onEffect(effect);
    const lines = effects.items.map((effect) => `${JSON.stringify({ seen: new Date(), ...effect })}\n`);
    await Deno.writeTextFile(this.options.log, lines.join(""), { append: true });
    for (const call of calls.items) this.options.figures.calls.add(call.verb);
    const live = new Map<string, string[]>();
    for (const { id, state, tags } of databases) {
      const uid = tags[TAG.uid];
      if (uid === undefined || this.#foreign.has(id)) continue;
      this.#saw(uid, id);
      if (state !== "Deleting") live.set(uid, [...live.get(uid) ?? [], id]);
    }
    for (const [uid, ids] of live) {
      if (ids.length > 1) this.#tell("S1", `${ids.length} live databases for ${uid}: ${ids.join(", ")}`);
    }
    const there = new Map(databases.map((d) => [d.id, d]));
    for (const [id, before] of this.#foreign) {
      const now = looks(there.get(id));
      if (now !== before) this.#tell("S3", `the foreign database ${id} was ${before} and is ${now}`);
    }
  }

  /** Mutating calls that are in flight now. */
  async inFlight(): Promise<number> {
    const since = Math.max(0, this.#callMark - RECENT);
    const { items } = await this.#ask("GET", `calls?since=${since}`) as Page<CallEntry>;
    return items.filter((c) => isMutation(c.verb) && c.outcome === "pending").length;
  }

  /** Mutating calls since `mark`, in words; and the mark for the next question. */
  async mutationsSince(mark: number): Promise<{ readonly mark: number; readonly calls: string[] }> {
    const page = await this.#ask("GET", `calls?since=${mark}`) as Page<CallEntry>;
    const calls = page.items.filter((c) => isMutation(c.verb)).map((c) =>
      `${c.verb} of ${c.id ?? c.uid} (${c.outcome})`
    );
    return { mark: page.mark, calls };
  }

  /** Every database, foreign ones too. */
  async databases(): Promise<CloudRecord[]> {
    return (await this.#ask("GET", "databases") as { items: CloudRecord[] }).items;
  }

  isForeign(id: string): boolean {
    return this.#foreign.has(id);
  }

  /** Turns the cloud's knobs. */
  async configure(settings: Partial<CloudSettings>): Promise<void> {
    await this.#ask("PATCH", "settings", settings);
  }

  #onEffect(effect: Effect): void {
    const { id, uid, kind, by } = effect;
    this.options.figures.effects.add(kind);
    if (by !== "api") return;
    if (kind === "create") this.#saw(uid ?? "nobody", id);
    if (kind === "delete" && (uid === undefined || !this.options.asked.has(uid))) {
      this.#tell("S3", `${id} of ${uid} was deleted, though nobody asked for it`);
    }
  }

  /** Nobody removes a database by hand, so one UID has one in its whole life. */
  #saw(uid: string, id: string): void {
    const ids = this.#ids.get(uid) ?? new Set();
    this.#ids.set(uid, ids.add(id));
    if (ids.size > 1) this.#tell("S1", `${uid} was given ${ids.size} databases: ${[...ids].join(", ")}`);
  }

  #tell(oracle: string, what: string): void {
    if (this.#told.has(what)) return;
    this.#told.add(what);
    this.options.violation(oracle, what);
  }

  async #ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(`${this.url}/admin/${path}`, {
      method,
      signal: AbortSignal.timeout(15_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = await answer.json();
    if (!answer.ok) throw new Error(`Asking the cloud for ${path} failed: ${JSON.stringify(json)}`);
    return json;
  }
}

/** All of a database but the monotonic moment, which moves with each start. */
function looks(record: CloudRecord | undefined): string {
  if (record === undefined) return "gone";
  const { listedFrom: _, ...rest } = record;
  return JSON.stringify(rest, Object.keys(rest).concat(Object.keys(rest.tags)).sort()); // a start orders them anew
}

interface Page<T> {
  readonly mark: number;
  readonly items: readonly T[];
}
