/**
 * The operator itself, as `deno task start` runs it, killed with -9 in the moment in which it hands over a statement of a
 * create, a rotation and a delete, over several resources at once on servers of two majors.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { type ServedApi, serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { Child } from "../../tests/cli/support.ts";
import type { Fate } from "../support/cuts.ts";
import { type Proxy, serveProxy } from "./proxy.ts";
import { leftovers, newServer, OPERATOR, sql } from "./support.ts";

const MAJORS = [14, 18] as const;
/** Lives with eight kills each; more for a campaign: `EDB_KILL_ROUNDS=13` makes a hundred kills. */
const ROUNDS = Number(Deno.env.get("EDB_KILL_ROUNDS") ?? 1);
/** Resources of each major in a life. */
const EACH = 2;
const PATIENCE_MS = 180_000;
const DATABASES = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";
const SECRETS = "/api/v1/namespaces/default/secrets";

interface Resource {
  readonly data?: Readonly<Record<string, string>>;
  readonly status?: {
    readonly providerId?: string;
    readonly binding?: { readonly rotation?: string };
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** Kills whichever operator runs; the statement is cut before or after it takes effect. */
class Killer {
  child: Child | undefined;
  said = "";
  kills = 0;

  constructor(readonly served: ServedApi, readonly proxies: readonly Proxy[], readonly dir: string) {}

  start(): void {
    this.child = new Child(
      [
        ...["start", "--provider=postgres", `--postgres-url-file=${this.dir}/servers`],
        ...[`--kubeconfig=${this.dir}/kubeconfig`, "--listen=127.0.0.1:0", "--log-level=debug"],
        ...["--poll-interval=10s", "--cache-ttl=1s", "--call-timeout=6s"],
      ],
      [
        "--allow-env=EDB_*,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,KUBECONFIG,POD_NAME,POD_NAMESPACE",
        ...["--ignore-env", `--allow-read=${this.dir}`, "--allow-net=127.0.0.1"],
      ],
    );
  }

  /** Awaits the end of an operator that was killed. */
  async ended(): Promise<void> {
    const last = this.child;
    this.child = undefined;
    await last?.end();
    this.said += `${last?.out}${last?.err}`;
  }

  async ask(method: string, path: string, body?: unknown): Promise<{ status: number; object: Resource }> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const init = body === undefined
      ? { method }
      : { method, headers: { "content-type": type }, body: JSON.stringify(body) };
    const answer = await this.served.api.fetch(new Request(`http://embedded${path}`, init));
    const object = await answer.json();
    assert(answer.ok || answer.status === 404, `${method} ${path}: ${JSON.stringify(object)}`);
    return { status: answer.status, object };
  }

  async eventually(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    while (!await holds()) {
      if (performance.now() > end) {
        const { object } = await this.ask("GET", DATABASES);
        const told = `${JSON.stringify(object)}\n${this.child?.out.slice(-3_000)}${
          this.child?.err.slice(-500)
        }`;
        throw new Error(`Waiting for ${what}: not within ${PATIENCE_MS} ms\n${told}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Kills the operator as it sends the next statement that `which` fits, and starts another. */
  async killAt(which: RegExp, fate: Fate, cause: () => Promise<unknown> = () => Promise.resolve()) {
    let hit = false;
    for (const proxy of this.proxies) {
      proxy.fate = (text) => {
        if (hit || !which.test(text)) return "pass";
        hit = true;
        this.child?.kill("SIGKILL");
        this.kills++;
        return fate;
      };
    }
    await cause();
    await this.eventually(`a kill ${fate} ${which}`, () => hit);
    for (const proxy of this.proxies) proxy.fate = () => "pass";
    await this.ended();
    this.start();
  }
}

Deno.test("C1, K1, D1: the operator, killed with -9 at the statements of PostgreSQL of whole lives, leaves one database each, Secrets that log in, and then nothing", async () => {
  const servers = await Promise.all(MAJORS.map((major) => newServer(major)));
  const proxies = servers.map(({ port }) => serveProxy(port));
  const served = await serveEmbeddedApi();
  const dir = await Deno.makeTempDir();
  const killer = new Killer(served, proxies, dir);
  const { ask } = { ask: killer.ask.bind(killer) };
  const passwords = new Set<string>();
  const secretOf = async (name: string): Promise<Record<string, string>> => {
    const { object } = await ask("GET", `${SECRETS}/${name}-connection`);
    return Object.fromEntries(Object.entries(object.data ?? {}).map(([key, value]) => [key, atob(value)]));
  };
  const isReady = async (name: string) => {
    const { status } = (await ask("GET", `${DATABASES}/${name}`)).object;
    const holds = (type: string) => status?.conditions?.find((c) => c.type === type)?.status === "True";
    return holds("Ready") && holds("Synced");
  };
  /** Every resource is Ready, its Secret logs in past the proxy, and there is one database and one role of each. */
  const allWell = async (
    names: readonly { readonly name: string; readonly server: typeof servers[number] }[],
  ) => {
    for (const { name, server } of names) {
      await killer.eventually(`${name} to be Ready`, () => isReady(name));
      const { username, password, database } = await secretOf(name);
      const rows = await sql(server, "SELECT current_user AS who", {
        user: username!,
        password: password!,
        database: database!,
      });
      assertEquals(rows, [{ who: username }]);
      passwords.add(password!);
    }
    for (const server of servers) {
      const mine = names.filter((each) => each.server === server).length;
      assertEquals((await leftovers(server)).length, 2 * mine, (await leftovers(server)).join());
    }
  };
  try {
    const lines = proxies.map(({ port }, n) => servers[n]!.urlOf({ ...OPERATOR, port }));
    await Deno.writeTextFile(`${dir}/servers`, lines.join("\n"));
    await Deno.writeTextFile(`${dir}/kubeconfig`, served.kubeconfig());
    await ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", customResourceDefinition());
    killer.start();
    for (let round = 0; round < ROUNDS; round++) {
      const fates = round % 2 === 0 ? ["before", "after"] as const : ["after", "before"] as const;
      const names = servers.flatMap((server) =>
        Array.from({ length: EACH }, (_, n) => ({ name: `orders-${round}-${server.major}-${n}`, server }))
      );
      const each = (work: (path: string) => Promise<unknown>) =>
        Promise.all(names.map(({ name }) => work(`${DATABASES}/${name}`)));
      await killer.killAt(
        /^CREATE ROLE/,
        fates[0],
        () =>
          Promise.all(names.map(({ name, server }) =>
            ask("POST", DATABASES, {
              ...{ apiVersion: "crd.my.domain/v1", kind: "ExternalDatabase" },
              metadata: { name, namespace: "default" },
              spec: { engine: "postgres", version: String(server.major), sizeGb: 20 },
            })
          )),
      );
      await killer.killAt(/^CREATE DATABASE/, fates[1]);
      await killer.killAt(/^REVOKE ALL/, fates[0]);
      await allWell(names);
      for (const [n, fate] of fates.entries()) {
        const annotations = { "db.my.domain/rotate-password": `${round}-${n}` };
        await killer.killAt(
          /^ALTER ROLE/,
          fate,
          () => each((path) => ask("PATCH", path, { metadata: { annotations } })),
        );
        await killer.eventually("the rotations", async () => {
          const done = await Promise.all(
            names.map(async ({ name }) =>
              (await ask("GET", `${DATABASES}/${name}`)).object.status?.binding?.rotation === `${round}-${n}`
            ),
          );
          return done.every(Boolean);
        });
        await allWell(names);
      }
      await killer.killAt(
        /^COMMENT ON ROLE.*ALLOW_CONNECTIONS false/s,
        fates[0],
        () => each((path) => ask("DELETE", path)),
      );
      await killer.killAt(/^DROP DATABASE/, fates[1]);
      await killer.killAt(/^DROP OWNED/, fates[0]);
      for (const { name } of names) {
        const gone = async () => (await ask("GET", `${DATABASES}/${name}`)).status === 404;
        await killer.eventually(`${name} to be gone`, gone);
      }
      for (const server of servers) assertEquals(await leftovers(server), []);
    }
    killer.child?.kill("SIGTERM");
    assertEquals(await killer.child?.code(), 0);
    await killer.ended();
    assertEquals(killer.kills, 8 * ROUNDS);
    const events = JSON.stringify((await ask("GET", "/apis/events.k8s.io/v1/events")).object);
    for (const secret of [...passwords, OPERATOR.password, encodeURIComponent(OPERATOR.password)]) {
      for (const text of [killer.said, events]) assert(!text.includes(secret), "a password is told");
    }
    if (ROUNDS > 1) console.log(`${killer.kills} kills, ${passwords.size} passwords that logged in`);
  } finally {
    await killer.ended();
    await served.close();
    for (const proxy of proxies) await proxy.close();
    for (const server of servers) await server.stop();
    await Deno.remove(dir, { recursive: true });
  }
});
