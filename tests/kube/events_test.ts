/** The recorder on a manual clock. @module */
import { assert, assertEquals } from "@std/assert";
import { seededRandom } from "../../src/core/random.ts";
import { createEventRecorder, cutNote, type EventMeta, type EventsPort } from "../../src/kube/events.ts";
import { type EventRecord, KubeError } from "../../src/kube/port.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { keepingLogger } from "./support.ts";

function event(reason: string, note = "n", uid = "u-1"): EventRecord {
  return {
    regarding: {
      apiVersion: "crd.my.domain/v1",
      kind: "ExternalDatabase",
      metadata: { name: "a", namespace: "default", uid, resourceVersion: "1", generation: 1 },
      spec: { engine: "postgres", version: "14", sizeGb: 1 },
    },
    type: "Normal",
    reason,
    action: "Test",
    note,
  };
}

function setUp(
  options: { fail?: () => boolean; refusal?: string; hang?: boolean; queue?: number; rate?: number } = {},
) {
  const clock = new ManualClock(), log = keepingLogger();
  const created: { event: EventRecord; meta: EventMeta; at: number }[] = [];
  const counted: { name: string; count: number }[] = [];
  let aborted = 0;
  const request = (signal: AbortSignal) => {
    if (options.fail?.()) {
      return Promise.reject(
        new KubeError("forbidden", options.refusal ?? "the namespace is being terminated"),
      );
    }
    if (!options.hang) return Promise.resolve();
    return new Promise<void>((_, reject) =>
      signal.addEventListener("abort", () => {
        aborted++;
        reject(signal.reason);
      })
    );
  };
  const events: EventsPort = {
    create: async (event, meta, signal) => {
      created.push({ event, meta, at: clock.monotonic() });
      await request(signal);
    },
    series: async (_namespace, name, count, _at, signal) => {
      counted.push({ name, count });
      await request(signal);
    },
  };
  const recorder = createEventRecorder({
    events,
    clock,
    random: seededRandom(1),
    log,
    reportingInstance: "pod-1",
    ...(options.queue === undefined ? {} : { queue: options.queue }),
    ...(options.rate === undefined ? {} : { rate: options.rate }),
  });
  return { clock, log, created, counted, recorder, aborted: () => aborted };
}

Deno.test("The same Event within six minutes is a series of the first; after a longer pause it is a new one", async () => {
  const { clock, created, counted, recorder } = setUp();
  recorder.record(event("A"));
  await clock.advance(1_000);
  recorder.record(event("A"));
  await clock.advance(350_000);
  recorder.record(event("A"));
  recorder.record(event("A", "another note"));
  recorder.record(event("A", "n", "another uid"));
  await clock.advance(1_000);
  assertEquals(created.length, 3);
  assertEquals(counted.map((c) => c.count), [2, 3]);
  assert(counted.every((c) => c.name === created[0]?.meta.name));
  assertEquals(new Set(created.map((c) => c.meta.name)).size, 3, "each name is its own");
  await clock.advance(360_000);
  recorder.record(event("A"));
  await clock.advance(1_000);
  assertEquals(created.length, 4);
  assertEquals(clock.pending, 0);
});

Deno.test("Repetitions that come while an Event waits are counted in one request", async () => {
  const { clock, created, counted, recorder } = setUp();
  for (let i = 0; i < 50; i++) recorder.record(event("A"));
  await clock.advance(1_000);
  assertEquals([created.length, counted.length, counted[0]?.count], [1, 1, 50]);
});

Deno.test("Repetitions take one place in the queue, not one each", async () => {
  const { clock, created, recorder } = setUp({ queue: 2 });
  recorder.record(event("first"));
  for (let i = 0; i < 50; i++) recorder.record(event("A"));
  recorder.record(event("B"));
  await clock.advance(1_000);
  assertEquals(created.map((c) => c.event.reason), ["first", "A", "B"]);
});

Deno.test("Requests are spread over time and what is too much is dropped", async () => {
  const { clock, created, log, recorder } = setUp({ queue: 10, rate: 5 });
  for (let i = 0; i < 100; i++) recorder.record(event(`R${i}`));
  await clock.advance(10_000);
  assertEquals(created.length, 11, "one at work and ten waiting");
  const gaps = created.slice(1).map((c, i) => c.at - (created[i]?.at ?? 0));
  assert(gaps.every((gap) => gap >= 200), String(gaps));
  assert(log.lines.some((line) => line.fields["count"] === 89));
});

Deno.test("D3: a refused Event is logged at debug and dropped, and the next is written", async () => {
  let failing = true;
  const { clock, created, log, recorder } = setUp({ fail: () => failing });
  recorder.record(event("A"));
  await clock.advance(1_000);
  failing = false;
  recorder.record(event("B"));
  await clock.advance(1_000);
  assertEquals(created.map((c) => c.event.reason), ["A", "B"]);
  assertEquals(log.lines.map((line) => line.level), ["debug"]);
  recorder.record(event("A"));
  await clock.advance(1_000);
  assertEquals(created.length, 3, "what was never written is created at its next occurrence, not counted");
});

Deno.test("that the right to write Events is missing is told once at warn", async () => {
  const { clock, log, recorder } = setUp({ fail: () => true, refusal: "cannot create resource" });
  for (const reason of ["A", "B"]) {
    recorder.record(event(reason));
    await clock.advance(1_000);
  }
  assertEquals(log.lines.map((line) => line.level), ["warn", "debug"]);
});

Deno.test("flush writes what waits and ends at its deadline whatever hangs; afterwards nothing is taken", async () => {
  const quick = setUp();
  for (let i = 0; i < 5; i++) quick.recorder.record(event(`R${i}`));
  const flushed = quick.recorder.flush(10_000);
  await quick.clock.advance(1_000);
  await flushed;
  assertEquals(quick.created.length, 5);
  quick.recorder.record(event("late"));
  await quick.clock.advance(1_000);
  assertEquals([quick.created.length, quick.clock.pending], [5, 0]);

  const hanging = setUp({ hang: true });
  for (let i = 0; i < 5; i++) hanging.recorder.record(event(`R${i}`));
  const ended = hanging.recorder.flush(2_000);
  await hanging.clock.advance(2_000);
  await ended;
  assertEquals([hanging.created.length, hanging.aborted(), hanging.clock.pending], [1, 1, 0]);
});

Deno.test("A note is cut to 1,024 bytes between characters", () => {
  assertEquals(cutNote("x".repeat(1_024)).length, 1_024);
  for (const character of ["x", "é", "€", "😀"]) {
    const cut = cutNote(character.repeat(1_025));
    const bytes = new TextEncoder().encode(cut).length;
    assert(bytes <= 1_024 && bytes > 1_016, `${bytes}`);
    assert(cut.endsWith("…") && !cut.includes("�"));
  }
});
