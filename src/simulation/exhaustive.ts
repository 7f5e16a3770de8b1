/**
 * The exhaustive mode: short scripts with one or two resources: each call × before, after and at its answer × one other
 * fault × client tokens × read lag.
 *
 * @module
 */
import type { ExternalDatabaseSpec } from "../api/schema.ts";
import { type Batch, Tally } from "./campaign.ts";
import { OTHER_FAULTS } from "./exhaustive_faults.ts";
import { type Action, PLAIN_PLAN, type Plan } from "./plan.ts";
import type { Doom } from "./process.ts";
import { runPlan } from "./run.ts";

const SPEC = { engine: "postgres", version: "14.2", sizeGb: 20 };
const create = (at: number, name = "a"): Action => ({ at, do: "create", name, spec: SPEC });
const grow = (at: number): Action => ({ at, do: "edit", name: "a", change: { sizeGb: 40 } });
const remove = (at: number, name = "a"): Action => ({ at, do: "delete", name });
const retain: Action = { at: 1, do: "edit", name: "a", change: { deletionPolicy: "Retain" } };
/** Somebody's database, and a resource that adopts it. */
const adoption: readonly Action[] = [
  { at: 0, do: "foreign", name: "theirs" },
  { at: 500, do: "adopt", name: "a", nth: 0, spec: SPEC },
];
/** A person at the console changes the resource's database. */
const drift: Action = { at: 3_000, do: "console", nth: 0, change: { kind: "shrink", by: 10 } };

/** Another resource takes the database over, with consent. */
const takeOver = (spec: ExternalDatabaseSpec): readonly Action[] => [
  create(0),
  { at: 3_000, do: "takeOver", name: "b", nth: 0, spec },
];

/** The scripts, by name. Times in milliseconds; a database takes 500 to become available. */
export const SCRIPTS: Readonly<Record<string, readonly Action[]>> = {
  "create": [create(0)],
  "create, edited at once": [create(0), grow(60)],
  "create, edited when available": [create(0), grow(3_000)],
  "create, deleted at once": [create(0), remove(60)],
  "create, deleted while provisioning": [create(0), remove(300)],
  "create, deleted when available": [create(0), remove(3_000)],
  "create, edited, deleted": [create(0), grow(3_000), remove(3_100)],
  "create, deleted, made again": [create(0), remove(3_000), create(20_000)],
  "create, retained and deleted": [create(0), retain, remove(3_000)],
  "create, lost at the cloud": [create(0), { at: 3_000, do: "vanish", nth: 0 }],
  "create, drifted": [create(0), drift],
  "create, drifted, deleted": [create(0), drift, remove(3_100)],
  "adoption": adoption,
  "adoption, deleted": [...adoption, remove(3_000)],
  "taken over": takeOver(SPEC),
  "taken over, deleted": [...takeOver({ ...SPEC, deletionPolicy: "Delete" }), remove(3_100, "b")],
  "taken over, the first deleted": [...takeOver(SPEC), remove(3_100)],
  "two at once": [create(0), create(0, "b")],
  "two, one deleted": [create(0), create(0, "b"), remove(3_000)],
};

const WHENS: readonly Doom["when"][] = ["before", "sent", "answered"];

/** One schedule. */
export interface Schedule {
  readonly name: string;
  readonly plan: Plan;
}

let known: readonly Schedule[] | undefined;

/** The schedules without a crash, in a fixed order: each leads a group of those with one. */
export function groups(): readonly Schedule[] {
  return known ??= Object.entries(SCRIPTS).flatMap(([script, actions]) =>
    [true, false].flatMap((clientTokens) =>
      [0, 2_000].flatMap((readLagMs) =>
        Object.entries(OTHER_FAULTS).map(([fault, change]) => ({
          name: `${script}; ${clientTokens ? "tokens" : "no tokens"}; lag ${readLagMs} ms; ${fault}`,
          plan: change(basePlan(actions, clientTokens, readLagMs)),
        }))
      )
    )
  );
}

/** The crashes of a group's process, of which its run without one makes `calls` calls: one of each `step`. */
function crashes(group: number, calls: number, step: number): Doom[] {
  return Array.from({ length: calls * WHENS.length }, (_, n) => n)
    .filter((n) => (n + group) % step === 0)
    .map((n) => ({ call: Math.floor(n / WHENS.length), when: WHENS[n % WHENS.length]! }));
}

/** A schedule with this crash. */
function crashing({ name, plan }: Schedule, doom: Doom): Schedule {
  return {
    name: `${name}; dies ${doom.when} call ${doom.call}`,
    plan: { ...plan, dooms: [doom, ...plan.dooms.slice(1)] },
  };
}

/** All schedules; the calls of each script are counted by a run without a crash. */
export async function* schedules(): AsyncGenerator<Schedule> {
  for (const [n, group] of groups().entries()) {
    yield group;
    const { calls } = await runPlan(group.plan, { digest: false });
    for (const doom of crashes(n, calls, 1)) yield crashing(group, doom);
  }
}

/** The groups of which a sample of one in `sample` takes a part: the root of it among them, and as much of each. */
export function sampledGroups(sample: number): number[] {
  const step = Math.ceil(Math.sqrt(sample));
  const faults = Object.keys(OTHER_FAULTS).length;
  return groups().map((_, n) => n).filter((n) => (n + Math.floor(n / faults)) % step === 0);
}

/** Runs the schedules of group `n`: the one without a crash, and as many with one as a sample of one in `sample` has. */
export async function runGroup(n: number, sample: number): Promise<Batch> {
  const group = groups()[n];
  if (group === undefined) throw new Error(`There is no group ${n} of schedules`);
  const tally = new Tally();
  const run = ({ name, plan }: Schedule) => {
    const replay = `echo '${JSON.stringify(plan)}' | deno task simulate --plan -`;
    return tally.run({ name, seed: plan.seed, replay }, plan, { digest: false });
  };
  const result = await run(group);
  for (const doom of crashes(n, result?.calls ?? 0, Math.ceil(Math.sqrt(sample)))) {
    await run(crashing(group, doom));
  }
  return tally.batch;
}

function basePlan(actions: readonly Action[], clientTokens: boolean, readLagMs: number): Plan {
  return {
    ...PLAIN_PLAN,
    cloud: {
      clientTokens,
      readLagMs,
      tokenMemoryMs: 3_000,
      effectBoundMs: 3_000,
      latencyMs: 40,
      provisionMs: 500,
      modifyMs: 300,
      deleteMs: 300,
    },
    actions,
  };
}
