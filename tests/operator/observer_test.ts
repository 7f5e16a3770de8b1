import { assert, assertEquals } from "@std/assert";
import { OPERATOR_NAME, TAG } from "../../src/api/constants.ts";
import { sleep } from "../../src/core/wait.ts";
import { type DatabasePage, ProviderError } from "../../src/providers/port.ts";

import { Bench, database, onBench, PERIOD } from "../support/provider_bench.ts";

Deno.test("the observer lists at once, then once a period with jitter, by the tags of its cluster", () =>
  onBench("observer", async (bench) => {
    bench.run();
    await bench.clock.advance(0);
    assertEquals(bench.rounds.length, 1);
    assertEquals(bench.lists[0]?.options.tags, {
      [TAG.cluster]: "cluster-1",
      [TAG.managedBy]: OPERATOR_NAME,
    });
    await bench.clock.advance(20 * PERIOD);
    assert(bench.rounds.length >= 20 && bench.rounds.length <= 22, `${bench.rounds.length} rounds`);
    const gaps = bench.lists.slice(1).map((l, i) => l.at - bench.lists[i]!.at);
    assert(new Set(gaps).size > 5, "the gaps differ");
    assert(gaps.every((g) => g >= 0.95 * PERIOD && g <= 1.05 * PERIOD), gaps.join());
  }));

Deno.test("the observer reads all pages, bears the time of each, and groups by UID", () =>
  onBench("observer", async (bench) => {
    const pages: Record<string, DatabasePage> = {
      "": { items: [database("a", "u1"), database("b", "u2")], nextPageToken: "2" },
      "2": { items: [database("c", "u1"), database("b", "u2")], nextPageToken: "3" },
      "3": { items: [database("d")] },
    };
    bench.page = async ({ pageToken }) => {
      await sleep(bench.clock, 100);
      return pages[pageToken ?? ""]!;
    };
    const began = bench.clock.monotonic();
    bench.run();
    await bench.clock.advance(1_000);
    const [round] = bench.rounds;
    assertEquals([...(round?.byId.keys() ?? [])], ["a", "b", "c", "d"]);
    assertEquals(round?.byUid.get("u1")?.map((l) => l.database.id), ["a", "c"]);
    assertEquals(round?.byUid.size, 2);
    assertEquals([round?.sentAt, round?.byId.get("a")?.sentAt, round?.byId.get("d")?.sentAt], [
      began,
      began,
      began + 200,
    ]);
    assertEquals(
      round?.byId.get("b")?.sentAt,
      began + 100,
      "seen twice as pages shift: the later sight stands",
    );
    assertEquals(bench.observer.roundAt, began);
  }));

Deno.test("rule 10: a list that breaks off after a page tells of no absence", () =>
  onBench("observer", async (bench) => {
    bench.page = ({ pageToken }) => {
      if (pageToken === "2") throw new ProviderError("retryable", "503");
      return { items: [database("a", "u1")], nextPageToken: "2" };
    };
    bench.run();
    await bench.clock.advance(60_000);
    assertEquals([bench.rounds.length, bench.observer.roundAt], [0, Number.NEGATIVE_INFINITY]);
  }));

Deno.test("a list whose page token comes again ends as a failure", () =>
  onBench("observer", async (bench) => {
    bench.page = () => ({ items: [database("a")], nextPageToken: "same" });
    bench.run();
    await bench.clock.advance(0);
    assertEquals([bench.lists.length, bench.rounds.length], [2, 0]);
    await bench.clock.advance(10_000);
    assert(bench.unreadable[0]?.message.includes("does not end"));
  }));

