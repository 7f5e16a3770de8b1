import { assert, assertEquals } from "@std/assert";
import { AbsenceLedger } from "../../src/operator/absences.ts";
import { ManualClock } from "../support/manual_clock.ts";

const PERIOD = 300_000;

function bench(known: number) {
  const clock = new ManualClock();
  const changes: string[] = [];
  const ledger = new AbsenceLedger({
    clock,
    periodMs: PERIOD,
    known: () => known,
    onChange: (active, held) => void changes.push(`${active ? "begins" : "ends"} ${held}`),
  });
  return { clock, changes, ledger };
}

const uids = (n: number, from = 0) => Array.from({ length: n }, (_, i) => `uid-${from + i}`);

for (const [known, most] of [[1, 3], [4, 3], [60, 3], [80, 4], [100, 5], [1_000, 50]] as const) {
  Deno.test(`rule 12: of ${known} known, ${most} absences together are acted on, one more holds all`, () => {
    const { ledger, changes } = bench(known);
    ledger.absentAll(uids(most));
    assertEquals([ledger.active, changes.length], [false, 0]);
    ledger.absent("one-more");
    assert(ledger.active);
    for (const uid of [...uids(most), "one-more"]) assert(ledger.isHeld(uid), uid);
    assert(!ledger.isHeld("another"));
    assertEquals(changes, [`begins ${most + 1}`]);
  });
}

Deno.test("rule 12: absences of different periods do not count together", () => {
  const { ledger, clock } = bench(10);
  for (let n = 0; n < 20; n++) {
    ledger.absentAll(uids(3, n * 3));
    clock.freeze(PERIOD + 1);
  }
  assert(!ledger.active);
});

Deno.test("rule 12: the same absence told again and again counts once", () => {
  const { ledger } = bench(10);
  for (let n = 0; n < 100; n++) {
    ledger.absentAll(uids(3));
    ledger.absent("uid-0");
  }
  assert(!ledger.active);
});

Deno.test("rule 12: while it goes on every new absence is held, and it ends when the last is back", () => {
  const { ledger, changes, clock } = bench(10);
  ledger.absentAll(uids(5));
  for (const uid of uids(5)) ledger.absent(uid); // read by id
  clock.freeze(10 * PERIOD);
  ledger.absent("late");
  assert(ledger.isHeld("late"));
  for (const uid of uids(5)) {
    ledger.present(uid);
    assert(ledger.active, "all must come back");
  }
  assertEquals(ledger.overAt, Number.NEGATIVE_INFINITY);
  ledger.settled("late");
  assertEquals([ledger.active, ledger.overAt], [false, clock.monotonic()]);
  assertEquals(changes, ["begins 5", "ends 0"]);
});

Deno.test("rule 10: what a list alone had missed and a read by id shows was never absent", () => {
  const { ledger, changes } = bench(10);
  ledger.absentAll(uids(6));
  assert(ledger.active);
  ledger.present("uid-0");
  ledger.present("uid-1");
  assert(ledger.active, "four are still more than may be");
  ledger.present("uid-2");
  assertEquals([ledger.active, ledger.isHeld("uid-3")], [false, false]);
  assertEquals(changes, ["begins 6", "ends 0"]);
});

Deno.test("rule 12: a presence or an end that nobody missed changes nothing", () => {
  const { ledger, changes } = bench(10);
  ledger.present("uid-0");
  ledger.settled("uid-0");
  ledger.absentAll([]);
  assertEquals([ledger.active, changes], [false, []]);
});

Deno.test("rule 12: twenty thousand absences at once cost about as much as twenty times a thousand", () => {
  const count = (n: number) => {
    const { ledger } = bench(n);
    const all = uids(n);
    const began = performance.now();
    ledger.absentAll(all);
    assert(ledger.active);
    return performance.now() - began;
  };
  count(1_000); // warms up
  let inParts = 0;
  for (let i = 0; i < 20; i++) inParts += count(1_000);
  const atOnce = count(20_000);
  assert(atOnce < 6 * inParts, `${atOnce} ms, and ${inParts} ms in parts`);
});
