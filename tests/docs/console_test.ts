/**
 * The console of the demo's cloud that the documents use.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { cleanEnv, denoFlags } from "../cli/support.ts";

const TOOL = new URL("../../tools/console.ts", import.meta.url).pathname;

Deno.test("the console edits what was said, and a field or value that cannot be is one line that names it", async () => {
  const cloud = new SimulatedCloud({ clock: systemClock, random: seededRandom(1), latencyMs: 0 });
  const server = serveCloud(cloud, { onError: () => {} });
  const folder = await Deno.makeTempDir();
  const console = async (...args: string[]) => {
    const output = await new Deno.Command(Deno.execPath(), {
      args: [...denoFlags(["--allow-net=127.0.0.1", "--allow-read=.demo"]), TOOL, ...args],
      cwd: folder,
      env: cleanEnv(),
      clearEnv: true,
      stdin: "null",
    }).output();
    return { code: output.code, err: new TextDecoder().decode(output.stderr) };
  };
  const sizes = () => cloud.databases().map(({ sizeGb }) => sizeGb);
  try {
    await Deno.mkdir(`${folder}/.demo`);
    await Deno.writeTextFile(`${folder}/.demo/cloud-url`, server.url);
    await Deno.writeTextFile(`${folder}/.demo/cloud-token`, "token");
    assertEquals(await console("create", "legacy", "engine=postgres", "version=16", "sizeGb=50"), {
      code: 0,
      err: "",
    });
    const id = cloud.databases()[0]!.id;
    for (
      const [field, says] of [
        ["sizeGb", /"sizeGb" is not FIELD=VALUE/],
        ["sizeGb=", /"sizeGb=" is not FIELD=VALUE/],
        ["sizeGb=much", /: sizeGb: .*number/],
        ["colour=red", /"colour"/],
      ] as const
    ) {
      const refused = await console("edit", id, field);
      assertEquals([refused.code, sizes()], [1, [50]], field);
      assertMatch(refused.err, says);
      assertMatch(refused.err, /^error: [^{}\n]*\n$/);
    }
    assertEquals(await console("edit", id, "sizeGb=10"), { code: 0, err: "" });
    assertEquals(sizes(), [10]);
  } finally {
    await server.close();
    await Deno.remove(folder, { recursive: true });
  }
});
