/**
 * The stream of server-sent events: what is told, to whom, how often, and that nobody can make it hold more than it may.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { CLIENT_BYTES } from "../../src/server/api/clients.ts";
import { FleetStream, HEARTBEAT_MS, LINGER_MS, MAX_CLIENTS } from "../../src/server/api/stream.ts";
import { STREAM_INTERVAL_MS } from "../../src/server/api/types.ts";
import type { FleetView } from "../../src/server/api/view.ts";
import type { FleetRow } from "../../src/server/fleet.ts";
import { viewOf } from "../support/fleet_view.ts";
import { ManualClock } from "../support/manual_clock.ts";

interface Told {
  readonly id: string;
  readonly event: string;
  // deno-lint-ignore no-explicit-any -- what the server says is looked at field by field
  readonly data: any;
}

/** A fleet whose rows a test changes, and a stream of it in virtual time. */
class Fleet {
  readonly clock = new ManualClock();
  readonly rows = new Map<string, FleetRow>();
  /** Rows that were made since the start. */
  made = 0;
  /** A row that cannot be made. */
  poisoned: string | undefined;
  readonly errors: unknown[] = [];
  listeners = new Set<Parameters<FleetView["listen"]>[0]>();
  readonly stream: FleetStream;

  constructor(size = 3) {
    for (let i = 0; i < size; i++) this.rows.set(`u-${i}`, row(i));
    const view: FleetView = {
      ...viewOf(() => [...this.rows.values()]),
      row: (uid) => {
        this.made++;
        if (uid === this.poisoned) throw new TypeError("what is stored may be anything");
        return this.rows.get(uid);
      },
      find: (_, name) => [...this.rows.values()].find((r) => r.name === name)?.uid,
      detail: (uid) => {
        if (uid === this.poisoned) throw new TypeError("what is stored may be anything");
        return { row: this.rows.get(uid) } as never;
      },
      listen: (listener) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
    };
    this.stream = new FleetStream({
      view,
      clock: this.clock,
      onError: (error) => void this.errors.push(error),
    });
  }

  change(i: number, change: Partial<FleetRow>): void {
    const uid = `u-${i}`;
    this.rows.set(uid, { ...this.rows.get(uid) ?? row(i), ...change });
    for (const l of this.listeners) l.changed(uid);
  }

  remove(i: number): void {
    this.rows.delete(`u-${i}`);
    for (const l of this.listeners) l.gone(`u-${i}`);
  }

  connect(since?: string, name?: string): Reader {
    const events = this.stream.connect(since, name === undefined ? undefined : { namespace: "shop", name });
    assert(events !== undefined, "there is room");
    return new Reader(events);
  }
}

class Reader {
  readonly told: Told[] = [];
  raw = "";
  state: "open" | "ended" | "cut" = "open";
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  constructor(events: ReadableStream<Uint8Array>) {
    this.#reader = events.getReader();
    void this.#read();
  }
  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    try {
      while (true) {
        const { done, value } = await this.#reader.read();
        if (done) break;
        const text = decoder.decode(value, { stream: true });
        this.raw += text;
        rest += text;
        const parts = rest.split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) {
          const field = (name: string) =>
            part.split("\n").find((l) => l.startsWith(`${name}: `))?.slice(name.length + 2);
          const event = field("event");
          if (event !== undefined) {
            this.told.push({ id: field("id") ?? "", event, data: JSON.parse(field("data") ?? "null") });
          }
        }
      }
      this.state = "ended";
    } catch {
      this.state = "cut";
    }
  }
  of(event: string): Told[] {
    return this.told.filter((t) => t.event === event);
  }
  leave(): Promise<void> {
    return this.#reader.cancel();
  }
}

function row(i: number): FleetRow {
  return {
    namespace: "shop",
    name: `db-${i}`,
    uid: `u-${i}`,
    engine: "postgres",
    version: "14",
    sizeGb: 20,
    state: "Creating",
    ready: "False",
    reason: "Creating",
    message: "",
  };
}

const SIZE = (r: Told) => r.data.changed.map((c: FleetRow) => `${c.name} ${c.sizeGb}`);

Deno.test("only rows that changed are told, once an interval, in their newest form, and the same bytes to all", async () => {
  const fleet = new Fleet();
  const readers = [fleet.connect(), fleet.connect()];
  await fleet.clock.advance(10);
  for (let size = 21; size <= 30; size++) fleet.change(1, { sizeGb: size });
  fleet.change(2, {}); // as it was
  fleet.made = 0;
  await fleet.clock.advance(STREAM_INTERVAL_MS);
  for (const reader of readers) assertEquals(reader.of("rows").map(SIZE), [["db-1 30"]]);
  assertEquals(fleet.made, 2, "each row was made once, whoever reads");
  assertEquals(readers[0]?.raw, readers[1]?.raw);
  fleet.remove(0);
  fleet.change(7, {});
  await fleet.clock.advance(STREAM_INTERVAL_MS);
  assertEquals(readers[0]?.of("rows").at(-1)?.data.gone, ["u-0"]);
  assertEquals(SIZE(readers[0]!.of("rows").at(-1)!), ["db-7 20"]);
  fleet.stream.close();
});

