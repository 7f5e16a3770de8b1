import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { sleep } from "../../src/core/wait.ts";
import { buildsFor } from "../../src/providers/local/binaries.ts";
import { type ContractStage, providerContract } from "../../tests/contract/provider/suite.ts";
import { logsIn, newFolder, providerIn } from "./support.ts";

async function stage(): Promise<ContractStage> {
  const folder = await newFolder();
  let mutations = 0;
  let delayMs = 0;
  let tell = () => {};
  const builds = buildsFor().filter(({ version }) => version.major === 16);
  const provider = await providerIn(folder, {
    keep: false,
    builds,
    onWrite: () => {
      mutations++;
      tell();
    },
    beforeAnswer: async (_verb, signal) => {
      if (delayMs > 0) await sleep(systemClock, delayMs, signal);
    },
  });
  const { major, minor } = builds[0]!.version;
  return {
    provider,
    versions: { first: `${major}.${minor}` },
    quickChanges: true,
    logsIn,
    mutations: () => mutations,
    slow: (ms) => {
      delayMs = ms;
    },
    onSend: (fn) => {
      tell = fn;
    },
    async close() {
      await provider.close();
      assertEquals(await Deno.stat(folder).then(() => "there", () => "gone"), "gone");
    },
  };
}

providerContract("local", stage);
