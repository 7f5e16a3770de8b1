import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { type Delivery, Inbox } from "../../src/operator/inbox.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { cr } from "../statechart/support.ts";

function object(uid: string, resourceVersion: string): ExternalDatabase {
  return cr({ meta: { uid, name: uid, resourceVersion } });
}

function bench(deliver: (d: Delivery) => void = () => {}) {
  const clock = new ManualClock();
  const got: string[] = [];
  const errors: string[] = [];
  const inbox = new Inbox(
    clock,
    (d) => {
      got.push(`${d.kind} ${d.object.metadata.uid} ${d.object.metadata.resourceVersion}`);
      deliver(d);
    },
    (d, error) => void errors.push(`${d.object.metadata.uid}: ${error}`),
  );
  const push = (kind: Delivery["kind"], uid: string, version: string) =>
    inbox.push({ kind, object: object(uid, version) });
  return { clock, got, errors, inbox, push };
}

Deno.test("the inbox hands on the newest of each UID, once, in the order in which they came", async () => {
  const { clock, got, inbox, push } = bench();
  push("upsert", "a", "1");
  push("upsert", "b", "2");
  push("upsert", "a", "3");
  push("gone", "b", "4");
  assertEquals([got.length, inbox.size], [0, 2]);
  await clock.advance(0);
  assertEquals(got, ["upsert a 3", "gone b 4"]);
  assertEquals([inbox.size, clock.pending], [0, 0]);
});

Deno.test("the inbox yields between slices, and what comes meanwhile replaces what waits", async () => {
  let before = 0;
  const { clock, got, push } = bench((d) => {
    if (d.object.metadata.uid !== "u0") return;
    clock.setTimeout(() => {
      before = got.length;
      push("upsert", "u999", "2");
    }, 0);
  });
  for (let i = 0; i < 1_000; i++) push("upsert", `u${i}`, "1");
  await clock.advance(0);
  assert(before > 0 && before <= 200, `${before} before others had their turn`);
  assertEquals([got.length, got.at(-1)], [1_000, "upsert u999 2"]);
});

Deno.test("F4: a delivery that throws is told and stops no other", async () => {
  const { clock, got, errors, push } = bench((d) => {
    if (d.object.metadata.uid === "bad") throw new Error("a defect");
  });
  for (const uid of ["a", "bad", "b"]) push("upsert", uid, "1");
  await clock.advance(0);
  assertEquals(got.length, 3);
  assertEquals(errors, ["bad: Error: a defect"]);
  push("upsert", "bad", "2");
  push("upsert", "c", "1");
  await clock.advance(0);
  assertEquals(got.at(-1), "upsert c 1");
});

Deno.test("what a delivery pushes itself is delivered too", async () => {
  let again = true;
  const { clock, got, push } = bench(() => {
    if (again) push("upsert", "b", "1");
    again = false;
  });
  push("upsert", "a", "1");
  await clock.advance(0);
  assertEquals(got, ["upsert a 1", "upsert b 1"]);
});

Deno.test("a closed inbox drops what waits, takes nothing more, and leaves no timer", async () => {
  const { clock, got, inbox, push } = bench();
  push("upsert", "a", "1");
  inbox.close();
  push("upsert", "b", "1");
  await clock.advance(10);
  assertEquals([got, inbox.size, clock.pending], [[], 0, 0]);
});
