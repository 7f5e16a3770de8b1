import { setImmediate } from "node:timers";
import { assert, assertEquals } from "@std/assert";
import { type Connection, Feed, type FeedSource } from "../../src/page/live/feed.ts";
import type { DatabaseDetail, FleetRow, FleetSummary } from "../../src/server/api/types.ts";
import { sampleDetail } from "./sample_database.ts";
import { NOW, sampleRow, sampleSummary } from "./samples.ts";

class Source implements FeedSource {
  readyState = 0;
  closed = false;
  readonly #listeners = new Map<string, ((event: MessageEvent) => void)[]>();

  constructor(readonly path: string) {}

  addEventListener(type: string, listener: (event: MessageEvent) => void): void {
    this.#listeners.set(type, [...this.#listeners.get(type) ?? [], listener]);
  }

  close(): void {
    this.closed = true;
  }

  emit(type: string, data: unknown = {}, id = ""): void {
    const event = { data: JSON.stringify(data), lastEventId: id } as MessageEvent;
    for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }
}

/** A browser that a test turns by hand. */
class World {
  readonly sources: Source[] = [];
  readonly frames: (() => void)[] = [];
  readonly timers: { work: () => void; ms: number }[] = [];
  snapshots: FleetRow[][] = [];
  fails = false;
  /** Snapshots are answered once this is. */
  hold: Promise<void> | undefined;
  rows: FleetRow[] = [];
  rowsTold = 0;
  summary: FleetSummary | undefined;
  database: DatabaseDetail | null | undefined;
  readonly connections: Connection[] = [];
  now = NOW;

  readonly feed = new Feed({
    get: async (path, signal) => {
      assertEquals(path, "/api/fleet");
      if (this.hold !== undefined) {
        const aborted = new Promise<never>((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
        await Promise.race([this.hold, aborted]);
      }
      if (this.fails) throw new Error("no answer");
      const rows = this.snapshots.shift() ?? [];
      return { cursor: "run-7", at: "", rows, summary: sampleSummary(rows) };
    },
    open: (path) => {
      const source = new Source(path);
      this.sources.push(source);
      return source;
    },
    frame: (work) => this.frames.push(work),
    now: () => this.now,
    later: (work, ms) => {
      const timer = { work, ms };
      this.timers.push(timer);
      return () => {
        const index = this.timers.indexOf(timer);
        if (index >= 0) this.timers.splice(index, 1);
      };
    },
    random: () => 0.5,
  }, {
    rows: (rows) => {
      this.rows = [...rows.values()];
      this.rowsTold++;
    },
    summary: (summary) => this.summary = summary,
    database: (detail) => this.database = detail,
    connection: (connection) => this.connections.push(connection),
  });

  get source(): Source {
    const last = this.sources.at(-1);
    assert(last);
    return last;
  }

  paint(): void {
    for (const work of this.frames.splice(0)) work();
  }
}

/** Promises that are settled run on. */
const turn = () => new Promise<void>((done) => setImmediate(done));

async function begun(rows: FleetRow[]): Promise<World> {
  const world = new World();
  world.snapshots.push(rows);
  world.feed.follow(undefined);
  await turn();
  world.source.readyState = 1;
  world.source.emit("open");
  return world;
}

Deno.test("the stream begins where the snapshot ends, and a thousand changes are one painting", async () => {
  const world = await begun([sampleRow({ uid: "1" }), sampleRow({ uid: "2" })]);
  assertEquals(world.source.path, "/api/stream?cursor=run-7");
  assertEquals(world.connections, [{ state: "live" }]);
  const told = world.rowsTold;
  for (let i = 0; i < 1_000; i++) {
    world.source.emit(
      "rows",
      { changed: [sampleRow({ uid: "1", message: `step ${i}` })], gone: [] },
      `run-${8 + i}`,
    );
  }
  assertEquals([world.rowsTold, world.frames.length], [told, 1]);
  world.paint();
  assertEquals(world.rowsTold, told + 1);
  assertEquals(world.rows.map((row) => [row.uid, row.message])[0], ["1", "step 999"]);
  world.source.emit("rows", { changed: [], gone: ["1"] });
  world.paint();
  assertEquals(world.rows.map((row) => row.uid), ["2"]);
});

Deno.test("a row that is gone and comes again before the painting stays", async () => {
  const world = await begun([sampleRow({ uid: "1" })]);
  world.source.emit("rows", { changed: [], gone: ["1"] });
  world.source.emit("rows", { changed: [sampleRow({ uid: "1", message: "again" })], gone: [] });
  world.paint();
  assertEquals(world.rows.map((row) => row.message), ["again"]);
});

Deno.test("a stream that breaks says since when, and is live again without a new snapshot when the browser resumes it", async () => {
  const world = await begun([sampleRow()]);
  world.now += 5_000;
  world.source.emit("error");
  // The browser tries every two seconds; each failure is an error, and none of them puts off the word.
  world.now += 2_000;
  world.source.emit("error");
  assertEquals([world.connections.length, world.timers.length], [1, 1]);
  world.timers.splice(0).at(-1)?.work();
  world.now += 5_000;
  world.source.emit("error");
  assertEquals(world.connections.slice(1), [{ state: "lost", since: NOW + 5_000 }]);
  world.source.emit("open");
  assertEquals(world.connections.at(-1), { state: "live" });
  assertEquals(world.sources.length, 1);
});

Deno.test("a stream that the browser gives up is begun anew, and the waits between tries grow and end", async () => {
  const world = await begun([sampleRow({ uid: "1" })]);
  world.fails = true;
  world.source.readyState = 2;
  world.source.emit("error");
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    const timer = world.timers.splice(0).at(-1);
    assert(timer);
    waits.push(timer.ms);
    timer.work();
    await turn();
  }
  assertEquals(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000, 20_000]);
  world.fails = false;
  world.snapshots.push([sampleRow({ uid: "2" })]);
  world.timers.splice(0).at(-1)?.work();
  await turn();
  assertEquals(world.rows.map((row) => row.uid), ["2"]);
});

