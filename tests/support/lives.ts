/**
 * What the tests of creating and deleting share: clouds that both must be safe at, and a life from its begin to its end.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { FINALIZER, TAG } from "../../src/api/constants.ts";
import type { CloudSettings } from "../../src/providers/simulated/settings.ts";
import { inWorld, type World } from "./world.ts";

/** Tags that the observer's list asks for, in the world's cluster. */
export const OURS = { [TAG.cluster]: "cluster-1", [TAG.managedBy]: "externaldatabase-operator" };

/** A cloud and what is special about it. */
export interface Weather {
  readonly words: string;
  readonly settings: Partial<CloudSettings>;
}

/** Clouds that a create must be safe at. A lag of 20 s is longer than the effect bound of 10 s. */
export const CLOUDS: readonly Weather[] = [true, false].flatMap((clientTokens) =>
  [0, 5, 20].map((lag) => ({
    words: `${clientTokens ? "with" : "without"} client tokens, read lag ${lag} s`,
    settings: { clientTokens, readLagMs: lag * 1_000 },
  }))
);

/** A cloud that remembers a token for the effect bound after its last use and no longer. */
export const FORGETFUL: Weather = {
  words: "with client tokens that are forgotten, read lag 9 s",
  settings: { clientTokens: true, tokenMemoryMs: 1, readLagMs: 9_000 },
};

/** One database, its id recorded, the resource in step; then its deletion leaves nothing. */
export async function assertOneLife(world: World, what: string): Promise<void> {
  await world.available("orders");
  world.assertSafe();
  assertEquals(world.cloud.ledger.createEffects().length, 1, what);
  assertEquals(world.get("orders")?.status?.providerId, world.cloud.databases()[0]?.id, what);
  world.cluster.delete("default", "orders");
  await world.until(`${what}: orders is gone`, () => world.get("orders") === undefined);
  assertEquals(world.cloud.databases(), [], what);
}

/** Watches every finalizer that goes: what still carried the UID at that moment is kept for the assertion (S4). */
export function guardFinalizers(world: World): { assertKept(): void } {
  const broken: string[] = [];
  const patch = world.cluster.patch.bind(world.cluster);
  world.cluster.patch = async (key, operations, options) => {
    const removes = operations.some((o) => o.op === "remove");
    const before = world.cluster.read(key.namespace, key.name);
    const after = await patch(key, operations, options);
    if (removes && before !== undefined && !after.metadata.finalizers?.includes(FINALIZER)) {
      for (const d of world.cloud.presentByUid().get(before.metadata.uid) ?? []) {
        // One of a cloned cluster carries the UID too and is none of ours (rule 20).
        if ((d.tags[TAG.cluster] ?? OURS[TAG.cluster]) !== OURS[TAG.cluster]) continue;
        broken.push(`${key.name}: ${d.id} is ${d.state}`);
      }
    }
    return after;
  };
  return { assertKept: () => assertEquals(broken, [], "S4: a finalizer went while a database was there") };
}

/** A world in which no finalizer may go while a database is there. */
export async function inDeletion(
  settings: Partial<CloudSettings>,
  body: (world: World) => Promise<void>,
): Promise<void> {
  await inWorld(settings, async (world) => {
    const guard = guardFinalizers(world);
    await body(world);
    guard.assertKept();
  });
}

/** Waits until a resource is gone. */
export async function gone(world: World, name = "orders", limitMs = 120_000): Promise<void> {
  await world.until(`${name} is gone`, () => world.get(name) === undefined, limitMs);
}

/** Nothing is left, and nothing comes later. */
export async function assertNothingLeft(world: World, what = ""): Promise<void> {
  await world.run(world.cloud.settings.effectBoundMs + world.cloud.settings.readLagMs + 1_000);
  assertEquals(world.cloud.databases().map((d) => `${d.id} ${d.state}`), [], what);
}

/** The message of its condition `Synced`. */
export function message(world: World, name: string): string {
  return world.get(name)?.status?.conditions?.find((c) => c.type === "Synced")?.message ?? "";
}
