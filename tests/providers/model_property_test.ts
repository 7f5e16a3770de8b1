/** What holds of the simulated cloud whatever is asked of it: operations in any order, with any fault. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { TAG } from "../../src/api/constants.ts";
import { seededRandom } from "../../src/core/random.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import type { Fault } from "../../src/providers/simulated/faults.ts";
import type { CloudCall } from "../../src/providers/simulated/types.ts";
import { compareVersions } from "../../src/providers/simulated/versions.ts";
import { VirtualClock } from "./virtual_clock.ts";

const UIDS = ["u1", "u2", "u3"];

type Step =
  | { kind: "create"; uid: string; size: number }
  | { kind: "modify"; nth: number; size: number; version: string }
  | { kind: "delete"; nth: number }
  | { kind: "wait"; ms: number };

const step: fc.Arbitrary<Step & { fault?: Fault | undefined }> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("create" as const),
      uid: fc.constantFrom(...UIDS),
      size: fc.constantFrom(10, 10, 10, 20),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("modify" as const),
      nth: fc.nat(4),
      size: fc.integer({ min: 1, max: 40 }),
      version: fc.constantFrom("13", "14", "14.1", "14.10", "14.9", "15"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), nth: fc.nat(4) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 8_000 }) }),
  },
).chain((s: Step) =>
  fc.option(
    fc.record({
      answer: fc.constantFrom("lost" as const, undefined),
      effect: fc.constantFrom("none" as const, "done" as const, "late" as const),
    }),
    { nil: undefined },
  ).map((fault) => ({
    ...s,
    fault: fault?.effect === "none" ? { answer: "lost" as const, effect: "none" as const } : fault,
  }))
);

Deno.test("one effect per token, no shrink, no downgrade, no effect past the bound, whatever is asked", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(), async (steps, seed) => {
      const clock = new VirtualClock();
      const cloud = new SimulatedCloud({
        clock,
        random: seededRandom(seed),
        effectBoundMs: 6_000,
        latencyMs: 50,
      });
      const ids: string[] = [];
      const seen = new Map<string, { sizeGb: number; version: string }>();
      const look = () => {
        for (const r of cloud.databases()) {
          const before = seen.get(r.id);
          if (before !== undefined) {
            assert(r.sizeGb >= before.sizeGb, "a database shrank");
            assert(compareVersions(r.version, before.version) >= 0, "a version went down");
          } else ids.push(r.id);
          seen.set(r.id, { sizeGb: r.sizeGb, version: r.version });
        }
      };
      for (const s of steps) {
        if (s.kind === "wait") await clock.advance(s.ms);
        else {
          if (s.fault !== undefined) cloud.faults.add({ times: 1, fault: s.fault });
          const call = toCall(s, ids);
          await clock.until(cloud.call(call)).catch(() => {}); // the ledger says what became of it
        }
        look();
      }
      await clock.advance(60_000);
      look();
      assertEquals(cloud.pendingEffects(), 0);
      const { ledger } = cloud;
      for (const uid of UIDS) {
        assert(ledger.createEffects(uid).length <= 1, `two effects of the token of ${uid}`);
      }
      for (const call of ledger.mutatingCalls()) {
        if (call.effectAt === undefined) continue;
        assert(call.effectAt - call.at <= 6_000 && call.effectAt >= call.at, "an effect out of its time");
      }
      const done = ledger.mutatingCalls().filter((c) => c.effect === "done").length;
      assertEquals(ledger.effects().filter((e) => e.kind !== "gone").length, done);
      for (const r of cloud.databases()) assert(r.state === "Available", `${r.id} is left in ${r.state}`);
    }),
    { numRuns: 200 },
  );
});

function toCall(s: Exclude<Step, { kind: "wait" }>, ids: string[]): CloudCall {
  if (s.kind === "create") {
    const body = { name: "x", engine: "postgres", version: "14", sizeGb: s.size };
    return { verb: "create", body: { ...body, tags: { [TAG.uid]: s.uid }, clientToken: `${s.uid}-1` } };
  }
  const id = ids[s.nth] ?? "db-none";
  return s.kind === "delete"
    ? { verb: "delete", id }
    : { verb: "modify", id, body: { sizeGb: s.size, version: s.version } };
}

Deno.test("a dump put into a new cloud goes on as if nothing had happened", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const run = async (restart: boolean) => {
        const clock = new VirtualClock();
        const make = () =>
          new SimulatedCloud({
            clock,
            random: seededRandom(1),
            latencyMs: 0,
            jitter: 0,
            readLagMs: 0,
            effectBoundMs: 0,
          });
        let cloud = make();
        for (const s of steps) {
          if (s.kind === "wait") await clock.advance(s.ms);
          else await cloud.call(toCall(s, cloud.databases().map((r) => r.id))).catch(() => {});
          if (!restart) continue;
          const text = cloud.dump();
          cloud = make();
          cloud.load(text);
        }
        await clock.advance(30_000);
        return cloud.databases().map(({ state, sizeGb, version, tags }) => ({
          state,
          sizeGb,
          version,
          tags,
        }));
      };
      assertEquals(await run(true), await run(false));
    }),
    { numRuns: 100 },
  );
});
