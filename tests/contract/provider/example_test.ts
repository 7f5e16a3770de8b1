/** The example of docs/providers.md, held to the contract. @module */
import { assert } from "@std/assert";
import { createFileProvider } from "../../../examples/file_provider.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { providerContract } from "./suite.ts";

providerContract("file (the example)", async () => {
  const folder = await Deno.makeTempDir();
  let mutations = 0;
  let delayMs = 0;
  let tell = () => {};
  const timers = new Map<ReturnType<typeof setTimeout>, () => void>();
  const beforeAnswer = async () => {
    if (delayMs === 0) return;
    await new Promise<void>((resolve) => timers.set(setTimeout(resolve, delayMs), resolve));
  };
  const onSend = () => {
    mutations++;
    tell();
  };
  return {
    provider: createFileProvider({ clock: systemClock, folder, onSend, beforeAnswer }),
    mutations: () => mutations,
    slow: (ms) => void (delayMs = ms),
    onSend: (fn) => void (tell = fn),
    instant: true,
    async close() {
      for (const [timer, resolve] of timers) {
        clearTimeout(timer);
        resolve();
      }
      await new Promise((resolve) => setTimeout(resolve)); // what was given up ends
      await Deno.remove(folder, { recursive: true });
    },
  };
});

Deno.test("the example of a provider has fewer than 200 lines", async () => {
  const text = await Deno.readTextFile(new URL("../../../examples/file_provider.ts", import.meta.url));
  const lines = text.trimEnd().split("\n").length;
  assert(lines < 200, `${lines} lines`);
});
