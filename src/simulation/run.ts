/**
 * Runs one plan to its end and says what went wrong, if anything did.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import type { EventRecord } from "../kube/port.ts";
import { Coverage } from "./coverage.ts";
import { drive } from "./drain.ts";
import { confirmAbsences, unsettled } from "./liveness.ts";
import type { Plan } from "./plan.ts";
import { Safety } from "./safety.ts";
import { Strikes } from "./strikes.ts";
import { Trace } from "./trace.ts";
import { World, type WorldObserver, type WorldOptions } from "./world.ts";

/** What broke. */
export interface Violation {
  /** The rule or promise. */
  readonly oracle: string;
  readonly what: string;
  /** Milliseconds after the beginning. */
  readonly at: number;
}

/** What of a world is not as it should be, once it should. */
export interface Problem {
  /** The promise that it breaks. */
  readonly oracle: "L1" | "S2";
  readonly what: string;
}

/** How a run ended. */
export interface RunResult {
  readonly violation: Violation | undefined;
  /** The first of each oracle, in order of time; more than one only with {@linkcode RunOptions.promises}. */
  readonly violations: readonly Violation[];
  readonly trace: readonly string[];
  /** A hash of everything that happened. */
  readonly digest: string;
  readonly steps: number;
  /** Calls that the first process made before faults ended. */
  readonly calls: number;
  readonly coverage: Coverage["counts"];
  /** Virtual milliseconds. */
  readonly ms: number;
  /** Milliseconds from the end of all faults until the world was as the specs ask. */
  readonly settledAfterMs: number | undefined;
}

/** What {@linkcode runPlan} takes beside the plan. */
export interface RunOptions extends WorldOptions {
  /** Keeps the trace's lines, not only their hash. @default false */
  readonly trace?: boolean;
  /** Hashes everything that happens, which a campaign without an interest in it is spared. @default true */
  readonly digest?: boolean;
  /** @default true */
  readonly fast?: boolean;
  /** Given the world before its first step, and what ends the run with a violation: how a script written by hand acts and judges. */
  readonly onWorld?: (world: World, fail: (oracle: string, what: string) => void) => void;
  /** Told of each Event that a process records. */
  readonly onEvent?: (event: EventRecord) => void;
  /** For a subject that promises less than the operator: the only oracles that count, and a run goes on after the first. @default all */
  readonly promises?: ReadonlySet<string> | undefined;
  /** Says what is not as it should be. @default {@linkcode unsettled} */
  readonly judge?: ((world: World, safety: Safety) => readonly Problem[]) | undefined;
}

const MINUTE = 60_000;
/** Once faults have ended the world is as the specs ask within this time, in milliseconds (L1): two watches that fall silent, then the slowest back-off twice. */
export const SETTLE_BOUND_MS = 45 * MINUTE;
/** A person answers what waits for one this long after the faults, and as often. */
const PERSON_MS = 3 * MINUTE;
/** No world needs more steps: a loop that never rests. */
const MAX_STEPS = 400_000;
/** Cloud calls and cluster requests that the operator makes in one minute at most, for each resource and besides. */
const CALLS_A_MINUTE = { each: 250, besides: 200 } as const;

