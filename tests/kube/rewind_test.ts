/**
 * A cluster that went back in time, restored from a backup, told from a server that only lags (W8).
 */
import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { isRewound, standing } from "../../src/kube/rewind.ts";
import { eventually } from "../support/eventually.ts";
import type { LoopbackApi } from "./loopback_api.ts";
import { startReflector, withApi } from "./support.ts";

const EXPIRED = { kind: "Status", code: 410, reason: "Expired", message: "too old" };

async function expire(api: LoopbackApi): Promise<void> {
  await api.open[0]?.send("ERROR", EXPIRED);
}

Deno.test("W8: a cluster restored with its version raised is believed at its first list: older objects are delivered, lost ones are gone", () =>
  withApi(async (api, cluster) => {
    const a = await api.put("a");
    const same = await api.put("same");
    await api.put("a");
    await api.put("lost");
    const r = startReflector(cluster);
    await eventually("the watch", () => api.open.length === 1);
    assertEquals(r.told.all.length, 3);
    api.objects.clear();
    for (const object of [a, same]) api.objects.set(object.metadata.name, object);
    api.version = 1_000_104;
    await expire(api);
    await eventually("the watch again", () => api.watches.length === 2 && api.open.length === 1);
    assertEquals(r.told.all.slice(3), ["+a@101 not 103", "-lost@uid-lost"]);
    assertEquals(r.reflector.get("uid-a")?.metadata.resourceVersion, "101");
    assertEquals(api.watches[1]?.from, "1000104");
    await r.stop();
  }));

Deno.test("W8: a cluster restored without its version raised is believed as soon as a read of an object proves it", () =>
  withApi(async (api, cluster) => {
    const old = await api.put("a");
    await api.put("a");
    await api.put("lost");
    const r = startReflector(cluster, { staleListMs: 3_600_000 });
    await eventually("the watch", () => api.open.length === 1);
    api.objects.clear();
    api.objects.set("a", old);
    api.version = 101;
    api.telling = false; // of the history that is no more
    await expire(api);
    await eventually("the watch again", () => api.watches.length === 2 && api.open.length === 1);
    assertEquals(r.told.all.slice(2), ["+a@101 not 102", "-lost@uid-lost"]);
    const next = await api.put("a"); // 102 again, in another history
    await api.open[0]?.send("MODIFIED", next);
    await eventually("the change", () => r.told.all.length === 5);
    assertEquals(r.told.all[4], "+a@102");
    await r.stop();
  }));

Deno.test("W8: the same version with another content is another history", () =>
  withApi(async (api, cluster) => {
    const a = await api.put("a");
    const r = startReflector(cluster);
    await eventually("the watch", () => api.open.length === 1);
    api.objects.set("a", { ...a, spec: { ...a.spec, sizeGb: a.spec.sizeGb + 1 } });
    await expire(api);
    await eventually("the object of now", () => r.told.all.length === 2);
    assertEquals(r.told.all[1], "+a@101 not 101");
    await r.stop();
  }));

Deno.test("W8: what the operator wrote itself counts as held: a newer list that does not know of it tells of a restore", () =>
  withApi(async (api, cluster) => {
    const a = await api.put("a");
    const written = { ...a, metadata: { ...a.metadata, resourceVersion: "150" } };
    const r = startReflector(cluster, { held: () => written });
    await eventually("the watch", () => api.open.length === 1);
    assertEquals(
      r.told.all,
      ["+a@101 not 150"],
      "the list is older too; a read says that the write is no more",
    );
    await r.stop();
  }));

Deno.test("W8: a list that is older than one's own write undoes nothing: a read of that object decides", () =>
  withApi(async (api, cluster) => {
    const a = await api.put("a");
    const b = await api.put("b");
    const r = startReflector(cluster);
    await eventually("the watch", () => api.open.length === 1);
    api.telling = false;
    await api.put("a");
    await api.put("b");
    await r.stop();
    const holds = new Map(
      [...api.objects.values()].map((o): [string, ExternalDatabase] => [o.metadata.uid, o]),
    );
    api.lagging = { objects: [a, b], version: 102 };
    const again = startReflector(cluster, { held: (uid) => holds.get(uid) });
    await eventually("the list", () => again.reflector.synced);
    assertEquals(again.told.all, ["+a@103", "+b@104"]);
    assertEquals(again.reflector.get("uid-a")?.metadata.resourceVersion, "103");
    await again.stop();
  }));