Deno.test("C5: one failed list is not told, two in a row are, and retries back off to half a minute", () =>
  onBench("observer", async (bench) => {
    bench.page = () => Promise.reject(new ProviderError("unauthorised", "Forbidden"));
    bench.run();
    await bench.clock.advance(0);
    assertEquals(bench.unreadable.length, 0);
    await bench.clock.advance(1_000);
    assertEquals(bench.unreadable.map((e) => e.errorClass), ["unauthorised"]);
    await bench.clock.advance(20 * 60_000);
    const gaps = bench.lists.slice(1).map((l, i) => l.at - bench.lists[i]!.at);
    assert(gaps.slice(6).every((g) => g >= 15_000 && g <= 30_000), gaps.join());
    bench.page = () => ({ items: [] });
    await bench.clock.advance(30_000);
    assertEquals(bench.rounds.length, 1, "healed within one back-off");
    const told = bench.unreadable.length;
    bench.page = () => Promise.reject(new ProviderError("retryable", "503"));
    await bench.clock.advance(1.1 * PERIOD);
    bench.page = () => ({ items: [] });
    await bench.clock.advance(2 * PERIOD);
    assert(bench.unreadable.length > told, "counted anew after a success");
  }));

Deno.test("requests for a list are merged, keep a distance, and do not hasten a failing one", () =>
  onBench("observer", async (bench) => {
    bench.run();
    await bench.clock.advance(10_000);
    for (let i = 0; i < 100; i++) bench.observer.requestRound();
    await bench.clock.advance(10_000);
    assertEquals(bench.rounds.length, 2);
    for (let i = 0; i < 1_000; i++) {
      bench.observer.requestRound();
      await bench.clock.advance(10);
    }
    assert(bench.rounds.length <= 8, `${bench.rounds.length} rounds in ten seconds of requests`);
    bench.page = () => Promise.reject(new ProviderError("retryable", "503"));
    bench.observer.requestRound();
    await bench.clock.advance(5 * 60_000);
    const before = bench.lists.length;
    for (let i = 0; i < 300; i++) {
      bench.observer.requestRound();
      await bench.clock.advance(1_000);
    }
    assert(bench.lists.length - before <= 21, `${bench.lists.length - before} failing lists in five minutes`);
  }));

Deno.test("a request that comes while a list runs brings another, which began after it", () =>
  onBench("observer", async (bench) => {
    bench.page = async () => {
      await sleep(bench.clock, 500);
      return { items: [] };
    };
    bench.run();
    await bench.clock.advance(100);
    const at = bench.clock.monotonic();
    bench.observer.requestRound();
    await bench.clock.advance(5_000);
    assertEquals(bench.rounds.length, 2);
    assert((bench.rounds[1]?.sentAt ?? 0) >= at);
  }));

Deno.test("a crowd that waits has its lists as often as lists may be, and no longer than it waits", () =>
  onBench("observer", async (bench) => {
    bench.hurried = true;
    bench.run();
    await bench.clock.advance(20_000);
    assert(bench.rounds.length >= 9 && bench.rounds.length <= 11, `${bench.rounds.length}`);
    bench.hurried = false;
    await bench.clock.advance(2_000);
    const n = bench.rounds.length;
    await bench.clock.advance(60_000);
    assertEquals(bench.rounds.length, n);
  }));

Deno.test("a sink that throws ends no loop, and is told in the log", () =>
  onBench("observer", async (bench) => {
    bench.onRound = () => {
      throw new Error("a defect in whoever is told");
    };
    bench.run();
    await bench.clock.advance(60_000);
    assert(bench.rounds.length >= 3);
    bench.onRound = () => {};
    await bench.clock.advance(60_000);
    assert(bench.lines.length >= 2);
  }));

Deno.test("a list under way when the observer stops is neither told nor awaited", async () => {
  const bench = new Bench("observer");
  bench.page = async ({ signal }) => {
    await sleep(bench.clock, 10_000, signal);
    return { items: [] };
  };
  bench.run();
  await bench.clock.advance(100);
  await bench.end();
  await bench.clock.advance(60_000);
  assertEquals([bench.lists.length, bench.rounds.length, bench.unreadable.length], [1, 0, 0]);
});
