/**
 * Who may consent to an adoption, and what the refused are told (rule 18), in virtual time.
 *
 * @module
 */
import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import { inWorld, type World } from "../support/world.ts";
import { databaseOf, inStep, PERIOD } from "../support/fleet.ts";

const DEAD = "00000000-0000-4000-8000-00000000dead";

function synced(world: World, namespace: string, name: string) {
  const found = world.cluster.read(namespace, name)?.status?.conditions?.find((c) => c.type === "Synced");
  return { words: `${found?.status}/${found?.reason}`, message: found?.message ?? "" };
}

Deno.test("rule 18: adopt-from takes no live database of another namespace, and the refusal does not tell whose it is", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "owner");
    const { id, tags } = databaseOf(world, "owner");
    world.cluster.create("attacker", "thief", { providerId: id, deletionPolicy: "Delete" }, {
      annotations: { [ANNOTATION.adoptFrom]: tags[TAG.uid]! },
    });
    await world.until("refused", () => synced(world, "attacker", "thief").words === "False/Conflict");
    const { message } = synced(world, "attacker", "thief");
    assertMatch(message, /another namespace.*Retain/);
    assertNotMatch(message, new RegExp(`${tags[TAG.uid]}|owner|adopt-from`));
    await world.run(2 * PERIOD);
    world.cluster.delete("attacker", "thief");
    await world.until("the thief is gone", () => world.cluster.read("attacker", "thief") === undefined);
    assertEquals(databaseOf(world, "owner").tags, tags);
    assertEquals(world.condition("owner", "Synced"), "True/Available");
  }));

Deno.test("rule 18: a database of another namespace is taken once its resource has released it", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "owner", { deletionPolicy: "Retain" });
    const { id } = databaseOf(world, "owner");
    world.cluster.create("heirs", "heir", { providerId: id });
    await world.until("refused", () => synced(world, "heirs", "heir").words === "False/Conflict");
    world.cluster.delete("default", "owner");
    await world.until(
      "taken",
      () => synced(world, "heirs", "heir").words === "True/Available",
      2 * PERIOD,
    );
    assertEquals(world.cluster.read("heirs", "heir")?.status?.providerId, id);
  }));

Deno.test("rule 18: adopt-from consents to a database of another cluster, whatever its namespace", () =>
  inWorld({}, async (world) => {
    world.start();
    const { id } = world.cloud.insert({
      tags: { [TAG.uid]: DEAD, [TAG.crName]: "far", [TAG.namespace]: "away", [TAG.cluster]: "cluster-2" },
    });
    world.cluster.create("default", "heir", { providerId: id });
    await world.until("refused", () => world.condition("heir", "Synced") === "False/Conflict");
    assertMatch(synced(world, "default", "heir").message, new RegExp(`away/far.*adopt-from=${DEAD}`));
    world.cluster.annotate("default", "heir", { [ANNOTATION.adoptFrom]: DEAD });
    await world.available("heir");
    assertEquals(databaseOf(world, "heir").id, id);
  }));
