import { assertEquals, assertRejects } from "@std/assert";
import { createLazyProvider } from "../../src/providers/lazy.ts";
import type { DatabaseProvider } from "../../src/providers/port.ts";

const CALL = { signal: new AbortController().signal };

Deno.test("a provider is loaded by its first call, again after a failure, and anew after it was closed", async () => {
  const events: string[] = [];
  let broken = true;
  const lazy = createLazyProvider("lazy", () => {
    if (broken) return Promise.reject(new Error("no library"));
    events.push("loaded");
    return Promise.resolve(
      {
        info: () => Promise.resolve({ account: `a${events.length}` }),
        close: () => Promise.resolve(void events.push("closed")),
      } as unknown as DatabaseProvider,
    );
  });
  await lazy.close?.();
  await assertRejects(() => lazy.info(CALL), Error, "no library");
  await lazy.close?.();
  broken = false;
  const first = await lazy.info(CALL);
  assertEquals(await lazy.info(CALL), first);
  await lazy.close?.();
  await lazy.info(CALL);
  assertEquals(events, ["loaded", "closed", "loaded"]);
});