/** Runs a plan. */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  const trace = new Trace(options.trace ?? false, options.digest ?? true);
  const violations: Violation[] = [];
  const { promises } = options;
  // deno-lint-ignore prefer-const -- the observer needs the world, and the world the observer
  let world: World;
  // deno-lint-ignore prefer-const -- as above
  let safety: Safety | undefined;
  const fail = (oracle: string, what: string) => {
    const counts = promises === undefined ? violations.length === 0 : promises.has(oracle);
    if (counts && !violations.some((v) => v.oracle === oracle)) {
      violations.push({ oracle, what, at: Math.round(world.time) });
    }
    trace.add(world.time, "ORACLE", `${oracle}: ${what}`);
  };
  const budget = new Budget();
  const coverage = new Coverage();
  const strikes = new Strikes(() => world, coverage);
  let calls = 0;
  const observer: WorldObserver = {
    say: (who, line) => trace.add(world?.time ?? 0, who, line),
    deed: (deed) => {
      coverage.add("deed", deed.do);
      strikes.deed(deed);
    },
    call: (p, what) => {
      if (p.name === "p1" && !world.calm && !what.startsWith("lease ")) calls++;
      trace.add(world.time, p.name, `→ ${what}`);
      budget.count(world.time);
    },
    answer: (p, what, outcome, result) => {
      strikes.answer(p, what, result);
      if (trace.on) trace.add(world.time, p.name, `← ${what}: ${outcome}`);
    },
    mutation: (p, m) => safety?.mutation(p, m) ?? (() => {}),
    log: (p, level, message, fields) => {
      if (trace.on) trace.add(world.time, p.name, `${level} ${message} ${JSON.stringify(fields ?? {})}`);
      if (message.startsWith("Failed: ")) coverage.add("failure", `${message.slice(8)} ${fields?.["class"]}`);
      if (fields?.["class"] === "bug" || DEFECTS.some((d) => message.startsWith(d))) {
        fail("F4", `${message}: ${fields?.["error"] ?? ""}`);
      }
    },
    event: (p, e) => {
      trace.add(world.time, p.name, `Event ${e.reason} ${e.regarding.metadata.name}: ${e.note}`);
      options.onEvent?.(e);
    },
    transition: (p, t) => {
      coverage.add("transition", `${t.from ?? "·"}⇒${t.to ?? "·"}`);
      strikes.transition(t);
      const name = t.object.metadata.name;
      trace.add(world.time, p.name, `${name}: ${t.from ?? "·"} ⇒ ${t.to ?? "·"} (${t.event}, ${t.reason})`);
    },
    died: (p, why) => {
      strikes.died(p, why);
      trace.add(world.time, p.name, `dies: ${why}`);
    },
    restored: (uids) => uids.forEach((uid) => safety?.taint(uid, "restored")),
    duplicated: (uid) => safety?.taint(uid, "duplicated"),
    accountSwitched: () => safety?.accountSwitched(),
  };
  world = new World(plan, observer, options);
  safety = new Safety(world, fail, coverage, (effect, before) => strikes.effect(effect, before));
  const judged = safety;
  world.store.listen((c) => {
    strikes.changed(c.before, c.object);
    if (!trace.on) return;
    const { name } = c.object.metadata;
    trace.add(world.time, "kube", `${c.type} ${name} rv ${c.rv} by ${c.by}${describe(c.object)}`);
  });
  options.onWorld?.(world, fail);
  const end = new Ending(plan, world, judged, fail, options.judge ?? unsettledProblems);
  let steps = 0;
  await drive(() => {
    judged.check();
    const spent = budget.exceeded(world.store.all().length);
    if (spent !== undefined) fail("S5", spent);
    if (++steps > MAX_STEPS) {
      fail("S5", `more than ${MAX_STEPS} steps`);
      return false;
    }
    if ((promises === undefined && violations.length > 0) || end.over) return false;
    if (!world.clock.step(world.origin + end.until)) end.next();
    return true;
  }, options.fast === undefined ? {} : { fast: options.fast });
  strikes.finish();
  coverage.endOfWorld();
  world.end();
  return {
    violation: violations[0],
    violations,
    trace: trace.lines,
    digest: trace.digest,
    steps,
    calls,
    coverage: coverage.counts,
    ms: Math.round(world.time),
    settledAfterMs: end.settledAfterMs,
  };
}

function describe({ metadata, status }: ExternalDatabase): string {
  const conditions = (status?.conditions ?? []).map((c) =>
    `${c.type} ${c.status}/${c.reason} ${JSON.stringify(c.message)}`
  );
  const words = [
    `generation ${metadata.generation}`,
    metadata.deletionTimestamp === undefined ? "" : "deleting",
    metadata.finalizers?.join(",") ?? "no finalizer",
    status?.state,
    status?.providerId,
    ...conditions,
  ];
  return `: ${words.filter((w) => w).join(", ")}`;
}

function unsettledProblems(world: World, safety: Safety): Problem[] {
  return unsettled(world, safety).map((what) => ({ oracle: "L1", what }));
}

/** L4: what fails says each of its first nine tries. */
function isRetrying(object: ExternalDatabase | undefined): boolean {
  return object?.status?.conditions?.some((c) => c.message.includes("(retry step ")) ?? false;
}

/** Log lines that only a defect writes. */
const DEFECTS = [
  "An actor crashed",
  "Failed to hand a resource",
  "The handler of",
  "The operator failed",
];

