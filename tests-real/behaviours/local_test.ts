import { assertEquals } from "@std/assert";
import { logsIn, newFolder, providerIn, serversUnder } from "../local/support.ts";
import { behaviours } from "./suite.ts";

behaviours("local", async () => {
  const [folder, another] = [await newFolder(), await newFolder()];
  const provider = await providerIn(folder, { keep: false });
  const other = await providerIn(another, { keep: false });
  return {
    provider,
    other,
    version: "16",
    logsIn: ({ password }, database) => logsIn(database, password!),
    async close() {
      await provider.close();
      await other.close();
      assertEquals([await serversUnder(folder), await serversUnder(another)], [0, 0]);
    },
  };
});
