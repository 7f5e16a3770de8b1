/**
 * The time after the faults: the world becomes as the specs ask, then it is silent, then the process ends in order and
 * leaves nothing behind.
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { UNREAD_PERIODS } from "../statechart/verdicts.ts";
import { confirmAbsences, countActors, unsettled } from "./liveness.ts";
import type { Plan } from "./plan.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Safety } from "./safety.ts";
import type { World } from "./world.ts";

/** What of a world is not as it should be, once it should. */
export interface Problem {
  /** The promise that it breaks. */
  readonly oracle: "L1" | "S2";
  readonly what: string;
}

/** Says what is not as it should be. */
export type Judge = (world: World, safety: Safety) => readonly Problem[];

const MINUTE = 60_000;
/** Once faults have ended the world is as the specs ask within this time, in milliseconds (L1): two watches that fall silent, then the slowest back-off twice. */
export const SETTLE_BOUND_MS = 45 * MINUTE;
/**
 * When it is over at the latest. What a restored cluster has again, which no watch told, a list brings to light within
 * its half hour; only then do the three periods begin after which nobody can say that a database is usable that no
 * credentials of now can read (A2).
 */
function deadlineOf({ chaosMs, pollMs, actions }: Plan): number {
  const unread = (["restore", "switchAccount"] as const).every((what) => actions.some((a) => a.do === what));
  return chaosMs + SETTLE_BOUND_MS + (unread ? 2 + UNREAD_PERIODS * 1.1 : 2) * pollMs;
}
/** A person answers what waits for one this long after the faults, and as often. */
const PERSON_MS = 3 * MINUTE;
/** Time between two looks at whether it is as it should be, in milliseconds. */
const STEP_MS = 10_000;
/** A process ends within this time of SIGTERM, in milliseconds: a pod's grace period in `deploy/`. */
const END_MS = 60_000;
/** Periods of the list in which nothing may be written. */
const SILENT_PERIODS = 5;
/** Calls in silence at most: for each resource and besides, in one period of the list. */
const CALLS_A_PERIOD = { each: 8, besides: 40 } as const;

/** All that is unsettled breaks L1. */
export function unsettledProblems(world: World, safety: Safety): Problem[] {
  return unsettled(world, safety).map((what) => ({ oracle: "L1", what }));
}

/** L4: what fails says each of its first nine tries. */
function isRetrying(object: ExternalDatabase | undefined): boolean {
  return object?.status?.conditions?.some((c) => c.message.includes("(retry step ")) ?? false;
}

/** The time after the faults: the world settles, then it is silent. */
export class Ending {
  over = false;
  settledAfterMs: number | undefined;
  /** The next moment to look, in milliseconds after the beginning. */
  until: number;
  #goodSince: number | undefined;
  #silence: Silence | undefined;
  /** The process that was asked to end. */
  #leaving: SimulatedProcess | undefined;
  #person: number;
  #seenChanges = 0;

  constructor(
    private readonly plan: Plan,
    private readonly world: World,
    private readonly safety: Safety,
    private readonly fail: (oracle: string, what: string) => void,
    private readonly judge: Judge,
  ) {
    this.until = plan.chaosMs + 1_000;
    this.#person = plan.chaosMs + PERSON_MS;
  }

  /** The moment has come. */
  next(): void {
    if (this.#leaving !== undefined) return this.#judgeEnd(this.#leaving);
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
      this.#silence = {
        rv: this.world.store.rv,
        secrets: this.world.kube.secrets.rv,
        mutations: this.#mutations(),
        calls: this.#calls(),
      };
      this.until = time + SILENT_PERIODS * this.plan.pollMs;
      this.world.observer.say("world", "is as the specs ask; silence begins");
      return;
    }
    if (time > deadlineOf(this.plan)) {
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
      for (const { id, state, protected: p, tags } of this.world.cloud.databases()) {
        const wanted = state !== "Failed" &&
          this.world.store.byUid(tags[TAG.uid] ?? "")?.spec.deletionProtection === true;
        if (p && !wanted) this.world.cloud.edit(id, { protected: false });
      }
    }
    this.until = time + STEP_MS;
  }

  /** Changes of the cloud's databases so far, its own ones too. */
  #changes(): number {
    return this.world.cloud.ledger.effects().length;
  }

  #mutations(): number {
    return this.world.cloud.ledger.mutatingCalls().length;
  }

  #calls(): number {
    return this.world.processes.reduce((sum, p) => sum + p.calls, 0);
  }

  #judgeSilence(before: Silence): void {
    const { store, working } = this.world;
    const sent = this.#mutations() - before.mutations;
    if (sent > 0) {
      this.fail("S5", `${sent} mutating calls though in step`);
      this.over = true;
      return;
    }
    if (this.#changes() > this.#seenChanges) { // the cloud did something by itself: no silence was due
      this.#silence = undefined;
      this.until = this.world.time + STEP_MS;
      return;
    }
    const changes = store.since(before.rv).filter((c) => !isRetrying(c.before))
      .map((c) => `${c.object.metadata.name} by ${c.by}`);
    if (changes.length > 0) this.fail("S5", `written though in step: ${changes.join(", ")}`);
    const secrets = this.world.kube.secrets.since(before.secrets).map((c) =>
      `${c.object.metadata.name} by ${c.by}`
    );
    if (secrets.length > 0) this.fail("S5", `Secrets written though in step: ${secrets.join(", ")}`);
    this.#judgeWorking(before);
    if (working === undefined || this.over) return;
    this.#leaving = working;
    working.stop();
    this.until = this.world.time + END_MS;
  }

  /** As many actors as resources, few timers, few calls. */
  #judgeWorking(before: Silence): void {
    const { store, working } = this.world;
    const live = store.all().length;
    if (working === undefined) {
      this.over = true;
      return this.fail("L1", "no process works");
    }
    const actors = countActors(this.world);
    if (actors !== live) this.fail("L1", `${actors} actors for ${live} resources`);
    if (working.clock.pending > 3 * live + 20) {
      this.fail("S5", `${working.clock.pending} timers for ${live} resources`);
    }
    if (working.openCalls > live + 4) this.fail("S5", `${working.openCalls} calls wait for their answers`);
    const calls = this.#calls() - before.calls;
    const limit = SILENT_PERIODS * (CALLS_A_PERIOD.each * live + CALLS_A_PERIOD.besides) *
      Math.max(1, this.plan.pollMs / MINUTE);
    if (calls > limit) {
      this.fail("S5", `${calls} calls in ${SILENT_PERIODS} silent periods for ${live} resources`);
    }
  }

  /** Every wait has ended: nothing is left of a process that was asked to end. */
  #judgeEnd(process: SimulatedProcess): void {
    if (process.alive) this.fail("wait", `${process.name} has not ended ${END_MS / 1_000} s after SIGTERM`);
    this.over = true;
  }
}

/** How things were when silence began. */
interface Silence {
  readonly rv: number;
  /** Version of the newest change of a Secret. */
  readonly secrets: number;
  readonly mutations: number;
  readonly calls: number;
}
