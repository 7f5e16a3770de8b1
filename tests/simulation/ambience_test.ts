/**
 * What runs in a simulation has no other time and chance than the world's.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import type { DatabaseProvider } from "../../src/providers/port.ts";
import { drawPlan } from "../../src/simulation/draw.ts";
import { runPlan } from "../../src/simulation/run.ts";

const STRAYS: Readonly<Record<string, () => unknown>> = {
  setTimeout: () => setTimeout(() => {}, 1),
  setInterval: () => setInterval(() => {}, 1_000),
  setImmediate: () => setImmediate(() => {}),
  fetch: () => fetch("http://127.0.0.1:1"),
  Date: () => new Date(),
  "Math.random": () => Math.random(),
  "performance.now": () => performance.now(),
  "AbortSignal.timeout": () => AbortSignal.timeout(1),
  "crypto.randomUUID": () => crypto.randomUUID(),
  "crypto.getRandomValues": () => crypto.getRandomValues(new Uint8Array(1)),
};

for (const [what, reach] of Object.entries(STRAYS)) {
  Deno.test(`A reach for the ambient ${what} ends a simulation, even where the error is swallowed`, async () => {
    const wrapProvider = (provider: DatabaseProvider): DatabaseProvider => ({
      ...provider,
      list: (options) => {
        try {
          reach();
        } catch {
          // so would careless code
        }
        return provider.list(options);
      },
    });
    for (const fast of [true, false]) {
      await assertRejects(() => runPlan(drawPlan(1), { wrapProvider, fast }), Error, `the ambient ${what}`);
    }
  });
}

Deno.test("After a simulation, ended well or not, ambient time and chance are what they were", async () => {
  const before = [setTimeout, setInterval, Date, Date.now, Math.random, performance.now, crypto.randomUUID];
  const owned = Object.getOwnPropertyNames(crypto);
  await runPlan(drawPlan(2));
  const wrapProvider = (provider: DatabaseProvider): DatabaseProvider => ({
    ...provider,
    list: () => Promise.reject(Math.random()),
  });
  await assertRejects(() => runPlan(drawPlan(2), { wrapProvider }));
  const after = [setTimeout, setInterval, Date, Date.now, Math.random, performance.now, crypto.randomUUID];
  assertEquals(after.map((f, n) => f === before[n]), before.map(() => true));
  assertEquals(Object.getOwnPropertyNames(crypto), owned);
});
