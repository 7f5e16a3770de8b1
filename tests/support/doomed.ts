/**
 * A process of the operator whose calls to cluster and cloud are counted, and which dies at one of them.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { OperatorDeps } from "../../src/operator/operator.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import type { Process, World } from "./world.ts";

/** The call at which a process dies: before it is sent, or after it was sent and before its answer is seen. */
export interface Doom {
  /** Index of the call, from 0. */
  readonly at: number;
  readonly when: "before" | "after";
}

/** A counted process. */
export interface CountedProcess extends Process {
  /** The calls it made, in order, as `cluster.patch` or `cloud.create`. Watches are not counted. */
  readonly calls: readonly string[];
  /** Whether its doom came. */
  readonly dead: boolean;
}

/** Starts a process that counts its calls and dies at `doom`. */
export function startDoomed(world: World, doom?: Doom, deps: Partial<OperatorDeps> = {}): CountedProcess {
  const calls: string[] = [];
  let dead = false;
  const never = () => new Promise(() => {});
  const gate = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get: (t, property) => {
        const value = Reflect.get(t, property);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (dead) return never();
          if (property === "watch") return Reflect.apply(value, t, args);
          const index = calls.push(`${prefix}.${String(property)}`) - 1;
          if (index !== doom?.at) return Reflect.apply(value, t, args);
          dead = true;
          queueMicrotask(() => process.crash());
          if (doom.when === "after") {
            // What was sent goes on although its sender is dead.
            const options = args.at(-1) as { beforeSend?: () => void };
            const undying = { ...options, signal: new AbortController().signal };
            Reflect.apply(value, t, [...args.slice(0, -1), undying]).catch(() => {}); // nobody hears of it
          }
          return never();
        };
      },
    });
  const process = world.start({
    cluster: gate(world.cluster, "cluster"),
    provider: gate(createSimulatedProvider(world.cloud, { clock: world.clock }), "cloud"),
    ...deps,
  });
  return {
    operator: process.operator,
    stop: process.stop,
    crash: () => {
      dead = true;
      process.crash();
    },
    get calls() {
      return calls;
    },
    get dead() {
      return dead;
    },
  };
}

/** What a scenario may cost at most: S5, no loop repeats a call that does not help. */
export interface Budget {
  /** Writes to the cluster. */
  readonly writes: number;
  /** Calls of all kinds to the cloud. */
  readonly calls: number;
  /** Calls to the cloud that ask for a change. */
  readonly mutations: number;
}

/** Fails when more was written or called than the budget allows. */
export function assertWithin(world: World, budget: Budget, what = "scenario"): void {
  const spent = {
    writes: world.cluster.writes.length,
    calls: world.cloud.ledger.calls().length,
    mutations: world.cloud.ledger.mutatingCalls().length,
  };
  for (const key of ["writes", "calls", "mutations"] as const) {
    assert(
      spent[key] <= budget[key],
      `${what}: ${spent[key]} ${key}, more than ${budget[key]}\n${world.describe()}`,
    );
  }
}