Deno.test("a snapshot's cursor and Last-Event-ID go on where they were; what is not held any more is a reset", async () => {
  const fleet = new Fleet();
  const snapshot = JSON.parse(fleet.stream.snapshot().join(""));
  assertEquals([snapshot.rows.length, snapshot.summary.total], [3, 3]);
  fleet.change(0, { sizeGb: 99 }); // between snapshot and stream
  const first = fleet.connect(snapshot.cursor);
  await fleet.clock.advance(STREAM_INTERVAL_MS);
  assertEquals([first.of("reset").length, first.of("rows").map(SIZE)], [0, [["db-0 99"]]]);
  const last = first.told.at(-1)!.id;
  await first.leave();
  const stays = fleet.connect(last);
  fleet.change(1, { sizeGb: 50 });
  await fleet.clock.advance(STREAM_INTERVAL_MS);
  fleet.change(1, { sizeGb: 51 });
  await fleet.clock.advance(STREAM_INTERVAL_MS);
  const back = fleet.connect(last);
  await fleet.clock.advance(1);
  assertEquals(back.of("rows").map(SIZE), [["db-1 50"], ["db-1 51"]]);
  for (const since of [undefined, "", "another-1", `${last.split("-")[0]}-999`, `${last.split("-")[0]}-x`]) {
    const strange = fleet.connect(since);
    await fleet.clock.advance(1);
    assertEquals(strange.of("reset").length, 1, String(since));
    await strange.leave();
  }
  for (let i = 0; i < 600; i++) {
    fleet.change(2, { sizeGb: 100 + i });
    await fleet.clock.advance(STREAM_INTERVAL_MS);
  }
  const late = fleet.connect(last);
  await fleet.clock.advance(1);
  assertEquals([late.of("reset").length, late.of("rows").length], [1, 0], "the ring is bounded");
  assertEquals(stays.of("rows").length, 602);
  fleet.stream.close();
});

Deno.test("the summary counts as the rows do, is told once a second while it changes, and not else", async () => {
  const fleet = new Fleet();
  const reader = fleet.connect();
  fleet.change(0, { state: "Available", ready: "True", reason: "Available" });
  fleet.change(1, { reason: "Conflict", attention: true, className: "gold" });
  await fleet.clock.advance(1_000);
  const { states, reasons, classes, attention, total } = reader.of("summary").at(-1)!.data;
  assertEquals({ states, reasons, classes, attention, total }, {
    states: { Available: 1, Creating: 2 },
    reasons: { Available: 1, Conflict: 1, Creating: 1 },
    classes: { "": 2, gold: 1 },
    attention: { Conflict: 1 },
    total: 3,
  });
  const told = reader.of("summary").length;
  await fleet.clock.advance(10_000);
  assertEquals(reader.of("summary").length, told);
  fleet.stream.close();
});

Deno.test("one who asks for the fleet again and again, and never for the stream, is told what is, and holds nothing of what went", async () => {
  const fleet = new Fleet();
  const asked = () => JSON.parse(fleet.stream.snapshot().join(""));
  const { cursor } = asked();
  for (let i = 3; i < 2_000; i++) {
    fleet.change(i, { state: "Available" });
    fleet.remove(i - 1);
    if (i % 500 !== 0) continue;
    await fleet.clock.advance(LINGER_MS / 2);
    asked();
  }
  const { rows, summary } = asked();
  const names = (of: FleetRow[]) => of.map((r) => r.name).sort();
  assertEquals(names(rows), ["db-0", "db-1", "db-1999"]);
  assertEquals([summary.total, summary.states], [3, { Available: 1, Creating: 2 }]);
  fleet.made = 0;
  asked();
  assertEquals(fleet.made, 0, "what did not change is not made again");
  const back = fleet.connect(cursor);
  await fleet.clock.advance(STREAM_INTERVAL_MS);
  assertEquals([back.of("reset").length, back.of("rows").some((r) => r.data.gone.includes("u-2"))], [
    0,
    true,
  ]);
  fleet.stream.close();
  assertEquals(asked().rows.length, 3, "a request that is answered as the server closes");
  assertEquals([fleet.listeners.size, fleet.clock.pending], [0, 0]);
});

Deno.test("a database that is looked at is told whole when it changed, and null when it is gone", async () => {
  const fleet = new Fleet();
  const reader = fleet.connect(undefined, "db-1");
  const other = fleet.connect(undefined, "db-2");
  await fleet.clock.advance(1);
  assertEquals(reader.of("database").map((d) => d.data.row.sizeGb), [20]);
  fleet.change(1, { sizeGb: 40 });
  await fleet.clock.advance(STREAM_INTERVAL_MS);
  fleet.remove(1);
  await fleet.clock.advance(STREAM_INTERVAL_MS);
  assertEquals(reader.of("database").map((d) => d.data?.row.sizeGb ?? null), [20, 40, null]);
  assertEquals(other.of("database").length, 1);
  fleet.stream.close();
});

