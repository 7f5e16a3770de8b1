/**
 * Classes of three kinds of real account side by side on a real API server: PostgreSQL servers of two majors, a PostgreSQL
 * for each resource on this machine, and an RDS. The operator is a process of its own, without an account of its flags.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
// @ts-types="@types/pg"
import pg from "pg";
import { removeLocalFolder } from "../../src/providers/local/provider.ts";
import { systemClock } from "../../src/core/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { Child } from "../../tests/cli/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { newFolder, serversUnder } from "../local/support.ts";
import { leftovers, newServer, OPERATOR, sql } from "../postgres/support.ts";
import { serveProxy } from "../rds/proxy.ts";
import { emptyRds, KEYS, REGION } from "../rds/support.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, manifest, messageOf, read } from "../support/operator.ts";

const PATIENCE_MS = 180_000;
const RENEWED = { user: OPERATOR.user, password: "renewed-0123456789abcdef" };
const NEW_KEYS = { AWS_ACCESS_KEY_ID: "AKIARENEWED", AWS_SECRET_ACCESS_KEY: "renewed-secret-access-key" };

/** Whether a client gets in, and does something, with a URI as it stands in a Secret. */
async function logsIn(uri: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: uri, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
    await client.query("CREATE TABLE IF NOT EXISTS proof (n int)");
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "28P01") return false;
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