Deno.test("who goes to a database before the first snapshot is here is told of no lost connection", async () => {
  const world = new World();
  const held = Promise.withResolvers<void>();
  world.hold = held.promise;
  world.feed.follow(undefined);
  await turn();
  world.feed.follow("shop/orders"); // begins anew
  await turn();
  world.snapshots.push([sampleRow({ uid: "1" })]);
  held.resolve();
  await turn();
  await turn();
  assertEquals([world.connections, world.timers.length], [[], 0]);
  assertEquals(world.sources.map((source) => source.path), [
    "/api/stream?cursor=run-7&database=shop%2Forders",
  ]);
});

Deno.test("a gap that the server cannot fill leads to a new snapshot", async () => {
  const world = await begun([sampleRow({ uid: "1" })]);
  world.snapshots.push([sampleRow({ uid: "2" })]);
  world.now += 60_000;
  world.source.emit("reset");
  await turn();
  assertEquals(world.rows.map((row) => row.uid), ["2"]);
  assertEquals(world.sources.length, 2);
  assert(world.sources[0]?.closed);
  // One that comes again at once does not make the page ask without a pause.
  world.source.emit("reset");
  await turn();
  assertEquals([world.sources.length, world.timers.map((timer) => timer.ms)], [2, [1_000]]);
});

Deno.test("who does not look on holds no stream, and goes on from where it was", async () => {
  const world = await begun([sampleRow({ uid: "1" })]);
  world.source.emit("rows", { changed: [], gone: [] }, "run-9");
  world.feed.pause();
  assert(world.source.closed);
  world.feed.follow("shop/orders");
  assertEquals(world.sources.length, 1);
  world.feed.resume();
  world.feed.resume();
  assertEquals(world.sources.length, 2);
  assertEquals(world.source.path, "/api/stream?cursor=run-9&database=shop%2Forders");
});

Deno.test("following a database opens a stream of it from where the last event was; what the old one says then is not heard", async () => {
  const world = await begun([sampleRow({ uid: "1" })]);
  world.source.emit("rows", { changed: [], gone: [] }, "run-9");
  const [old] = world.sources;
  world.feed.follow("shop/orders");
  assertEquals(world.source.path, "/api/stream?cursor=run-9&database=shop%2Forders");
  assert(old?.closed);
  const detail = sampleDetail();
  world.source.emit("database", detail);
  old?.emit("database", null);
  world.paint();
  assertEquals(world.database, detail);
});
