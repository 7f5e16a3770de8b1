import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Child, main } from "./support.ts";

const PERMISSIONS = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read", "--allow-write=.demo"];
const FLAGS = ["--listen", "127.0.0.1:0", "--provisioning", "100ms"];

async function withDemo(
  args: readonly string[],
  work: (demo: Child, directory: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const demo = new Child(["demo", ...FLAGS, ...args], PERMISSIONS, { cwd: directory });
  try {
    await work(demo, directory);
  } finally {
    await demo.end();
    await Deno.remove(directory, { recursive: true });
  }
}

async function names(directory: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(directory)) found.push(entry.name);
  return found.sort();
}

Deno.test("demo brings its samples to Ready, tells what to type, serves its page, and leaves nothing behind", async () => {
  await withDemo([], async (demo, directory) => {
    await demo.line((line) => line.startsWith("All 3 are Ready"));
    await demo.line((line) =>
      /^ {2}default +orders +postgres +14\.2 +20Gi +Available +True +True +\S+:5432$/.test(line)
    );
    assertStringIncludes(demo.out, "export KUBECONFIG=$PWD/.demo/kubeconfig");
    assertStringIncludes(demo.out, "The cloud is simulated: this process runs without --allow-run");
    assertEquals(await names(`${directory}/.demo`), ["cloud-token", "cloud-url", "kubeconfig", "lock"]);
    for (const name of await names(`${directory}/.demo`)) {
      assertEquals((await Deno.stat(`${directory}/.demo/${name}`)).mode! & 0o777, 0o600, name);
    }
    const page = /Page +(http:\S+)/.exec(demo.out)?.[1];
    const fleet = await (await fetch(`${page}api/databases?ready=True`)).json();
    assertEquals(fleet.items.map((row: { name: string }) => row.name), ["analytics", "catalogue", "orders"]);
    demo.kill("SIGINT");
    assertEquals([await demo.code(), demo.err], [0, ""]);
    assertMatch(demo.out, /Stopped; \.demo is gone\.\n$/);
    assertEquals(await names(directory), []);
  });
});

Deno.test("the demo's API and cloud answer to nobody without the secrets in its files", async () => {
  await withDemo(["--samples", "0"], async (demo, directory) => {
    await demo.line((line) => line.startsWith("Ctrl-C"));
    const api = /Kubernetes API +(http:\S+)/.exec(demo.out)?.[1];
    const cloud = /Simulated cloud +(http:\S+)/.exec(demo.out)?.[1];
    const server = /server: "([^"]+)"/.exec(await Deno.readTextFile(`${directory}/.demo/kubeconfig`))?.[1];
    const status = async (url: string, token?: string) => {
      const answer = await fetch(url, token ? { headers: { authorization: `Bearer ${token}` } } : {});
      await answer.body?.cancel();
      return answer.status;
    };
    assertEquals(await status(`${api}/api/v1/namespaces`), 404);
    assertEquals(await status(`${server}/api/v1/namespaces`), 200);
    assertEquals(await status(String(cloud)), 401);
    const token = (await Deno.readTextFile(`${directory}/.demo/cloud-token`)).trim();
    assertEquals(await status(String(cloud), token), 200);
    const console = `${String(cloud).replace(/\/v1.*/, "")}/admin/databases`;
    assertEquals([await status(console), await status(console, "x"), await status(console, token)], [
      401,
      401,
      200,
    ]);
    assert(!demo.out.includes(token));
    demo.kill("SIGTERM");
    assertEquals(await demo.code(), 0);
  });
});

Deno.test("a second demo in the same directory is refused and harms the first in nothing", async () => {
  await withDemo(["--samples", "0"], async (demo, directory) => {
    await demo.line((line) => line.startsWith("Ctrl-C"));
    const second = new Child(["demo", ...FLAGS], PERMISSIONS, { cwd: directory });
    try {
      assertEquals(await second.code(), 1);
      assertMatch(second.err, /^error: Another demo is running here .*\n$/);
    } finally {
      await second.end();
    }
    assertEquals(await names(`${directory}/.demo`), ["cloud-token", "cloud-url", "kubeconfig", "lock"]);
    demo.kill("SIGINT");
    assertEquals(await demo.code(), 0);
  });
});

Deno.test("what a killed demo left behind is taken over by the next", async () => {
  const directory = await Deno.makeTempDir();
  try {
    for (const signal of ["SIGKILL", "SIGINT"] as const) {
      const demo = new Child(["demo", ...FLAGS, "--samples", "1"], PERMISSIONS, { cwd: directory });
      try {
        await demo.line((line) => line.startsWith("All 1 are Ready"));
        demo.kill(signal);
        await demo.code();
      } finally {
        await demo.end();
      }
      assertEquals(await names(directory), signal === "SIGKILL" ? [".demo"] : []);
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a taken address ends the demo with 1 and leaves nothing behind", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  const directory = await Deno.makeTempDir();
  const demo = new Child(["demo", "--listen", `127.0.0.1:${port}`], PERMISSIONS, { cwd: directory });
  try {
    assertEquals(await demo.code(), 1);
    assertMatch(
      demo.err,
      /^error: Listening on 127\.0\.0\.1:\d+ failed; choose another address with --listen: .*\n$/,
    );
    assertEquals(await names(directory), []);
  } finally {
    await demo.end();
    taken.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a demo that may not write says so in one line", async () => {
  const run = await main(["demo", "--listen", "127.0.0.1:0"], {}, [
    "--allow-net=127.0.0.1",
    "--allow-env",
    "--allow-read",
  ]);
  assertEquals(run.code, 1);
  assertMatch(run.err, /^error: Creating the directory "\.demo" failed; .*\n$/);
});