Deno.test("classes of postgres, local and aws-rds: a resource of each is Ready and its Secret logs in; passwords and credentials are rotated; all is deleted", async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube, "accounts");
  const servers = await Promise.all([newServer(14), newServer(18)]);
  const rds = await emptyRds();
  const proxy = serveProxy(rds.url);
  const folder = await newFolder();
  const classes = ["servers", "here", "cloud"].map((kind) => `${ns}-${kind}`) as [string, string, string];
  const [ofServers, here, cloud] = classes;

  const kubectl = async (object: unknown) => {
    const args = ["apply", "--validate=strict", "-f", "-"];
    const { code, stderr } = await kube.kubectlWith({ stdin: JSON.stringify(object) }, ...args);
    assertEquals(code, 0, stderr);
  };
  const credentials = (name: string, stringData: Record<string, string>) =>
    kubectl({ apiVersion: "v1", kind: "Secret", metadata: { name, namespace: ns }, stringData });
  const serversFile = (login: typeof OPERATOR) => ({
    servers: servers.map((server) => server.urlOf(login)).join("\n"),
  });
  const makeClass = (name: string, spec: Record<string, unknown>) =>
    kubectl({ apiVersion: "crd.my.domain/v1", kind: "ExternalDatabaseClass", metadata: { name }, spec });
  const secretsOf = (name: string) => ({ credentialsSecretRef: { name, namespace: ns } });
  const classReady = async (name: string) => {
    const path = '-o=jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status}/{.reason}{end}';
    return (await kube.kubectl("get", "edbclass", name, path)).stdout;
  };

  const child = new Child(
    [
      ...["start", "--provider=none", `--kubeconfig=${kube.kubeconfig}`, `--namespace=${ns}`],
      ...["--listen=127.0.0.1:0", "--poll-interval=10s", "--call-timeout=20s", "--log-level=debug"],
    ],
    [
      ...[
        "--allow-env",
        "--allow-read",
        "--allow-net",
        `--allow-write=${folder}`,
        "--allow-run",
        "--allow-sys=uid",
      ],
    ],
    { env: { POD_NAMESPACE: ns } },
  );
  const until = (what: string, holds: () => Promise<boolean> | boolean) =>
    eventually(what, holds, PATIENCE_MS, 100);
  const ready = (...names: string[]) =>
    until(`${names} to be Ready`, async () => {
      for (const name of names) {
        const object = await read(kube, ns, name);
        if (conditionOf(object, "Ready") !== "True/Available") return false;
        if (conditionOf(object, "Synced") !== "True/Available") return false;
      }
      return true;
    });
  const secret = async (name: string): Promise<Record<string, string>> => {
    const { stdout } = await kube.kubectl("-n", ns, "get", "secret", `${name}-connection`, "-o=json");
    const { data = {} } = JSON.parse(stdout) as { data?: Record<string, string> };
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, atob(value)]));
  };
  const told = new Set<string>();
  /** The connection Secret logs in; its URI. */
  const working = async (name: string): Promise<string> => {
    const { uri = "", password = "" } = await secret(name);
    told.add(password);
    if (name === "rds16") { // moto runs no database: what it was told last is the password
      await until("RDS's password", async () => (await rds.instances())[0]?.password === password);
      assert(new URL(uri.replace(/^postgresql/, "http")).password === password);
    } else assertEquals(await logsIn(uri), true, name);
    return uri;
  };
  const names = ["pg14", "pg18", "here16", "rds16"];
  try {
    await credentials("servers", serversFile(OPERATOR));
    await credentials("keys", KEYS);
    await makeClass(ofServers, { provider: "postgres", ...secretsOf("servers") });
    await makeClass(here, { provider: "local", parameters: { folder } });
    await makeClass(cloud, {
      ...{ provider: "aws-rds", ...secretsOf("keys") },
      parameters: {
        ...{ region: REGION, endpointUrl: proxy.url, stsEndpointUrl: rds.url },
        ...{ effectBoundSeconds: "5", readLagSeconds: "0" },
      },
    });
    await apply(kube, manifest(ns, "pg14", { className: ofServers, version: "14" }));
    await apply(kube, manifest(ns, "pg18", { className: ofServers, version: "18" }));
    await apply(kube, manifest(ns, "here16", { className: here, version: "16" }));
    await apply(kube, manifest(ns, "rds16", { className: cloud, version: "16" }));
    await ready(...names);
    for (const name of classes) {
      await until(`${name} is Ready`, async () => await classReady(name) === "True/Available");
    }
    for (const [n, server] of servers.entries()) {
      const { status } = await read(kube, ns, ["pg14", "pg18"][n]!) ?? {};
      assertEquals([status?.endpoint, status?.className], [`127.0.0.1:${server.port}`, ofServers]);
      assertEquals((await leftovers(server)).length, 2);
    }
    const first = new Map<string, string>();
    for (const name of names) first.set(name, await working(name));

    // Passwords: the new one logs in, the old one does not.
    for (const name of names) {
      await kube.kubectl("-n", ns, "annotate", "edb", name, "db.my.domain/rotate-password=1");
    }
    await until("the rotations", async () => {
      for (const name of names) {
        if ((await read(kube, ns, name))?.status?.binding?.rotation !== "1") return false;
      }
      return true;
    });
    await ready(...names);
    for (const name of names) {
      assertNotEquals(await working(name), first.get(name));
      if (name !== "rds16") assertEquals(await logsIn(first.get(name)!), false, `${name}: the old password`);
    }

    // Credentials of the servers: refused, told, and used at once when the Secret has the new ones.
    for (const server of servers) {
      await sql(server, `ALTER ROLE "${RENEWED.user}" PASSWORD '${RENEWED.password}'`);
    }
    for (const server of servers) {
      await sql(
        server,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'externaldatabase-operator'",
      );
    }
    await until("the refusal", async () => await classReady(ofServers) === "False/Unauthorised");
    assertEquals(await classReady(here), "True/Available");
    assertEquals(
      conditionOf(await read(kube, ns, "here16"), "Synced"),
      "True/Available",
      "others do not notice",
    );
    await apply(kube, manifest(ns, "pg18", { className: ofServers, version: "18", sizeGb: 40 }));
    const rotated = performance.now();
    await credentials("servers", serversFile(RENEWED));
    await until("the servers' new password", async () => await classReady(ofServers) === "True/Available");
    assert(performance.now() - rotated < 30_000, "it took longer than to notice a Secret");
    await until(
      "pg18 has grown",
      async () => (await read(kube, ns, "pg18"))?.status?.observed?.sizeGb === 40,
    );

    // Keys of RDS: the next calls are signed with the new ones.
    await credentials("keys", NEW_KEYS);
    await until("the new keys", () => proxy.asked.at(-1)?.keyId === NEW_KEYS.AWS_ACCESS_KEY_ID);
    await apply(kube, manifest(ns, "rds16", { className: cloud, version: "16", sizeGb: 40 }));
    await ready(...names);
    await until("rds16 has grown", async () => (await rds.instances())[0]?.allocatedStorage === 40);
    assert(
      proxy.asked.some(({ action, keyId }) =>
        action === "ModifyDBInstance" && keyId === NEW_KEYS.AWS_ACCESS_KEY_ID
      ),
    );

    // A class that goes while its databases live: they stay, and a deletion waits and says so.
    await kube.kubectl("delete", "edbclass", here);
    await kube.kubectl("-n", ns, "delete", "edb", "here16", "--wait=false");
    await until(
      "ClassMissing",
      async () => conditionOf(await read(kube, ns, "here16"), "Synced") === "False/ClassMissing",
    );
    await makeClass(here, { provider: "local", parameters: { folder } });

    for (const name of names) {
      await kube.kubectl("-n", ns, "delete", "edb", name, "--wait=false", "--ignore-not-found");
    }
    for (const name of names) {
      await until(`${name} to be gone`, async () => await read(kube, ns, name) === undefined);
    }
    for (const server of servers) assertEquals(await leftovers(server), []);
    assertEquals(await rds.instances(), []);
    assertEquals(await serversUnder(folder), 0);
    await until("its Secrets to be collected", async () => {
      return !(await kube.kubectl("-n", ns, "get", "secrets", "-o=name")).stdout.includes("-connection");
    });
    child.kill("SIGTERM");
    assertEquals(await child.code(), 0);
    const events = (await kube.kubectl("-n", ns, "get", "events,edb,edbclass", "-o=json")).stdout;
    for (
      const hidden of [
        ...told,
        OPERATOR.password,
        encodeURIComponent(OPERATOR.password),
        RENEWED.password,
        NEW_KEYS.AWS_SECRET_ACCESS_KEY,
        KEYS.AWS_SECRET_ACCESS_KEY,
      ]
    ) {
      for (const text of [child.out, child.err, events]) assert(!text.includes(hidden), "a secret is told");
    }
  } catch (error) {
    const said = [];
    for (const name of names) {
      const object = await read(kube, ns, name).catch(() => undefined);
      said.push(`${name}: ${messageOf(object, "Ready")} / ${messageOf(object, "Synced")}`);
    }
    throw new Error(
      `${error instanceof Error ? error.message : error}\n${said.join("\n")}\n${
        child.out.slice(-8_000)
      }${child.err}`,
      { cause: error },
    );
  } finally {
    await child.end();
    await kube.kubectl("delete", "edbclass", ...classes, "--ignore-not-found");
    await proxy.close();
    for (const server of servers) await server.stop();
    await removeLocalFolder(folder, { clock: systemClock, random: systemRandom });
  }
});
