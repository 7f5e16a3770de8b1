/**
 * A soak: the operator, a real Kubernetes API and the simulated cloud, each a process of its own, killed at random
 * under load; then the judgement. tests-real/soak runs a short one.
 *
 * @module
 */
import { type Random, seededRandom } from "../../src/core/random.ts";
import { installCrd } from "../../tests-real/support/crd.ts";
import { freshNamespace, type Kube } from "../../tests-real/support/kube.ts";
import { Chaos } from "./chaos.ts";
import { type Figures, noFigures } from "./figures.ts";
import { alarming, changes, reportedOrphans, unsettled } from "./oracles.ts";
import { pause } from "./pause.ts";
import { keepLogs, makeRig, POLL_MS, type Rig, startAuditedKube } from "./rig.ts";
import { Users } from "./users.ts";
import { Witness } from "./witness.ts";

/** What a soak is. */
export interface SoakOptions {
  readonly minutes: number;
  readonly databases: number;
  readonly seed: number;
  /** What users do in a second. */
  readonly rate: number;
  readonly clientTokens: boolean;
  /** Told what happens, with seconds since the start. */
  readonly say: (line: string) => void;
  /** Ends it early: everything is still ended, nothing is judged. */
  readonly signal: AbortSignal;
}

/** What came out. */
export interface SoakReport {
  readonly violations: readonly string[];
  readonly figures: Figures;
  /** Seconds from the end of the faults until all was as the specs ask; undefined: not within the bound. */
  readonly settledAfter: number | undefined;
  readonly resources: number;
  readonly databases: number;
  /** Databases whose resource the API server removed under the operator's finalizer, each reported by the operator. */
  readonly left: number;
  readonly peakMiB: number;
  readonly endMiB: number;
  readonly warnings: number;
}

/** How long all may take to come right after the faults, in milliseconds: five of the longest backoffs. */
const SETTLE_MS = 300_000;
/** Between two words on what is still not right, in milliseconds. */
const TELL_MS = 20_000;
/** Between two looks at the cloud's books, in milliseconds: less than a database lives. */
const LOOK_MS = 400;
const FOREIGN = 20;
const SHOWN = 20;

const NO_FAULTS = { loseAnswers: 0, lateEffects: 0, failBefore: 0, failAfter: 0 };

