import { assert, assertEquals } from "@std/assert";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLogger } from "../../src/core/log.ts";
import { systemRandom } from "../../src/core/random.ts";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { removeLocalFolder } from "../../src/providers/local/provider.ts";
import { Child } from "../../tests/cli/support.ts";
// @ts-types="@types/pg"
import pg from "pg";
import { eventually, newFolder, serversUnder } from "./support.ts";

const DATABASES = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";

async function query(uri: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: uri, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

Deno.test("a resource becomes a database that its Secret logs in to; data survive a kill -9 of the operator and its orderly end; its delete removes all", async () => {
  const folder = await newFolder();
  const directory = await Deno.makeTempDir();
  const served = await serveEmbeddedApi({
    ...{ hostname: "127.0.0.1", port: 0, clock: systemClock, random: systemRandom, log: silentLogger },
    secretPath: crypto.randomUUID(),
  });
  const request = async (path: string, method = "GET", body?: unknown) => {
    const answer = await fetch(served.url + path, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = await answer.json();
    return answer.status === 404 ? undefined : answer.ok ? json : assert(false, JSON.stringify(json));
  };
  const kubeconfig = `${directory}/kubeconfig`;
  await Deno.writeTextFile(kubeconfig, served.kubeconfig());
  const start = () =>
    new Child([
      ...["start", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--poll-interval", "10s"],
      ...["--provider", "local", "--local-folder", folder],
    ], [
      ...[
        "--allow-net",
        "--allow-env",
        "--allow-read",
        `--allow-write=${folder}`,
        "--allow-run",
        "--allow-sys=uid",
      ],
    ]);
  const ready = () =>
    eventually("Ready", async () => {
      const { status } = await request(`${DATABASES}/orders`);
      const conditions = status?.conditions as { type: string; status: string }[] | undefined;
      return conditions?.some(({ type, status }) => type === "Ready" && status === "True")
        ? status
        : undefined;
    });
  const uri = async () =>
    atob((await request("/api/v1/namespaces/default/secrets/orders-connection")).data.uri);
  let operator: Child | undefined;
  try {
    await request(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      "POST",
      customResourceDefinition(),
    );
    operator = start();
    await request(DATABASES, "POST", {
      apiVersion: "crd.my.domain/v1",
      kind: "ExternalDatabase",
      metadata: { name: "orders", namespace: "default" },
      spec: { engine: "postgres", version: "16", sizeGb: 20 },
    });
    const first = await ready();
    await query(await uri(), "CREATE TABLE t AS SELECT 42 AS answer");
    operator.kill("SIGKILL");
    await operator.code();
    assertEquals(await query(await uri(), "SELECT answer FROM t"), [{ answer: 42 }]); // the database goes on
    operator = start();
    await operator.line((line) => line.includes('"The operator has started"'));
    await operator.line((line) => line.includes("A local database's server was found"));
    const second = await ready();
    assertEquals([second.providerId, second.endpoint], [first.providerId, first.endpoint]);
    assertEquals(await query(await uri(), "SELECT answer FROM t"), [{ answer: 42 }]);
    // An orderly end takes the servers with it, and leaves their data to the next one.
    operator.kill("SIGTERM");
    assertEquals([await operator.code(), operator.err, await serversUnder(folder)], [0, "", 0]);
    operator = start();
    await operator.line((line) => line.includes("A local database's server runs"));
    assertEquals(await query(await uri(), "SELECT answer FROM t"), [{ answer: 42 }]);
    const password = new URL(await uri()).password;
    await request(`${DATABASES}/orders`, "DELETE");
    await eventually(
      "its end",
      async () => (await request(`${DATABASES}/orders`)) === undefined || undefined,
    );
    assertEquals([...Deno.readDirSync(`${folder}/servers`), ...Deno.readDirSync(`${folder}/records`)], []);
    operator.kill("SIGTERM");
    assertEquals([await operator.code(), operator.err], [0, ""]);
    assert(!operator.out.includes(password));
  } finally {
    await operator?.end();
    await served.close();
    await removeLocalFolder(folder, { clock: systemClock, random: systemRandom });
    await Deno.remove(directory, { recursive: true });
  }
});