for (const restored of [true, false]) {
  Deno.test(
    `W8: a list that shows what was released as it was held is asked about: ${
      restored ? "a restored cluster has it again" : "it is gone, and the list was old"
    } (seeds 5246, 7092, 7661)`,
    () =>
      withApi(async (api, cluster) => {
        const a = await api.put("a");
        let released = false;
        const r = startReflector(cluster, { held: () => a, released: () => released });
        await eventually("the watch", () => api.open.length === 1);
        released = true;
        if (!restored) {
          api.objects.clear();
          api.lagging = { objects: [a], version: 101 };
        }
        await expire(api);
        await eventually("the word", () => r.told.all.length === 2);
        assertEquals(r.told.all[1], restored ? "+a@101 not 101" : "-a@uid-a");
        await r.stop();
      }),
  );
}

Deno.test("W8: a resource that its handler was done with, and that a list shows again as it was, is told again", () =>
  withApi(async (api, cluster) => {
    await api.put("a");
    await api.put("b");
    let done = false;
    const r = startReflector(cluster, {
      held: (uid) => done && uid === "uid-a" ? undefined : api.objects.get(uid.slice("uid-".length)),
    });
    await eventually("the watch", () => api.open.length === 1);
    done = true;
    await expire(api);
    await eventually("the watch again", () => api.watches.length === 2 && api.open.length === 1);
    assertEquals(r.told.all, ["+a@101", "+b@102", "+a@101"]);
    await r.stop();
  }));

Deno.test("W7, W8: a resource that a restore brings back ends the namesake that was made after it", () =>
  withApi(async (api, cluster) => {
    const old = await api.put("a", "uid-old");
    const latest = { ...old, metadata: { ...old.metadata, resourceVersion: "150" } };
    api.objects.clear();
    await api.put("a", "uid-new");
    const r = startReflector(cluster, { held: (uid) => uid === "uid-old" ? latest : undefined });
    await eventually("the watch", () => api.open.length === 1);
    api.objects.set("a", old);
    api.version = 1_000_104;
    await expire(api);
    await eventually("the watch again", () => api.watches.length === 2 && api.open.length === 1);
    assertEquals(r.told.all, ["+a@102", "-a@uid-new", "+a@101 not 150"]);
    assertEquals([...r.reflector.keys()], ["uid-old"]);
    await r.stop();
  }));

Deno.test("W8: a watch that always resumes is checked by a list once in a while", () =>
  withApi(async (api, cluster) => {
    await api.put("a");
    const r = startReflector(cluster, { relistMs: 0 });
    await eventually("the watch", () => api.lists().length >= 2);
    await r.stop();
  }));

Deno.test("W8: whoever reads that the cluster went back asks for a list, which comes at once", () =>
  withApi(async (api, cluster) => {
    await api.put("a");
    const r = startReflector(cluster);
    await eventually("the watch", () => api.open.length === 1);
    const lists = api.lists().length;
    r.reflector.relist();
    await eventually("the watch again", () => api.watches.length === 2 && api.open.length === 1);
    assertEquals(api.lists().length, lists + 1);
    assert(!r.log.lines.some((line) => line.message === "The watch broke"));
    await r.stop();
  }));

Deno.test("W8: only a source as new as what is held proves anything", () => {
  const at = (version: string): ExternalDatabase => ({
    apiVersion: "crd.my.domain/v1",
    kind: "ExternalDatabase",
    metadata: { name: "a", namespace: "default", uid: "u", generation: 1, resourceVersion: version },
    spec: { engine: "postgres", version: "14", sizeGb: 1 },
  });
  assertEquals(standing(at("9"), "20", undefined), "current");
  assertEquals(standing(at("10"), "10", at("10")), "current");
  assertEquals(standing(at("11"), "5", at("10")), "current");
  assertEquals(standing(at("9"), "9", at("10")), "doubtful");
  assertEquals(standing(at("9"), "10", at("10")), "rewound");
  assertEquals(standing(at("x"), "10", at("10")), "current", "versions that do not compare prove nothing");
  assert(isRewound(at("9"), at("10")));
  assert(!isRewound(at("11"), at("10")));
});

Deno.test("W8: one version that says the same with its members in another order proves nothing", () => {
  const metadata = { name: "a", namespace: "default", uid: "u", generation: 1, resourceVersion: "10" };
  const common = { apiVersion: "crd.my.domain/v1", kind: "ExternalDatabase", metadata };
  const one = { ...common, spec: { engine: "postgres", version: "14", sizeGb: 1 } };
  const other = { ...common, spec: { sizeGb: 1, version: "14", engine: "postgres" } };
  assertEquals(standing(one, "10", other), "current");
  assertEquals(standing({ ...one, spec: { ...one.spec, sizeGb: 2 } }, "10", other), "rewound");
});
