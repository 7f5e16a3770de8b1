/**
 * Runs one plan to its end and says what went wrong, if anything did.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import type { EventRecord } from "../kube/port.ts";
import { Budget } from "./budget.ts";
import { type End, Ends } from "./compare.ts";
import { Coverage } from "./coverage.ts";
import { drive } from "./drain.ts";
import { Ending, type Judge, unsettledProblems } from "./ending.ts";
import { Honesty } from "./honesty.ts";
import type { Plan } from "./plan.ts";
import { Safety } from "./safety.ts";
import { Strikes } from "./strikes.ts";
import { tokenProblem } from "./tokens.ts";
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
  /** What became of each resource's name. */
  readonly ends: ReadonlyMap<string, End>;
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
  readonly judge?: Judge | undefined;
}

/** No world needs more steps: a loop that never rests. */
const MAX_STEPS = 400_000;
/** Runs a plan. */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  const trace = new Trace(options.trace ?? false, options.digest ?? true);
  const violations: Violation[] = [];
  const { promises } = options;
  // deno-lint-ignore prefer-const -- the observer needs the world, and the world the observer
  let world: World;
  // deno-lint-ignore prefer-const -- as above
  let safety: Safety | undefined;
  // deno-lint-ignore prefer-const -- as above
  let honesty: Honesty | undefined;
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
  const ends = new Ends();
  let calls = 0;
  // After a restore without a raised version stale lists, too, go back: for each CR that they show as it was (L4).
  let wasRestored = false;
  const wentBack = new Set<string>();
  const observer: WorldObserver = {
    say: (who, line) => {
      if (who === "fate" && line.startsWith("refused: ")) ends.refused();
      trace.add(world?.time ?? 0, who, line);
    },
    deed: (deed) => {
      ends.deed(world, deed);
      coverage.add("deed", deed.do);
      strikes.deed(deed);
    },
    call: (p, what) => {
      if (p.name === "p1" && !world.calm && !what.startsWith("lease ")) calls++;
      trace.add(world.time, p.name, `→ ${what}`);
      honesty?.call(p, what);
      budget.count(world.time, () => world.store.all().length);
    },
    answer: (p, what, outcome, result) => {
      strikes.answer(p, what, result);
      if (trace.on) trace.add(world.time, p.name, `← ${what}: ${outcome}`);
    },
    mutation: (p, m) => {
      budget.mutation(world.time, m.verb, m.target);
      return safety?.sent.mutation(p, m) ?? (() => {});
    },
    log: (p, level, message, fields) => {
      if (trace.on) trace.add(world.time, p.name, `${level} ${message} ${JSON.stringify(fields ?? {})}`);
      safety?.bindings.told("a log line", () => `${message} ${JSON.stringify(fields ?? {})}`);
      if (message.startsWith("Failed: ")) coverage.add("failure", `${message.slice(8)} ${fields?.["class"]}`);
      if (fields?.["class"] === "bug" || DEFECTS.some((d) => message.startsWith(d))) {
        fail("F4", `${message}: ${fields?.["error"] ?? ""}`);
      }
      // Rule 22: the read that proves an orphan was answered in this very moment.
      const uid = String(fields?.["uid"]);
      if (wasRestored && message.startsWith(WENT_BACK)) wentBack.add(uid);
      const alive = message.startsWith(ORPHAN) && world.store.byUid(uid) !== undefined;
      if (alive && safety?.books.isTainted(uid, "restored") === false) {
        fail("rule 22", `${fields?.["providerId"]} is called an orphan though ${fields?.["name"]} lives`);
      }
    },
    event: (p, e) => {
      trace.add(world.time, p.name, `Event ${e.reason} ${e.regarding.metadata.name}: ${e.note}`);
      safety?.bindings.told("an Event", () => e.note);
      options.onEvent?.(e);
    },
    transition: (p, t) => {
      coverage.add("transition", `${t.from ?? "·"}⇒${t.to ?? "·"}`);
      strikes.transition(p, t);
      const name = t.object.metadata.name;
      trace.add(world.time, p.name, `${name}: ${t.from ?? "·"} ⇒ ${t.to ?? "·"} (${t.event}, ${t.reason})`);
    },
    stopped: (p) => {
      // A request for the lease that is under way then ends by its own deadline.
      const timers = Math.max(0, p.clock.pending - (plan.lease ?? plan.replicas === 2 ? 1 : 0));
      if (timers > 0 || p.openCalls > 0) {
        fail("wait", `${p.name} has ended with ${timers} timers and ${p.openCalls} calls left`);
      }
    },
    died: (p, why) => {
      strikes.died(p, why);
      ends.died();
      trace.add(world.time, p.name, `dies: ${why}`);
    },
    restored: (uids, secrets) => {
      wasRestored = true;
      safety?.books.restored(uids);
      safety?.bindings.restored(secrets);
    },
    duplicated: (uid) => safety?.books.taint(uid, "duplicated"),
    accountSwitched: () => safety?.books.accountSwitched(),
  };
  world = new World(plan, observer, options);
  safety = new Safety(world, fail, coverage, (effect, before) => strikes.effect(effect, before));
  const judged = safety;
  honesty = new Honesty(
    world,
    fail,
    (id) => judged.books.wasTouched(id, 2 * plan.pollMs),
    (uid) => judged.books.isTainted(uid, "restored") || wentBack.has(uid),
  );
  world.store.listen((c) => {
    strikes.changed(c.before, c.object);
    if (!trace.on) return;
    const { name } = c.object.metadata;
    trace.add(world.time, "kube", `${c.type} ${name} rv ${c.rv} by ${c.by}${describe(c.object)}`);
  });
  options.onWorld?.(world, fail);
  const end = new Ending(plan, world, judged, fail, options.judge ?? unsettledProblems);
  let steps = 0;
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    fail("F4", `a rejection that nobody handles: ${event.reason}`);
  };
  globalThis.addEventListener("unhandledrejection", onRejection);
  await drive(() => {
    judged.check();
    if (budget.exceeded !== undefined) fail("S5", budget.exceeded);
    if (++steps > MAX_STEPS) {
      fail("S5", `more than ${MAX_STEPS} steps`);
      return false;
    }
    if ((promises === undefined && violations.length > 0) || end.over) return false;
    if (!world.clock.step(world.origin + end.until)) end.next();
    return true;
  }, options.fast === undefined ? {} : { fast: options.fast });
  globalThis.removeEventListener("unhandledrejection", onRejection);
  const tokens = tokenProblem(world.cloud.ledger);
  if (tokens !== undefined) fail("rule 4", tokens);
  strikes.finish();
  coverage.endOfWorld();
  const became = ends.of(world);
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
    ends: became,
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

/** What is logged of a resource that a list shows as it was. */
const WENT_BACK = "A resource went back in time";
/** What is logged of an orphan. */
const ORPHAN = "A database has no resource any more";
/** Log lines that only a defect writes. */
const DEFECTS = [
  "An actor crashed",
  "Failed to hand a resource",
  "The handler of",
  "The operator failed",
];