/** Counts calls by the minute. */
class Budget {
  #minute = -1;
  #count = 0;

  count(time: number): void {
    const minute = Math.floor(time / MINUTE);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#count = 0;
    }
    this.#count++;
  }

  exceeded(resources: number): string | undefined {
    const limit = CALLS_A_MINUTE.each * Math.max(1, resources) + CALLS_A_MINUTE.besides;
    return this.#count > limit ? `${this.#count} calls in one minute for ${resources} resources` : undefined;
  }
}

/** The time after the faults: the world settles, then it is silent. */
class Ending {
  over = false;
  settledAfterMs: number | undefined;
  /** The next moment to look, in milliseconds after the beginning. */
  until: number;
  readonly #step: number;
  #goodSince: number | undefined;
  #silence: { readonly rv: number; readonly mutations: number } | undefined;
  #person: number;
  #seenChanges = 0;

  constructor(
    private readonly plan: Plan,
    private readonly world: World,
    private readonly safety: Safety,
    private readonly fail: (oracle: string, what: string) => void,
    private readonly judge: NonNullable<RunOptions["judge"]>,
  ) {
    this.#step = 10_000;
    this.until = plan.chaosMs + 1_000;
    this.#person = plan.chaosMs + PERSON_MS;
  }

  /** The moment has come. */
  next(): void {
    if (this.#silence !== undefined) return this.#judgeSilence(this.#silence);
    const { time } = this.world;
    const problems = this.judge(this.world, this.safety);
    const changes = this.#changes();
    if (problems.length > 0 || changes > this.#seenChanges) this.#goodSince = undefined;
    else this.#goodSince ??= time;
    this.#seenChanges = changes;
    this.world.store.installCrd();
    // Good for a whole period: the list has been seen, and nothing came of it.
    if (this.#goodSince !== undefined && time - this.#goodSince > this.plan.pollMs * 1.1 + MINUTE) {
      this.settledAfterMs = this.#goodSince - this.plan.chaosMs;
      this.#silence = { rv: this.world.store.rv, mutations: this.#mutations() };
      this.until = time + 5 * this.plan.pollMs;
      this.world.observer.say("world", "is as the specs ask; silence begins");
      return;
    }
    if (time > this.plan.chaosMs + SETTLE_BOUND_MS + 2 * this.plan.pollMs) {
      if (problems.length === 0) this.fail("L1", "it never stays settled");
      for (const [oracle, some = []] of Object.entries(Object.groupBy(problems, (p) => p.oracle))) {
        this.fail(oracle, some.map((p) => p.what).join("; "));
      }
      this.over = true;
      return;
    }
    if (time >= this.#person) {
      this.#person += PERSON_MS;
      confirmAbsences(this.world, String(time));
      for (const { id, protected: p } of this.world.cloud.databases()) {
        if (p) this.world.cloud.edit(id, { protected: false });
      }
    }
    this.until = time + this.#step;
  }

  /** Changes of the cloud's databases so far, its own ones too. */
  #changes(): number {
    return this.world.cloud.ledger.effects().length;
  }

  #mutations(): number {
    return this.world.cloud.ledger.mutatingCalls().length;
  }

  #judgeSilence(before: { readonly rv: number; readonly mutations: number }): void {
    const { store, working } = this.world;
    const sent = this.#mutations() - before.mutations;
    if (sent > 0) {
      this.fail("S5", `${sent} mutating calls though in step`);
      this.over = true;
      return;
    }
    if (this.#changes() > this.#seenChanges) { // the cloud did something by itself: no silence was due
      this.#silence = undefined;
      this.until = this.world.time + this.#step;
      return;
    }
    const changes = store.since(before.rv).filter((c) => !isRetrying(c.before))
      .map((c) => `${c.object.metadata.name} by ${c.by}`);
    if (changes.length > 0) this.fail("S5", `written though in step: ${changes.join(", ")}`);
    const live = store.all().length;
    if (working === undefined) this.fail("L1", "no process works");
    else {
      const { size } = working.operator.supervisor;
      if (size !== live) this.fail("L1", `${size} actors for ${live} resources`);
      if (working.clock.pending > 3 * live + 20) {
        this.fail("S5", `${working.clock.pending} timers for ${live} resources`);
      }
    }
    this.over = true;
  }
}
