/** The judge of the policies can find each of them broken. @module */
import { assertEquals, assertRejects } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { PolicyJudge } from "../../src/simulation/policies.ts";
import type { Mutation } from "../../src/simulation/gates.ts";
import { cr, deleting, inStep, UID } from "../statechart/support.ts";
import { play } from "./behaviours/support.ts";

interface Scene {
  /** What the cluster holds. */
  readonly objects?: readonly ExternalDatabase[];
  /** What the process knows of the UID. */
  readonly known?: ExternalDatabase;
  readonly tags?: Readonly<Record<string, string>>;
  /** A user changed it just now. */
  readonly lately?: boolean;
}

/** The oracles that a mutation breaks. */
function broken(
  mutation: Partial<Mutation>,
  { objects = [], known, tags = { [TAG.uid]: UID }, lately = false }: Scene,
) {
  const found: string[] = [];
  const record = { id: "db-1", tags, endpoint: "h:1" };
  const world = {
    cloud: { get: () => record, snapshots: () => [] },
    store: {
      all: () => objects,
      byUid: (uid: string) => objects.find((o) => o.metadata.uid === uid),
      listen: (heard: (change: unknown) => void) => {
        for (const object of lately ? objects : []) heard({ object, before: cr(), by: "user" });
      },
    },
    clock: { monotonic: () => 1_000 },
  };
  const judge = new PolicyJudge(world as never, (oracle) => found.push(oracle), 70_000, () => false);
  const whole: Mutation = { verb: "modify", target: "db-1", uid: undefined, values: true, ...mutation };
  judge.mutation({ hearing: { known: () => known } } as never, whole);
  return found;
}

const observer = cr({ spec: { managementPolicy: "ObserveOnly", providerId: "db-1" }, status: inStep() });
const manager = (uid: string) => cr({ spec: { providerId: "db-1" }, meta: { uid } });
const dying = (spec: object, finalSnapshot?: string) =>
  deleting({ spec, status: inStep(finalSnapshot === undefined ? {} : { finalSnapshot }) });

Deno.test("ObserveOnly: any change, tags too, is found, by what is known and by what is; another's adoption is none", () => {
  const by = (mutation: Partial<Mutation>, scene: Scene) => [...new Set(broken(mutation, scene))];
  assertEquals(by({ values: false }, { objects: [observer] }), ["ObserveOnly"]);
  assertEquals(by({}, { known: observer, lately: true }), ["ObserveOnly"], "it was known");
  assertEquals(broken({}, { objects: [observer], lately: true }), [], "nobody need know yet");
  assertEquals(broken({ values: false }, { objects: [observer], tags: {} }), ["ObserveOnly"], "nobody's");
  assertEquals(broken({ values: false }, { objects: [observer, manager("b")], tags: {} }), []);
});

Deno.test("D5 and rule 17: a delete of what its spec protects, without its snapshot, or with one that is not named, is found", () => {
  const remove = { verb: "delete" as const };
  assertEquals(broken(remove, { objects: [dying({ deletionProtection: true })] }), ["D5"]);
  const snapshot = { deletionPolicy: "Snapshot" };
  assertEquals(broken(remove, { objects: [dying(snapshot)] }), ["rule 17"]);
  assertEquals(broken({ ...remove, finalSnapshot: "s" }, { objects: [dying(snapshot)] }), ["rule 17"]);
  assertEquals(broken({ ...remove, finalSnapshot: "s" }, { objects: [dying(snapshot, "s")] }), []);
});

Deno.test("D7: a database that goes without the snapshot that was asked for is found", async () => {
  await assertRejects(
    () =>
      play({
        wrap: (inner) => ({
          ...inner,
          delete: (id, { finalSnapshot: _, ...options }) => inner.delete(id, options),
        }),
      }, async (stage) => {
        stage.create("a", { deletionPolicy: "Snapshot" });
        await stage.available("a");
        stage.remove("a");
        await stage.gone("a");
      }),
    Error,
    "D7: ",
  );
});
