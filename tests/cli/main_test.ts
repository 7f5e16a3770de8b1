import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { main } from "./support.ts";

Deno.test("statechart prints the running machine's chart in each format, reading nothing but its own code", async () => {
  const mermaid = await main(["statechart", "--format", "mermaid"]);
  assertEquals([mermaid.code, mermaid.err], [0, ""]);
  assertMatch(mermaid.out, /^stateDiagram-v2\n/);
  const svg = await main(["statechart", "--format=svg"]);
  assertEquals([svg.code, svg.err], [0, ""]);
  assertMatch(svg.out, /^<svg [\s\S]*<\/svg>\n$/);
  const json = await main(["statechart"], { EDB_FORMAT: "json" });
  assertEquals([json.code, json.err], [0, ""]);
  const top = JSON.parse(json.out).root.states.map((state: { key: string }) => state.key);
  assertEquals(top, ["Pending", "Creating", "Available", "Drifted", "Deleting", "Finalized"]);
});

Deno.test("a wrong command line exits 2 on stderr without a stack", async () => {
  for (const args of [[], ["bogus"], ["start", "--bogus"], ["statechart", "--format", "png"]]) {
    const run = await main(args);
    assertEquals([run.code, run.out], [2, ""], args.join(" "));
    assertStringIncludes(run.err, "--help");
    assertNotMatch(run.err, /^\s+at /m);
  }
});

Deno.test("start in a pod without a provider exits 2 and names the flag", async () => {
  const run = await main(["start"], { KUBERNETES_SERVICE_HOST: "10.0.0.1" });
  assertEquals(run.code, 2);
  assertStringIncludes(run.err, "--provider is required in a cluster");
});

Deno.test("help and version exit 0 on stdout", async () => {
  for (const args of [["--help"], ["start", "--help"], ["cloud", "--help"], ["--version"]]) {
    const run = await main(args);
    assertEquals([run.code, run.err], [0, ""], args.join(" "));
  }
});

Deno.test("a file that cannot be read or parsed is told once, with its cause and without a stack", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const missing = await main(["statechart", "--of", "default/orders", "--token-file", `${folder}/none`]);
    assertEquals(missing.code, 1);
    assertEquals(missing.err.split("No such file or directory").length, 2, missing.err);
    await Deno.writeTextFile(`${folder}/config`, "clusters: [\n");
    const malformed = await main(["start", "--provider", "simulated", "--kubeconfig", `${folder}/config`]);
    assertEquals(malformed.code, 1);
    assertEquals(malformed.err.split("Flow sequence").length, 2, malformed.err);
    for (const { err } of [missing, malformed]) assertMatch(err, /^error: .*\n$/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
