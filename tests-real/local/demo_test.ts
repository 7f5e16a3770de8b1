import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Child, mapFlags } from "../../tests/cli/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { newFolder, serversUnder } from "./support.ts";

/** Those of the task `demo`. */
const PERMISSIONS = [
  ...[
    "--allow-net",
    "--allow-env",
    "--allow-read",
    "--allow-write=.demo,/tmp",
    "--allow-run",
    "--allow-sys=uid",
  ],
];
const ROOT = new URL("../../", import.meta.url).pathname;

function demoIn(cwd: string, args: readonly string[] = []): Child {
  return new Child(["demo", "--cloud", "local", "--listen", "127.0.0.1:0", ...args], PERMISSIONS, { cwd });
}

async function psql(cwd: string, ...args: string[]): Promise<string> {
  const permissions = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read=.demo"];
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "--no-check",
      ...permissions,
      ...mapFlags(),
      `${ROOT}tools/psql.ts`,
      ...args,
    ],
    cwd,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder();
  assert(success, text.decode(stderr));
  return text.decode(stdout);
}

function names(path: string): string[] {
  return [...Deno.readDirSync(path)].map(({ name }) => name).sort();
}

Deno.test("a sample that asks for PostgreSQL 16 becomes Ready, its Secret logs in, its delete removes all of it, and Ctrl-C the rest", async () => {
  const directory = await newFolder();
  const demo = demoIn(directory);
  try {
    await demo.line((line) => line.startsWith("All 3 are Ready"));
    await demo.line((line) => line.includes("task psql orders"));
    assertMatch(demo.out, /default +orders +postgres +16 +20Gi +Available +True +True +127\.0\.0\.1:\d+/);
    assertMatch(await psql(directory, "orders"), /PostgreSQL 16\./);
    await psql(directory, "orders", "CREATE TABLE t AS SELECT 42 AS answer");
    assertStringIncludes(await psql(directory, "orders", "SELECT answer FROM t"), "42");
    assertEquals(await serversUnder(`${directory}/.demo`), 3);
    // The resource is deleted, and with it all that it had.
    const kubeconfig = await Deno.readTextFile(`${directory}/.demo/kubeconfig`);
    const api = /"?server"?: *"?(http[^"\s,}]+)/.exec(kubeconfig)![1];
    const ask = async (path: string, method = "GET") => {
      const answer = await fetch(`${api}${path}`, { method });
      await answer.body?.cancel();
      return answer.status;
    };
    const orders = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases/orders";
    const secret = "/api/v1/namespaces/default/secrets/orders-connection";
    assertEquals([await ask(secret), await ask(orders, "DELETE")], [200, 200]);
    await eventually(
      "its end",
      async () => await ask(orders) === 404 && await ask(secret) === 404,
      60_000,
      50,
    );
    assertEquals(await serversUnder(`${directory}/.demo`), 2);
    assertEquals(names(`${directory}/.demo/databases/servers`).length, 2);
    demo.kill("SIGINT");
    assertEquals([await demo.code(), demo.err], [0, ""]);
    assertEquals([await serversUnder(`${directory}/.demo`), names(directory)], [0, []]);
  } finally {
    await demo.end();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("what a killed demo left, servers and all, is gone with the next one, which a closed terminal ends", async () => {
  const directory = await newFolder();
  try {
    for (const signal of ["SIGKILL", "SIGHUP"] as const) {
      const demo = demoIn(directory, ["--samples", "1"]);
      try {
        await demo.line((line) => line.startsWith("All 1 are Ready"));
        assertEquals(await serversUnder(`${directory}/.demo`), 1);
        demo.kill(signal);
        await demo.code();
        assertEquals(await serversUnder(`${directory}/.demo`), signal === "SIGKILL" ? 1 : 0);
      } finally {
        await demo.end();
      }
    }
    assertEquals(names(directory), []);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("as root in a folder that others cannot enter, the servers are elsewhere, and leave nothing there either", async () => {
  if (Deno.uid() !== 0) return; // only root gives its servers another user
  const directory = await Deno.makeTempDir(); // mode 0700
  const demo = demoIn(directory, ["--samples", "1"]);
  try {
    await demo.line((line) => line.startsWith("All 1 are Ready"));
    const elsewhere = (await Deno.readTextFile(`${directory}/.demo/databases.path`)).trim();
    assertMatch(elsewhere, /^\/tmp\/demo-/);
    assertEquals(await serversUnder(elsewhere), 1);
    demo.kill("SIGINT");
    assertEquals([await demo.code(), await serversUnder(elsewhere), names(directory)], [0, 0, []]);
    assertEquals(await Deno.stat(elsewhere).then(() => "there", () => "gone"), "gone");
  } finally {
    await demo.end();
    await Deno.remove(directory, { recursive: true });
  }
});
