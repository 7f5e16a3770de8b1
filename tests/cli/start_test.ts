import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { systemClock } from "../../src/core/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { sampleDatabases } from "../../src/cli/samples.ts";
import { eventually } from "../support/eventually.ts";
import { Child, main } from "./support.ts";

const PERMISSIONS = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read"];

async function withDirectory(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await work(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function writeKubeconfig(directory: string, server: string): Promise<string> {
  const path = `${directory}/kubeconfig`;
  await Deno.writeTextFile(
    path,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "test",
      clusters: [{ name: "test", cluster: { server } }],
      users: [{ name: "test", user: {} }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    }),
  );
  return path;
}

Deno.test("a configuration that does not do ends with 1 and one line that names the way out", async () => {
  await withDirectory(async (directory) => {
    const kubeconfig = await writeKubeconfig(directory, "http://127.0.0.1:1");
    const http = [
      "start",
      "--kubeconfig",
      kubeconfig,
      "--provider",
      "http",
      "--cloud-url",
      "http://127.0.0.1:1",
    ];
    http.push("--cloud-token-file");
    const secret = `${directory}/token`;
    await Deno.writeTextFile(secret, "hunter2 x");
    const cases: [string[], RegExp][] = [
      [["start"], /^error: No Kubernetes cluster is named: .*--kubeconfig.*run demo\n$/],
      [["start", "--kubeconfig", `${directory}/none`], /^error: .*--kubeconfig.*none.*\n$/],
      [
        ["start", "--kubeconfig", kubeconfig, "--context", "other"],
        /^error: .*no context "other".*"test".*\n$/,
      ],
      [
        [...http, `${directory}/none`],
        /^error: The file of --cloud-token-file cannot be used: Reading the token file ".*\/none": No such file.*\n$/,
      ],
      [
        [...http, secret],
        /^error: The file of --cloud-token-file .*\/token": it is empty, too long, or has characters .*\n$/,
      ],
    ];
    for (const [args, expected] of cases) {
      const run = await main(args, {}, PERMISSIONS);
      assertEquals(run.code, 1, run.err);
      assertMatch(run.err, expected);
      assertEquals(run.err.trim().split("\n").length, 1);
      assertNotMatch(run.err, /^\s+at |hunter2/m);
    }
  });
});

Deno.test("an address that is taken is told with the flag that helps", async () => {
  await withDirectory(async (directory) => {
    const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    try {
      const kubeconfig = await writeKubeconfig(directory, "http://127.0.0.1:1");
      const { port } = taken.addr as Deno.NetAddr;
      const run = await main(
        ["start", "--kubeconfig", kubeconfig, "--listen", `127.0.0.1:${port}`],
        {},
        PERMISSIONS,
      );
      assertEquals(run.code, 1);
      assertMatch(run.err, new RegExp(`^error: Listening on 127\\.0\\.0\\.1:${port} failed; .*--listen: `));
    } finally {
      taken.close();
    }
  });
});

for (const [command, flag] of [["cloud", "listen"], ["demo", "api-listen"]] as const) {
  Deno.test(`an address that is taken is told by ${command} with --${flag}`, async () => {
    await withDirectory(async (directory) => {
      const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const address = `127.0.0.1:${(taken.addr as Deno.NetAddr).port}`;
      const child = new Child([command, `--${flag}`, address], [...PERMISSIONS, "--allow-write"], {
        cwd: directory,
      });
      try {
        assertEquals(await child.code(), 1);
        assertMatch(
          child.err,
          new RegExp(`^error: Listening on ${address} failed; choose another address with --${flag}: .*\n$`),
        );
      } finally {
        await child.end();
        taken.close();
      }
    });
  });
}

Deno.test("W6, W5: against an API server that fails start stays healthy, is not ready, and ends with 0 on SIGTERM", async () => {
  await withDirectory(async (directory) => {
    const api = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("down", { status: 503 }),
    );
    const kubeconfig = await writeKubeconfig(directory, `http://127.0.0.1:${api.addr.port}`);
    const child = new Child(
      ["start", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--log-level", "info"],
      PERMISSIONS,
    );
    try {
      const line = await child.line((text) => text.includes("The operator has started"));
      const url = JSON.parse(line).url as string;
      const health = await fetch(`${url}/healthz`);
      assertEquals([health.status, await health.text()], [200, "ok\n"]);
      const told =
        /^not ok\n- The cluster's identity is not known yet: Reading the namespace kube-system: .*503/;
      await eventually("the first try has failed", async () => {
        const ready = await fetch(`${url}/readyz`);
        assertEquals(ready.status, 503);
        return told.test(await ready.text());
      });
      child.kill("SIGTERM");
      assertEquals(await child.code(), 0);
      assertMatch(child.out, /"msg":"The operator has stopped"/);
      assertEquals(child.err, "");
    } finally {
      await child.end();
      await api.shutdown();
    }
  });
});

Deno.test("start takes the lease, makes a database at an HTTP cloud, and at SIGTERM releases the lease and ends with 0", async () => {
  await withDirectory(async (directory) => {
    const served = await serveEmbeddedApi();
    const cloud = new SimulatedCloud({ clock: systemClock, random: systemRandom, provisionMs: 50 });
    const cloudServer = serveCloud(cloud);
    const base = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";
    const request = async (path: string, object?: unknown) => {
      const body = object === undefined ? {} : { method: "POST", body: JSON.stringify(object) };
      const answer = await fetch(served.url + path, {
        headers: { "content-type": "application/json" },
        ...body,
      });
      const json = await answer.json();
      assert(answer.ok, JSON.stringify(json));
      return json;
    };
    await request("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", customResourceDefinition());
    const kubeconfig = `${directory}/kubeconfig`;
    await Deno.writeTextFile(kubeconfig, served.kubeconfig());
    const child = new Child(
      [
        "start",
        "--kubeconfig",
        kubeconfig,
        "--listen",
        "127.0.0.1:0",
        "--provider",
        "http",
        "--leader-elect",
      ],
      PERMISSIONS,
      { env: { EDB_CLOUD_URL: cloudServer.url, EDB_LEASE_NAME: "lease-of-the-test" } },
    );
    try {
      await request(base, sampleDatabases(1)[0]);
      await child.line((line) => line.includes('"to":"Available"'));
      const lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/lease-of-the-test";
      assertMatch((await request(lease)).spec.holderIdentity, /^externaldatabase-operator_/);
      child.kill("SIGTERM");
      assertEquals([await child.code(), child.err], [0, ""]);
      assertEquals((await request(lease)).spec.holderIdentity ?? "", "");
      const { status } = await request(`${base}/orders`);
      assertEquals([status.state, status.providerId !== undefined], ["Available", true]);
    } finally {
      await child.end();
      await cloudServer.close();
      await served.close();
    }
  });
});
