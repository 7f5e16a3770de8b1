/**
 * A world with several accounts: a cloud for the flags and one for each class.
 *
 * @module
 */
import { seededRandom } from "../../src/core/random.ts";
import { ClassError, type ClassRequest } from "../../src/providers/from_class.ts";
import { type CallOptions, type DatabaseProvider, ProviderError } from "../../src/providers/port.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import type { OperatorDeps } from "../../src/operator/operator.ts";
import { ModelClasses } from "../support/model_classes.ts";
import { type Process, World } from "../support/world.ts";

/** Where the classes' Secrets are when a class does not say. */
export const OWN_NAMESPACE = "operator-system";

/** Accounts side by side; a class's parameter `cloud` names one. */
export class Accounts {
  readonly world = new World();
  readonly classes = new ModelClasses(this.world.clock);
  readonly clouds = new Map<string, SimulatedCloud>();
  /** The token that a cloud takes; absent: any. */
  readonly tokens = new Map<string, string>();
  /** Names of clouds, in the order in which providers were made for them. */
  readonly made: string[] = [];

  /** The account of this name, made when it is first asked for. */
  cloud(name: string): SimulatedCloud {
    let cloud = this.clouds.get(name);
    if (cloud === undefined) {
      cloud = new SimulatedCloud({
        clock: this.world.clock,
        random: seededRandom(7),
        jitter: 0,
        account: `account-${name}`,
        provisionMs: 2_000,
      });
      this.clouds.set(name, cloud);
    }
    return cloud;
  }

  /** Starts the operator with classes. */
  start(deps: Partial<OperatorDeps> = {}): Process {
    return this.world.start({
      ...deps,
      classes: {
        port: this.classes,
        ownNamespace: OWN_NAMESPACE,
        provide: (request) => this.#provide(request),
      },
    });
  }

  /** Live databases of an account, by the name of their resource. */
  names(cloud: string): readonly string[] {
    return this.cloud(cloud).databases().map((d) => d.name).toSorted();
  }

  #provide({ parameters, credentials }: ClassRequest): DatabaseProvider {
    const { cloud: name } = parameters;
    if (name === undefined) throw new ClassError("parameters.cloud is missing");
    this.made.push(name);
    const inner = createSimulatedProvider(this.cloud(name), { clock: this.world.clock });
    const allowed = async () => {
      const wanted = this.tokens.get(name);
      if (wanted === undefined) return;
      const given = (await credentials?.().catch(() => undefined))?.["token"];
      if (given !== wanted) throw new ProviderError("unauthorised", `The token of "${name}" is refused`);
    };
    const guarded = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => async (...args: A) => {
      await allowed();
      return await call(...args);
    };
    return {
      name: "simulated",
      info: guarded((o: CallOptions) => inner.info(o)),
      get: guarded((...a: Parameters<DatabaseProvider["get"]>) => inner.get(...a)),
      list: guarded((...a: Parameters<DatabaseProvider["list"]>) => inner.list(...a)),
      create: guarded((...a: Parameters<DatabaseProvider["create"]>) => inner.create(...a)),
      modify: guarded((...a: Parameters<DatabaseProvider["modify"]>) => inner.modify(...a)),
      delete: guarded((...a: Parameters<DatabaseProvider["delete"]>) => inner.delete(...a)),
    };
  }
}

/** Runs a test among accounts, and ends all processes after it. */
export async function amongAccounts(test: (accounts: Accounts) => Promise<void>): Promise<void> {
  const accounts = new Accounts();
  try {
    await test(accounts);
  } finally {
    accounts.world.end();
  }
}
