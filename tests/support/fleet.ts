/**
 * Resources in a world: made, waited for, looked at, and left alone.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import type { World } from "./world.ts";

/** The operator's default poll period, in milliseconds. */
export const PERIOD = 300_000;
/** In milliseconds. */
export const MINUTE = 60_000;

/** Creates a resource and waits until it is in step. */
export async function inStep(
  world: World,
  name = "orders",
  spec: Partial<ExternalDatabaseSpec> = {},
): Promise<void> {
  world.cluster.create("default", name, spec);
  await world.available(name);
}

/** Creates so many resources and waits for them; gives their names. */
export async function fleet(
  world: World,
  n: number,
  spec: Partial<ExternalDatabaseSpec> = {},
): Promise<string[]> {
  const names = Array.from({ length: n }, (_, i) => `db-${String(i).padStart(3, "0")}`);
  for (const name of names) world.cluster.create("default", name, spec);
  await world.available(...names);
  return names;
}

/** The database of a resource, as the cloud knows it. */
export function databaseOf(world: World, name: string) {
  const id = world.get(name)?.status?.providerId;
  const found = id === undefined ? undefined : world.cloud.get(id);
  assert(found !== undefined, `${name} has no database`);
  return found;
}

/** The message of a condition. */
export function message(world: World, name: string, type: "Ready" | "Synced" = "Synced"): string {
  return world.get(name)?.status?.conditions?.find((c) => c.type === type)?.message ?? "";
}

/** The changes of size, version or tags that took effect, in words. */
export function modifies(world: World, since = 0): string[] {
  return world.cloud.ledger.effects({ kind: "modify", by: "api", since }).map((e) => e.detail);
}

/** Asserts that `ms` pass without a mutating call, a change of any resource, or an Event. */
export async function assertQuiet(world: World, ms: number, words = "idle"): Promise<void> {
  const mark = world.cloud.ledger.mark();
  const versions = () => world.cluster.all().map((o) => [o.metadata.name, o.metadata.resourceVersion]);
  const before = versions();
  const events = world.events.length;
  await world.run(ms);
  assertEquals(world.cloud.ledger.mutatingCalls(mark), [], `${words}: mutating calls`);
  assertEquals(versions(), before, `${words}: writes`);
  assertEquals(world.events.length, events, `${words}: Events`);
}
