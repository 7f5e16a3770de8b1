/** The judges of a soak, each shown somebody guilty. @module */
import { assert, assertEquals } from "@std/assert";
import { API_VERSION, FINALIZER, KIND, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { noFigures } from "../../tools/soak/figures.ts";
import { alarming, changes, reportedOrphans, unsettled } from "../../tools/soak/oracles.ts";
import { TcpProxy } from "../../tools/soak/proxy.ts";
import { Witness } from "../../tools/soak/witness.ts";

const NEVER = () => false;

function cloudOf(): SimulatedCloud {
  return new SimulatedCloud({ clock: systemClock, random: seededRandom(1), latencyMs: 0, deleteMs: 0 });
}

function resource(
  uid: string,
  providerId: string,
  more: Partial<ExternalDatabase["status"]> = {},
): ExternalDatabase {
  const condition = { status: "True", reason: "Available", message: "", lastTransitionTime: "" } as const;
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: {
      name: "db-1",
      namespace: "n",
      uid,
      resourceVersion: "1",
      generation: 1,
      finalizers: [FINALIZER],
    },
    spec: { engine: "postgres", version: "14.2", sizeGb: 20 },
    status: {
      observedGeneration: 1,
      providerId,
      endpoint: `${providerId}.db.example:5432`,
      conditions: [{ ...condition, type: "Ready" }, { ...condition, type: "Synced" }],
      ...more,
    },
  };
}

Deno.test("A world that is not as the specs ask is told by its first fault, and one that is is not", () => {
  const cloud = cloudOf();
  const { id } = cloud.insert({ tags: { [TAG.uid]: "u" } });
  const told = (object: ExternalDatabase) => unsettled([object], cloud.databases(), NEVER, NEVER);
  const right = resource("u", id);
  assertEquals(told(right), []);
  const terminating = { ...right.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
  const wrong: readonly [ExternalDatabase, RegExp][] = [
    [{ ...right, metadata: terminating }, /still being deleted/],
    [{ ...right, metadata: { ...right.metadata, finalizers: [] } }, /no finalizer/],
    [{ ...right, metadata: { ...right.metadata, generation: 2 } }, /observedGeneration 1, not 2/],
    [{ ...right, spec: { ...right.spec, sizeGb: 21 } }, /20 GiB, not 14.2, 21 GiB/],
    [resource("u", "db-none"), /has no database db-none/],
    [resource("u", id, { endpoint: "elsewhere:1" }), /endpoint elsewhere:1/],
    [resource("u", id, { conditions: [] }), /Ready none/],
  ];
  for (const [object, words] of wrong) assert(words.test(told(object).join()), `${told(object)}: ${words}`);
  assert(/is of u/.test(unsettled([resource("v", id)], cloud.databases(), NEVER, NEVER).join()));
});

Deno.test("A database that outlives its resource is told unless it is foreign, retained, or reported with an excuse", () => {
  const cloud = cloudOf();
  const { id } = cloud.insert({ tags: { [TAG.uid]: "gone" } });
  cloud.insert({ tags: { [TAG.uid]: "kept", [TAG.retained]: "kept" } });
  const told = (foreign: boolean, excused: boolean) =>
    unsettled([], cloud.databases(), () => foreign, () => excused).length;
  assertEquals([told(false, false), told(true, false), told(false, true)], [1, 0, 0]);
  const line = JSON.stringify({
    level: "error",
    msg: "A database has no resource any more; it is reported and not deleted",
    uid: "gone",
    providerId: id,
  });
  assertEquals([...reportedOrphans(`${line}\n{"msg":"else"}\n`)], ["gone"]);
  assertEquals([alarming(line, () => true).length, alarming(line, NEVER).length], [0, 1]);
  assertEquals(alarming('{"level":"warn"}\n{"level":"error","msg":"x"}\nerror: Uncaught y', NEVER).length, 2);
});

Deno.test("S5: what changes, comes or goes in the silence is told", () => {
  const before = [resource("a", "1"), resource("b", "2")];
  const changed = { ...before[0]!, metadata: { ...before[0]!.metadata, resourceVersion: "2" } };
  assertEquals(changes(before, before), []);
  assertEquals(changes(before, [changed, resource("c", "3")]).length, 3);
});

Deno.test("S1, S3: a second database of a UID, a deletion that nobody asked for, and a touched foreign one are seen", async () => {
  const cloud = cloudOf();
  const server = serveCloud(cloud);
  const log = await Deno.makeTempFile();
  try {
    const told: string[] = [];
    const witness = new Witness(server.url, {
      figures: noFigures(),
      asked: new Set(["asked"]),
      log,
      violation: (oracle, what) => told.push(`${oracle} ${what}`),
    });
    await witness.addForeign(2);
    const create = (uid: string) =>
      cloud.call({
        verb: "create",
        body: { name: "n", engine: "postgres", version: "14", sizeGb: 1, tags: { [TAG.uid]: uid } },
      });
    await create("a");
    await witness.look();
    assertEquals(told, []);
    await create("a");
    await witness.look();
    assert(told.length === 2 && told.every((t) => t.startsWith("S1")), told.join("\n"));
    for (const uid of ["asked", "other"]) {
      const { id } = cloud.insert({ tags: { [TAG.uid]: uid } });
      await cloud.call({ verb: "delete", id });
    }
    cloud.edit(cloud.databases()[0]!.id, { sizeGb: 99 });
    await witness.look();
    await witness.look();
    assertEquals(told.slice(2).map((t) => t.split(" ")[0]), ["S3", "S3"], told.join("\n"));
    assert(told[2]!.includes("of other") && told[3]!.includes("foreign"), told.join("\n"));
  } finally {
    await server.close();
    await Deno.remove(log);
  }
});

Deno.test("The proxy carries bytes, holds them back, lets them go, and breaks connections", async () => {
  using echo = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const conn of echo) void conn.readable.pipeTo(conn.writable).catch(() => {});
  })();
  const proxy = new TcpProxy((echo.addr as Deno.NetAddr).port);
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
  const buffer = new Uint8Array(8);
  await conn.write(new Uint8Array([1]));
  assertEquals(await conn.read(buffer), 1);
  const release = proxy.hold();
  await conn.write(new Uint8Array([2]));
  let came = false;
  const coming = conn.read(buffer).then((n) => {
    came = true;
    return n;
  });
  const other = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
  await other.write(new Uint8Array([3]));
  assertEquals([await other.read(new Uint8Array(8)), came], [1, false]); // what is new passes
  release();
  assertEquals([await coming, buffer[0], proxy.open], [1, 2, 2]);
  proxy.reset();
  assertEquals(await conn.read(buffer).catch(() => null), null);
  conn.close();
  other.close();
  await proxy.close();
  echo.close();
  await serving;
});