/** Runs a soak to its end. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const started = performance.now();
  const told: SoakOptions = {
    ...options,
    say: (line) =>
      options.say(`${((performance.now() - started) / 1_000).toFixed(1).padStart(6)} s  ${line}`),
  };
  const { kube, end } = await startAuditedKube();
  try {
    await installCrd(kube);
    return await new Soak(kube, told).run();
  } finally {
    await end();
  }
}

class Soak {
  readonly #figures = noFigures();
  readonly #violations: string[] = [];
  readonly #random: Random;
  readonly #rig: Rig;
  #endMiB = 0;

  constructor(private readonly kube: Kube, private readonly options: SoakOptions) {
    this.#random = seededRandom(options.seed);
    this.#rig = makeRig(kube, options);
  }

  async run(): Promise<SoakReport> {
    try {
      return await this.#run();
    } finally {
      if (this.#violations.length > 0) this.options.say(`the logs are kept in ${await keepLogs(this.kube)}`);
      await this.#rig.operator.kill();
      await this.#rig.cloud.kill();
      await this.#rig.proxy.close();
    }
  }

  async #run(): Promise<SoakReport> {
    const { say, databases: count, minutes, rate, signal } = this.options;
    const namespace = await freshNamespace(this.kube, "soak");
    const users = new Users(this.kube, namespace, count, this.#random, this.#figures);
    const witness = new Witness(this.#rig.cloudUrl, {
      figures: this.#figures,
      asked: users.asked,
      log: `${this.kube.dir}/effects.log`,
      violation: this.#violation,
    });
    await this.#rig.cloud.start();
    await witness.addForeign(FOREIGN);
    await this.#rig.operator.start();
    const chaos = new Chaos(
      { ...this.#rig, kube: this.kube, witness },
      seededRandom(this.options.seed + 1),
      this.#figures,
      say,
      (what) => this.#violation("rig", what),
    );
    const watched = new AbortController();
    const watching = this.#watch(witness, chaos, watched.signal);
    const faults = new AbortController();
    const over = AbortSignal.any([faults.signal, signal]);
    say(`${count} resources are created under faults`);
    const load = (async () => {
      await users.createAll(over);
      await users.churn(rate, over);
    })();
    const chaosRun = chaos.run(over);
    await pause(minutes * 60_000, signal);
    faults.abort();
    await Promise.all([load, chaosRun]);
    say(`the faults are over: ${this.#figures.faults.total} of them`);
    try {
      return await this.#judge(users, witness);
    } finally {
      watched.abort();
      await watching;
    }
  }

  async #judge(users: Users, witness: Witness): Promise<SoakReport> {
    const { say, signal } = this.options;
    const begin = performance.now();
    let settledAfter: number | undefined;
    let calm = false;
    let objects: Awaited<ReturnType<Users["list"]>> = [];
    let problems: readonly string[] = [];
    let toldAt = begin;
    let left: ReadonlySet<string> = new Set();
    while (!signal.aborted && performance.now() - begin < SETTLE_MS) {
      try {
        if (!calm) {
          await witness.configure(NO_FAULTS);
          await users.resumeAll();
          calm = await users.createAll(signal) === 0;
        } // Names that were still going are made again once they are gone: a world of all names is the end.
        else if (objects.length < this.options.databases) await users.createAll(signal);
        objects = await users.list();
        const reported = reportedOrphans(await this.#rig.operator.tail(Infinity));
        left = new Set([...reported].filter((uid) => users.removedAtOnce.has(uid)));
        const databases = await witness.databases();
        problems = unsettled(objects, databases, (id) => witness.isForeign(id), (uid) => left.has(uid));
        if (calm && problems.length === 0 && objects.length === this.options.databases) {
          settledAfter = (performance.now() - begin) / 1_000;
          break;
        }
        if (performance.now() - toldAt > TELL_MS) {
          toldAt = performance.now();
          say(
            `${problems.length} problems are left, such as: ${
              problems[0] ?? "names that are to be made again"
            }`,
          );
        }
      } catch (error) {
        say(`looking again: ${error instanceof Error ? error.message : error}`);
      }
      await pause(1_000, signal);
    }
    if (settledAfter === undefined && !signal.aborted) {
      this.#violation("L1", `not settled, ${objects.length} resources, ${problems.length} problems`);
      for (const problem of problems.slice(0, SHOWN)) this.#violation("L1", problem);
      if (problems.length > SHOWN) this.#violation("L1", `and ${problems.length - SHOWN} more`);
    } else if (!signal.aborted) {
      say(`all is as the specs ask, ${settledAfter?.toFixed(1)} s after the faults`);
      await this.#silence(users, witness);
    }
    await this.#log(left);
    return {
      left: left.size,
      violations: this.#violations,
      figures: this.#figures,
      settledAfter,
      resources: objects.length,
      databases: signal.aborted ? 0 : (await witness.databases()).length - FOREIGN,
      peakMiB: this.#rig.operator.peakMiB,
      endMiB: this.#endMiB,
      warnings:
        (await this.#rig.operator.tail(Infinity)).split("\n").filter((l) => l.includes('"level":"warn"'))
          .length,
    };
  }

  /** S5: two poll periods in which nothing is written and nothing is changed. */
  async #silence(users: Users, witness: Witness): Promise<void> {
    const { say, signal } = this.options;
    const before = await users.list();
    const { mark } = await witness.mutationsSince(0);
    await pause(2.2 * POLL_MS, signal);
    if (signal.aborted) return;
    for (const what of changes(before, await users.list()).slice(0, SHOWN)) this.#violation("S5", what);
    for (const what of (await witness.mutationsSince(mark)).calls.slice(0, SHOWN)) {
      this.#violation("S5", what);
    }
    this.#endMiB = this.#rig.operator.measure();
    say("two poll periods passed in silence");
  }

  /** Nothing crashed, whatever the outcome. */
  async #log(left: ReadonlySet<string>): Promise<void> {
    const log = await this.#rig.operator.tail(Infinity);
    const bad = alarming(log, (uid) => left.has(uid));
    for (const line of bad.slice(0, SHOWN)) this.#violation("crash", line.slice(0, 500));
  }

  /** Reads the cloud's books and the operator's health until the signal aborts. */
  async #watch(witness: Witness, chaos: Chaos, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#rig.operator.measure();
      await witness.look().catch(() => {}); // it is being killed; the next look catches up
      for (const [part, target] of [[this.#rig.operator, "operator"], [this.#rig.cloud, "cloud"]] as const) {
        if (chaos.busy(target) || part.alive) continue;
        this.#violation("crash", `the ${target} ended by itself: ${await part.tail(5)}`);
        await part.start();
      }
      await pause(LOOK_MS, signal);
    }
  }

  readonly #violation = (oracle: string, what: string): void => {
    this.#violations.push(`${oracle}: ${what}`);
    this.options.say(`VIOLATION ${oracle}: ${what}`);
  };
}
