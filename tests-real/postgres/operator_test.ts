/**
 * The operator itself, as `deno task start` runs it, between an embedded Kubernetes API and real PostgreSQL servers.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { type ServedApi, serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { Child } from "../../tests/cli/support.ts";
import { leftovers, newServer, OPERATOR, sql } from "./support.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DATABASES = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";
const PATIENCE_MS = 90_000;

interface Resource {
  readonly metadata: { readonly uid: string; readonly finalizers?: readonly string[] };
  readonly status?: {
    readonly providerId?: string;
    readonly endpoint?: string;
    readonly incarnation?: number;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
  };
}

async function ask(
  { api }: ServedApi,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly object: Resource }> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const answer = await api.fetch(
    new Request(`http://embedded${path}`, {
      method,
      headers: { "content-type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  const object = await answer.json();
  assert(answer.ok || answer.status === 404, `${method} ${path}: ${JSON.stringify(object)}`);
  return { status: answer.status, object };
}

async function eventually<T>(
  what: string,
  child: () => Child,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) {
      throw new Error(`Waiting for ${what}: not within ${PATIENCE_MS} ms\n${child().out.slice(-3_000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

Deno.test("A resource becomes a PostgreSQL database that answers; killed operators leave one; its deletion leaves none", async () => {
  const server = await newServer(16);
  const served = await serveEmbeddedApi();
  const dir = await Deno.makeTempDir();
  let child: Child | undefined;
  let said = "";
  const start = () => {
    child = new Child(
      [
        "start",
        "--provider=postgres",
        `--postgres-url-file=${dir}/servers`,
        `--kubeconfig=${dir}/kubeconfig`,
        "--listen=127.0.0.1:0",
        "--poll-interval=10s",
        "--cache-ttl=1s",
        "--call-timeout=8s", // the effect bound follows it, and what must be waited out with it
        "--log-level=debug",
      ],
      // Those of the image: the driver needs no more.
      [
        "--allow-env=EDB_*,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,KUBECONFIG,POD_NAME,POD_NAMESPACE",
        "--ignore-env",
        `--allow-read=${dir}`,
        "--allow-net=127.0.0.1",
      ],
    );
  };
  const end = async (signal: Deno.Signal) => {
    const last = child!;
    child = undefined;
    if (signal === "SIGTERM") {
      last.kill(signal);
      assertEquals(await last.code(), 0);
    }
    await last.end();
    said += last.out + last.err;
  };
  const current = () => child!;
  const get = (name: string) => ask(served, "GET", `${DATABASES}/${name}`);
  const ready = (name: string) =>
    eventually(`${name} to be Ready`, current, async () => {
      const { object } = await get(name);
      return object.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True")
        ? object
        : undefined;
    });
  const apply = (name: string, version = "16") =>
    ask(served, "POST", DATABASES, {
      apiVersion: "crd.my.domain/v1",
      kind: "ExternalDatabase",
      metadata: { name, namespace: "default" },
      spec: { engine: "postgres", version, sizeGb: 20 },
    });
  try {
    await Deno.writeTextFile(`${dir}/servers`, `# one a line\n${server.urlOf(OPERATOR)}\n`);
    await Deno.writeTextFile(`${dir}/kubeconfig`, served.kubeconfig());
    await ask(served, "POST", CRDS, customResourceDefinition());
    start();
    await apply("orders");
    const orders = await ready("orders");
    assertEquals(orders.status?.endpoint, `127.0.0.1:${server.port}`);
    const name = orders.status!.providerId!.split("/")[1]!;
    assert(name.startsWith("db_default_orders_"), name);
    // The tenant can use it, once somebody has given it a password.
    await sql(server, `ALTER ROLE "${name}" PASSWORD 'tenant'`, OPERATOR);
    const tenant = { user: name, password: "tenant", database: name };
    await sql(server, "CREATE TABLE t AS SELECT 42 AS x", tenant);

    // A version that no server has: said, with the ones that there are.
    await apply("wrong", "9.6");
    await eventually("the refusal", current, async () => {
      const { object } = await get("wrong");
      return object.status?.conditions?.some(({ message }) =>
        message?.includes(`there are ${server.version}`)
      ) ||
        undefined;
    });
    await ask(served, "DELETE", `${DATABASES}/wrong`);
    await eventually(
      "wrong to be gone",
      current,
      async () => (await get("wrong")).status === 404 || undefined,
    );

    // Growth is a soft quota; a version is the server's.
    await ask(served, "PATCH", `${DATABASES}/orders`, { spec: { sizeGb: 30, version: "17" } });
    await eventually("the way out", current, async () => {
      const { object } = await get("orders");
      return object.status?.conditions?.some(({ message }) => message?.includes("pg_upgrade")) || undefined;
    });
    await ask(served, "PATCH", `${DATABASES}/orders`, { spec: { sizeGb: 30, version: "16" } });
    await ready("orders");

    // C1: killed while it creates, three times.
    for (const victim of ["a", "b", "c"]) {
      await apply(victim);
      await eventually(
        "something of it",
        current,
        async () =>
          (await leftovers(server)).some((left) => left.includes(`db_default_${victim}_`)) || undefined,
      );
      await end("SIGKILL");
      start();
      await ready(victim);
    }
    assertEquals((await leftovers(server)).length, 8, (await leftovers(server)).join(", "));
    assertEquals((await get("orders")).object.status?.providerId, orders.status?.providerId);
    assertEquals(await sql(server, "SELECT x FROM t", tenant), [{ x: 42 }]);

    // R7: dropped at the server, role and all: made anew, empty, in the next incarnation.
    const a = (await get("a")).object.status!.providerId!.split("/")[1]!;
    await sql(server, `DROP DATABASE "${a}"`);
    await sql(server, `DROP ROLE "${a}"`);
    await eventually("a to be made anew", current, async () => {
      const { object } = await get("a");
      return object.status?.providerId?.endsWith(a) === false || undefined;
    });
    await ready("a");

    // Deleted while the operator is killed again.
    for (const each of ["orders", "a", "b", "c"]) await ask(served, "DELETE", `${DATABASES}/${each}`);
    await eventually(
      "something to go",
      current,
      async () => (await leftovers(server)).length < 8 || undefined,
    );
    await end("SIGKILL");
    start();
    for (const each of ["orders", "a", "b", "c"]) {
      await eventually(
        `${each} to be gone`,
        current,
        async () => (await get(each)).status === 404 || undefined,
      );
    }
    assertEquals(await leftovers(server), []);
    await end("SIGTERM");
    const events = JSON.stringify((await ask(served, "GET", "/apis/events.k8s.io/v1/events")).object);
    for (const text of [said, events]) {
      assert(text.length > 1_000);
      for (const secret of [OPERATOR.password, encodeURIComponent(OPERATOR.password)]) {
        assert(!text.includes(secret));
      }
    }
  } finally {
    if (child !== undefined) await end("SIGKILL");
    await served.close();
    await server.stop();
    await Deno.remove(dir, { recursive: true });
  }
});