Deno.test("one who does not read is cut off, and the others do not notice", async () => {
  const fleet = new Fleet();
  const reader = fleet.connect();
  const silent = fleet.stream.connect(undefined); // nobody reads it
  assert(silent !== undefined);
  const message = "x".repeat(10_000);
  const most = CLIENT_BYTES / 10_000 + 2;
  for (let i = 0; i < most; i++) {
    fleet.change(0, { message: `${i} ${message}` });
    await fleet.clock.advance(2 * STREAM_INTERVAL_MS);
    if (fleet.stream.clients === 1) break;
  }
  assertEquals([fleet.stream.clients, reader.state], [1, "open"]);
  await silent.getReader().read().then(() => assert(false, "it was cut off"), () => {});
  const idle = fleet.stream.connect(undefined);
  assert(idle !== undefined);
  await fleet.clock.advance(2 * HEARTBEAT_MS + 1_000);
  assertEquals([fleet.stream.clients, reader.state], [1, "open"], "not even a heartbeat was read");
  assert(reader.raw.includes(": still here\n\n"));
  fleet.stream.close();
});

Deno.test("one who reads slowly, and is never at the end, is not cut off as long as he reads", async () => {
  const fleet = new Fleet();
  const events = fleet.stream.connect(undefined);
  const reader = events!.getReader();
  for (let i = 0; i < 6 * HEARTBEAT_MS / 1_000; i++) {
    fleet.change(0, { sizeGb: i });
    await fleet.clock.advance(1_000);
    if (i % 10 === 0) await reader.read();
  }
  assertEquals(fleet.stream.clients, 1);
  fleet.stream.close();
});

Deno.test("a resource that cannot be shown costs its readers a new begin and the operator nothing", async () => {
  const fleet = new Fleet();
  const reader = fleet.connect();
  await fleet.clock.advance(1);
  fleet.poisoned = "u-1";
  fleet.change(1, { sizeGb: 99 });
  await fleet.clock.advance(STREAM_INTERVAL_MS); // an error in a timer would end the process
  assertEquals([fleet.errors.length, reader.state, fleet.stream.clients], [1, "ended", 0]);
  assertThrows(() => fleet.connect(undefined, "db-1"), TypeError);
  assertEquals(fleet.stream.clients, 0, "its place is free");
  fleet.poisoned = undefined;
  const again = fleet.connect(reader.told.at(-1)!.id);
  fleet.change(1, { sizeGb: 100 });
  await fleet.clock.advance(STREAM_INTERVAL_MS);
  assertEquals([again.of("reset").length, again.of("rows").map(SIZE)], [1, [["db-1 100"]]]);
  fleet.stream.close();
  assertEquals([fleet.listeners.size, fleet.clock.pending], [0, 0]);
});

Deno.test("there are only so many clients, and a place is free again when one goes", async () => {
  const fleet = new Fleet();
  const readers = Array.from({ length: MAX_CLIENTS }, () => fleet.connect());
  assertEquals(fleet.stream.connect(undefined), undefined);
  await readers[0]?.leave();
  assert(fleet.stream.connect(undefined) !== undefined);
  fleet.stream.close();
  await fleet.clock.advance(1);
  assert(readers.slice(1).every((r) => r.state === "ended"), "they end when the server closes");
  assertEquals(fleet.stream.connect(undefined), undefined, "and none is taken any more");
});

Deno.test("while nobody reads nothing is made, and a while later nothing is even noted", async () => {
  const fleet = new Fleet();
  assertEquals(fleet.listeners.size, 0);
  const reader = fleet.connect();
  await reader.leave();
  assertEquals(fleet.listeners.size, 1, "one who comes back soon misses nothing");
  fleet.made = 0;
  for (let i = 0; i < 100; i++) {
    fleet.change(i % 3, { sizeGb: i });
    await fleet.clock.advance(100);
  }
  assertEquals(fleet.made, 0);
  await fleet.clock.advance(LINGER_MS);
  assertEquals(fleet.listeners.size, 0);
  assertEquals(fleet.clock.pending, 0, "no timer is left");
});

Deno.test("a change of thousands of rows is told in events of bounded size, and all of it in the end", async () => {
  const fleet = new Fleet(5_000);
  const reader = fleet.connect();
  for (let i = 0; i < 5_000; i++) fleet.change(i, { sizeGb: 21 });
  await fleet.clock.advance(5_000);
  const sizes = reader.of("rows").map((r) => r.data.changed.length);
  assertEquals([Math.max(...sizes), sizes.reduce((a, b) => a + b, 0)], [1_000, 5_000]);
  fleet.stream.close();
});
