/**
 * The watch over orphans alone (rule 22): what it asks before it calls a database one.
 */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { type Cluster, KubeError } from "../../src/kube/port.ts";
import type { Round } from "../../src/operator/observer.ts";
import { OrphanWatch } from "../../src/operator/orphans.ts";
import type { Database } from "../../src/providers/port.ts";
import { cr, db, UID } from "../statechart/support.ts";

const database = db() as Database;
const listed = [{ database, sentAt: 0 }];
const round: Round = {
  sentAt: 0,
  byId: new Map([[database.id, { database, sentAt: 0 }]]),
  byUid: new Map([[UID, listed]]),
  unreadable: new Map(),
};

/** Orphans after `rounds` lists that show one database, and the quorum reads that were made. */
async function after(
  rounds: number,
  world: { readonly synced?: boolean; readonly known?: boolean; readonly there?: string },
  shown = round,
): Promise<{ readonly orphans: number; readonly reads: number }> {
  let reads = 0;
  const get = () => {
    reads++;
    return world.there === undefined
      ? Promise.reject(new KubeError("notFound", "gone"))
      : Promise.resolve(cr({ meta: { uid: world.there } }));
  };
  const watch = new OrphanWatch({
    cluster: { get } as unknown as Cluster,
    log: { log: () => {} },
    synced: () => world.synced ?? true,
    isKnown: () => world.known ?? false,
    isWatched: () => true,
  });
  for (let n = 0; n < rounds; n++) await watch.judge(shown, new AbortController().signal);
  return { orphans: watch.orphans.length, reads };
}

Deno.test("rule 22: an orphan is one that two lists show without a resource, and that a read shows without one", async () => {
  assertEquals(await after(1, {}), { orphans: 0, reads: 0 });
  assertEquals(await after(2, {}), { orphans: 1, reads: 1 });
  assertEquals(await after(9, { there: "another" }), { orphans: 1, reads: 1 });
  assertEquals(await after(9, { synced: false }), { orphans: 0, reads: 0 });
  assertEquals(await after(9, { known: true }), { orphans: 0, reads: 0 });
  assertEquals((await after(9, { there: UID })).orphans, 0);
});

Deno.test("rule 22: what carries no UID, or no namespace, is nobody's and no orphan", async () => {
  for (const tag of [TAG.uid, TAG.namespace]) {
    const { [tag]: _, ...rest } = database.tags;
    const bare: Database = { ...database, tags: rest };
    const unowned = { ...round, byId: new Map([[bare.id, { database: bare, sentAt: 0 }]]) };
    assertEquals(await after(3, {}, unowned), { orphans: 0, reads: 0 }, tag);
  }
});

Deno.test("rule 22: a list leads to no more than twenty reads, and the next goes on", async () => {
  const many = Array.from({ length: 45 }, (_, n): Database => ({ ...database, id: `db-${n}` }));
  const crowd = { ...round, byId: new Map(many.map((d) => [d.id, { database: d, sentAt: 0 }])) };
  for (const [rounds, reads] of [[1, 0], [2, 20], [3, 40], [4, 45], [5, 45]] as const) {
    assertEquals(await after(rounds, {}, crowd), { orphans: reads, reads }, `${rounds} lists`);
  }
});
