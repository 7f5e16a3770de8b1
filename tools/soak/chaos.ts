/**
 * What goes wrong during a soak: kills, freezes, connections that are cut or fall silent. Which, and when, comes from
 * the seed; two faults at once never hit the same part.
 *
 * @module
 */
import type { Random } from "../../src/core/random.ts";
import type { Kube } from "../../tests-real/support/kube.ts";
import type { Figures } from "./figures.ts";
import type { Part } from "./processes.ts";
import { pause } from "./pause.ts";
import type { TcpProxy } from "./proxy.ts";
import type { Witness } from "./witness.ts";

/** The parts that a fault hits. */
export interface Targets {
  readonly kube: Kube;
  readonly operator: Part;
  readonly cloud: Part;
  readonly proxy: TcpProxy;
  readonly witness: Witness;
}

type Target = "operator" | "control plane" | "cloud" | "network";

interface Fault {
  readonly name: string;
  readonly target: Target;
  readonly weight: number;
  readonly strike: (targets: Targets, chaos: Chaos) => Promise<void>;
}

const FAULTS: readonly Fault[] = [
  { name: "operator kill", target: "operator", weight: 30, strike: killOperator },
  {
    name: "operator freeze",
    target: "operator",
    weight: 6,
    strike: ({ operator }, chaos) => freeze(operator, chaos),
  },
  {
    name: "API server kill",
    target: "control plane",
    weight: 14,
    strike: async ({ kube }, chaos) => {
      await kube.killApiServer();
      await chaos.wait(0, 2_000);
      await kube.startApiServer();
    },
  },
  {
    name: "etcd kill",
    target: "control plane",
    weight: 10,
    strike: async ({ kube }, chaos) => {
      await kube.killEtcd();
      await chaos.wait(0, 2_000);
      await kube.startEtcd();
    },
  },
  { name: "cloud kill", target: "cloud", weight: 14, strike: killCloud },
  { name: "cloud freeze", target: "cloud", weight: 6, strike: ({ cloud }, chaos) => freeze(cloud, chaos) },
  {
    name: "watch reset",
    target: "network",
    weight: 12,
    strike: ({ proxy }) => Promise.resolve(proxy.reset()),
  },
  {
    name: "watch stall",
    target: "network",
    weight: 8,
    strike: async ({ proxy }, chaos) => {
      const release = proxy.hold();
      await chaos.wait(2_000, 15_000);
      release();
    },
  },
  {
    // What was open stays silent; what is new passes. The reset comes late, as TCP's does.
    name: "half-open connection",
    target: "network",
    weight: 3,
    strike: async ({ proxy }, chaos) => {
      proxy.hold();
      await chaos.wait(20_000, 45_000);
      proxy.reset();
    },
  },
];

/** How long a kill that is aimed waits for a call in flight, in milliseconds. */
const AIM_MS = 8_000;

/** Four kills in five are aimed at mutating calls in flight; the fifth hits whatever is going on. */
async function killOperator({ operator, witness }: Targets, chaos: Chaos): Promise<void> {
  const { hits } = chaos.figures;
  const inFlight = () => witness.inFlight().catch(() => 0); // the cloud may be away
  const until = performance.now() + (chaos.draw() < 0.8 ? AIM_MS : 0);
  let calls = await inFlight();
  while (calls === 0 && performance.now() < until && !chaos.ending) calls = await inFlight();
  await operator.kill();
  hits.kills++;
  if (calls > 0) hits.withCalls++;
  hits.callsInFlight += calls;
  await chaos.wait(0, 1_500);
  await operator.start();
}

async function killCloud({ cloud, witness }: Targets, chaos: Chaos): Promise<void> {
  await cloud.kill();
  await chaos.wait(0, 2_000);
  witness.restarted();
  await cloud.start();
}

async function freeze(part: Part, chaos: Chaos): Promise<void> {
  part.signal("SIGSTOP");
  try {
    await chaos.wait(1_000, 8_000);
  } finally {
    part.signal("SIGCONT");
  }
}

/** The source of a soak's faults. */
export class Chaos {
  readonly #busy = new Set<Target>();
  readonly #open = new Set<Promise<void>>();
  #signal = new AbortController().signal;

  constructor(
    private readonly targets: Targets,
    private readonly random: Random,
    readonly figures: Figures,
    private readonly say: (line: string) => void,
    private readonly failed: (what: string) => void,
  ) {}

  /** Lets faults happen, one every 1 to 5 s, until the signal aborts; what was broken is whole again when it resolves. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    while (!signal.aborted) {
      await this.wait(1_000, 5_000);
      if (signal.aborted) break;
      const fault = this.#draw();
      if (fault !== undefined) this.#strike(fault);
    }
    await Promise.all(this.#open);
  }

  /** A number from the seed, in [0, 1). */
  draw(): number {
    return this.random.next();
  }

  /** Whether faults are to end. */
  get ending(): boolean {
    return this.#signal.aborted;
  }

  /** Whether a fault is at work on that part. */
  busy(target: Target): boolean {
    return this.#busy.has(target);
  }

  /** Waits for a time drawn between two bounds, in milliseconds, or until faults are to end. */
  async wait(min: number, max: number): Promise<void> {
    const ms = min + this.random.next() * (max - min);
    await pause(ms, this.#signal);
  }

  #draw(): Fault | undefined {
    const free = FAULTS.filter((f) => !this.#busy.has(f.target));
    let at = this.random.next() * free.reduce((sum, f) => sum + f.weight, 0);
    return free.find((f) => (at -= f.weight) < 0);
  }

  #strike(fault: Fault): void {
    this.figures.faults.add(fault.name);
    this.say(fault.name);
    this.#busy.add(fault.target);
    const done = fault.strike(this.targets, this)
      .catch((error: unknown) => this.failed(`${fault.name}: ${wordsOf(error)}`))
      .finally(() => {
        this.#busy.delete(fault.target);
        this.#open.delete(done);
      });
    this.#open.add(done);
  }
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${wordsOf(error.cause)})`;
}
