/**
 * The operator itself, as `deno task start` runs it, between an embedded Kubernetes API and the test's RDS: killed with -9
 * at the calls of a life, told what happens at RDS's console, and made to speak without saying a password.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { type ServedApi, serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { Child } from "../../tests/cli/support.ts";
import type { RdsServer } from "../support/rds.ts";
import type { Fate } from "../support/cuts.ts";
import { type Asked, type Proxy, serveProxy } from "./proxy.ts";
import { emptyRds, KEYS, USUAL_TIMING } from "./support.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DATABASES = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";
const SECRETS = "/api/v1/namespaces/default/secrets";
const PATIENCE_MS = 120_000;
/** Lives with six kills each; more for a campaign: `EDB_KILL_ROUNDS=17` makes a hundred kills. */
const ROUNDS = Number(Deno.env.get("EDB_KILL_ROUNDS") ?? 1);

interface Resource {
  readonly metadata: { readonly uid: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly status?: {
    readonly providerId?: string;
    readonly endpoint?: string;
    readonly observed?: { readonly sizeGb?: number; readonly version?: string };
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message?: string;
    }[];
  };
}

/** A cluster, an RDS with a proxy in front, and the operator between them. */
class Stage {
  child: Child | undefined;
  /** What all operators said. */
  said = "";
  kills = 0;
  readonly passwords = new Set<string>();

  private constructor(
    readonly served: ServedApi,
    readonly server: RdsServer,
    readonly proxy: Proxy,
    readonly dir: string,
  ) {}

  static async open(): Promise<Stage> {
    const server = await emptyRds();
    await server.timing({ create: 0.5, begin: 0.1, modify: 0.3, optimise: 0.2, delete: 0.5 });
    const dir = await Deno.makeTempDir();
    const stage = new Stage(await serveEmbeddedApi(), server, serveProxy(server.url), dir);
    const keys = `[default]\naws_access_key_id = ${KEYS.AWS_ACCESS_KEY_ID}\n` +
      `aws_secret_access_key = ${KEYS.AWS_SECRET_ACCESS_KEY}\n`;
    await Deno.writeTextFile(`${dir}/keys`, keys);
    await Deno.writeTextFile(`${dir}/kubeconfig`, stage.served.kubeconfig());
    // The proxy holds nothing back: what was sent before a kill has taken effect, or never will.
    const parameters = { effectBoundSeconds: 2, readLagSeconds: 0 };
    await Deno.writeTextFile(`${dir}/parameters.json`, JSON.stringify(parameters));
    await stage.ask("POST", CRDS, customResourceDefinition());
    return stage;
  }

  start(): void {
    this.child = new Child(
      [
        "start",
        "--provider=aws-rds",
        "--aws-region=eu-west-1",
        `--aws-endpoint-url=${this.proxy.url}`,
        `--aws-credentials-file=${this.dir}/keys`,
        `--aws-parameters-file=${this.dir}/parameters.json`,
        `--kubeconfig=${this.dir}/kubeconfig`,
        "--listen=127.0.0.1:0",
        "--poll-interval=10s",
        "--cache-ttl=1s",
        "--call-timeout=8s",
        "--log-level=debug",
      ],
      // Those of the image: the SDK needs no more.
      [
        "--allow-env=EDB_*,AWS_*,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,KUBECONFIG,POD_NAME,POD_NAMESPACE",
        "--ignore-env",
        `--allow-read=${this.dir}`,
        "--allow-net=127.0.0.1",
      ],
    );
  }

  /** Awaits the end of a killed operator. */
  async ended(): Promise<void> {
    const last = this.child;
    this.child = undefined;
    if (last === undefined) return;
    await last.end();
    this.said += last.out + last.err;
  }

  async close(): Promise<void> {
    await this.ended();
    await this.served.close();
    await this.proxy.close();
    await this.server.timing(USUAL_TIMING);
    await Deno.remove(this.dir, { recursive: true });
  }

  async ask(method: string, path: string, body?: unknown): Promise<{ status: number; object: Resource }> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await this.served.api.fetch(
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

  async eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (performance.now() > end) {
        const { object } = await this.ask("GET", DATABASES);
        const told = `${JSON.stringify(object)}\n${this.child?.out.slice(-3_000)}${
          this.child?.err.slice(-1_000)
        }`;
        throw new Error(`Waiting for ${what}: not within ${PATIENCE_MS} ms\n${told}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Kills the operator in the moment it asks for the nth of these actions from now on, and starts another. */
  async killAt(
    is: (asked: Asked) => boolean,
    n: number,
    fate: Fate,
    cause: () => Promise<unknown>,
  ): Promise<void> {
    let count = 0;
    const killed = new Promise<void>((resolve) => {
      this.proxy.fate = (asked) => {
        if (!is(asked) || count++ !== n) return "pass";
        this.child?.kill("SIGKILL");
        this.kills++;
        resolve();
        return fate;
      };
    });
    await cause();
    let done = false;
    void killed.then(() => done = true);
    await this.eventually(`kill ${n} ${fate}`, () => Promise.resolve(done || undefined));
    await this.ended();
    this.start();
  }

  apply(name: string, spec: Record<string, unknown> = {}) {
    return this.ask("POST", DATABASES, {
      apiVersion: "crd.my.domain/v1",
      kind: "ExternalDatabase",
      metadata: { name, namespace: "default" },
      spec: { engine: "postgres", version: "16", sizeGb: 20, ...spec },
    });
  }

  get(name: string) {
    return this.ask("GET", `${DATABASES}/${name}`);
  }

  ready(name: string, also: (resource: Resource) => boolean = () => true): Promise<Resource> {
    return this.eventually(`${name} to be Ready`, async () => {
      const { object } = await this.get(name);
      const holds = (type: string) =>
        object.status?.conditions?.find((c) => c.type === type)?.status === "True";
      return holds("Ready") && holds("Synced") && also(object) ? object : undefined;
    });
  }

  says(name: string, reason: string): Promise<Resource> {
    return this.eventually(`${name} to say ${reason}`, async () => {
      const { object } = await this.get(name);
      return object.status?.conditions?.some((each) => each.reason === reason) ? object : undefined;
    });
  }

  async gone(name: string): Promise<void> {
    await this.eventually(
      `${name} to be gone`,
      async () => (await this.get(name)).status === 404 || undefined,
    );
  }

  /** The password in the Secret of a database, once it is the one in force. */
  loggedIn(name: string, besides?: string): Promise<string> {
    return this.eventually(`the Secret of ${name} to log in`, async () => {
      const { object } = await this.ask("GET", `${SECRETS}/${name}-connection`);
      const id = (await this.get(name)).object.status?.providerId;
      const instance = (await this.server.instances()).find(({ resourceId }) => resourceId === id);
      const decoded = object.data?.["password"] === undefined ? undefined : atob(object.data["password"]);
      if (decoded === undefined || decoded !== instance?.password || decoded === besides) return undefined;
      assertEquals(atob(object.data!["username"]!), instance.username);
      this.passwords.add(decoded);
      return decoded;
    });
  }

  /** No password, and no key, was said to anybody. */
  async assertSilent(): Promise<void> {
    const events = JSON.stringify((await this.ask("GET", "/apis/events.k8s.io/v1/events")).object);
    assert(this.said.length > 1_000 && this.passwords.size > 0);
    for (const secret of [...this.passwords, KEYS.AWS_SECRET_ACCESS_KEY]) {
      for (const text of [this.said, events]) assert(!text.includes(secret));
    }
  }
}

const doing = (action: string) => (asked: Asked) => asked.action === action;

Deno.test("C1, K1, D1: the operator, killed with -9 at the calls of RDS of a whole life, leaves one instance, a Secret that logs in, and then nothing", async () => {
  const stage = await Stage.open();
  const { server } = stage;
  try {
    stage.start();
    for (let round = 0; round < ROUNDS; round++) {
      const name = `orders-${round}`;
      const path = `${DATABASES}/${name}`;
      const fates = ["before", "after"] as const;
      await stage.killAt(doing("CreateDBInstance"), 0, fates[round % 2]!, () => stage.apply(name));
      // The next one meets what is left: a create, or a look at it.
      await stage.killAt(() => true, 1 + round % 5, fates[(round + 1) % 2]!, () => Promise.resolve());
      const { status } = await stage.ready(name);
      assertEquals((await server.instances()).map(({ resourceId }) => resourceId), [status?.providerId]);
      let held = await stage.loggedIn(name);
      for (const [i, fate] of fates.entries()) {
        const annotations = { "db.my.domain/rotate-password": `${round}-${i}` };
        const rotate = () => stage.ask("PATCH", path, { metadata: { annotations } });
        await stage.killAt(doing("ModifyDBInstance"), 0, fate, rotate);
        held = await stage.loggedIn(name, held);
        await stage.ready(name);
        assertEquals((await server.instances()).length, 1);
      }
      await stage.killAt(doing("DeleteDBInstance"), 0, "before", () => stage.ask("DELETE", path));
      await stage.killAt(doing("DeleteDBInstance"), 0, "after", () => Promise.resolve());
      await stage.gone(name);
      assertEquals(await server.instances(), []);
    }
    stage.child?.kill("SIGTERM");
    assertEquals(await stage.child?.code(), 0);
    await stage.ended();
    assertEquals(stage.kills, 6 * ROUNDS);
    await stage.assertSilent();
  } finally {
    await stage.close();
  }
});

Deno.test("R2, R3, R7, D2, D5, D7, D9, K2, K3: what happens to instances at RDS itself is understood by the operator", async () => {
  const stage = await Stage.open();
  const { server, proxy } = stage;
  try {
    stage.start();
    await stage.apply("orders", { deletionPolicy: "Snapshot" });
    await stage.apply("other");
    const { status } = await stage.ready("orders");
    await stage.ready("other");
    await stage.loggedIn("other");
    const mine = async () =>
      (await server.instances()).find((each) => each.resourceId === status?.providerId)!;
    const { identifier } = await mine();
    const mutations = () => proxy.asked.filter(({ mutates }) => mutates).length;

    // Storage that grew and a minor upgrade, by RDS itself: shown, and nothing is sent.
    const before = mutations();
    await server.set(identifier, { allocated_storage: 35, engine_version: "16.9" });
    await stage.ready(
      "orders",
      ({ status }) => status?.observed?.sizeGb === 35 && status.observed.version === "16.9",
    );
    assertEquals(mutations(), before);

    // A failover: another address, the same password.
    const held = await stage.loggedIn("orders");
    await server.set(identifier, { address: "elsewhere.example" });
    await stage.ready("orders", ({ status }) => status?.endpoint === "elsewhere.example:5432");
    await stage.eventually("the Secret's host", async () => {
      const { object } = await stage.ask("GET", `${SECRETS}/orders-connection`);
      return atob(object.data?.["host"] ?? "") === "elsewhere.example" || undefined;
    });
    assertEquals(await stage.loggedIn("orders"), held);

    // The Secret is deleted: written anew, with a password that RDS has taken.
    await stage.ask("DELETE", `${SECRETS}/orders-connection`);
    await stage.loggedIn("orders", held);
    await stage.ready("orders");

    // What RDS has no version of is refused, and goes at once.
    await stage.apply("wrong", { version: "9.6" });
    await stage.says("wrong", "CreateFailed");
    await stage.ask("DELETE", `${DATABASES}/wrong`);
    await stage.gone("wrong");

    // A wanted size and version are sent once.
    const asked = mutations();
    await stage.ask("PATCH", `${DATABASES}/orders`, { spec: { sizeGb: 50, version: "17" } });
    await stage.ready("orders", ({ status }) => {
      return status?.observed?.sizeGb === 50 && status.observed.version === "17.2";
    });
    assertEquals(mutations(), asked + 1);

    // Somebody deletes the other one at the console: absence is confirmed, and it is made anew.
    const lost = (await stage.get("other")).object.status!.providerId!;
    const gone = (await server.instances()).find(({ resourceId }) => resourceId === lost)!;
    await server.vanish(gone.identifier);
    await stage.ready(
      "other",
      ({ status }) => status?.providerId !== undefined && status.providerId !== lost,
    );
    assertEquals((await server.instances()).length, 2);
    assertEquals((await mine()).status, "available");

    // Protected: said, and the deletion waits until the protection is lifted; then a snapshot is taken first.
    await server.set(identifier, { deletion_protection: true });
    await stage.ask("DELETE", `${DATABASES}/orders`);
    await stage.says("orders", "DeletionProtected");
    assertEquals(await server.snapshots(), []);
    await server.set(identifier, { deletion_protection: false });
    await stage.gone("orders");
    const snapshots = await server.snapshots();
    assertEquals(snapshots.map(({ resourceId, status }) => [resourceId, status]), [[
      status!.providerId!,
      "available",
    ]]);

    // Gone at RDS before its resource is deleted: no matter.
    await server.vanish((await server.instances())[0]!.identifier);
    await stage.ask("DELETE", `${DATABASES}/other`);
    await stage.gone("other");
    assertEquals(await server.instances(), []);
    stage.child?.kill("SIGTERM");
    await stage.ended();
    await stage.assertSilent();
  } finally {
    await stage.close();
  }
});

Deno.test("A1, A2, A3: what is kept at RDS can be adopted; another account, or one that shows nothing, changes nothing", async () => {
  const stage = await Stage.open();
  const { server, proxy } = stage;
  const mutations = () => proxy.asked.filter(({ mutates }) => mutates).length;
  const lists = () =>
    proxy.asked.filter(({ action, verb }) => action === "DescribeDBInstances" && verb === undefined).length;
  try {
    stage.start();
    await stage.apply("kept", { deletionPolicy: "Retain" });
    // More than three that are gone at once are not believed (rule 12).
    const others = ["b", "c", "d", "e"];
    for (const name of others) await stage.apply(name);
    const id = (await stage.ready("kept")).status!.providerId!;
    for (const name of others) await stage.ready(name);

    // A2, A3: other credentials, an account without instances.
    const before = mutations();
    for (const account of ["210987654321", undefined]) {
      proxy.instead = ({ action }) => {
        if (action === "DescribeDBInstances") {
          const result = "<DescribeDBInstancesResult><DBInstances></DBInstances></DescribeDBInstancesResult>";
          return new Response(`<DescribeDBInstancesResponse>${result}</DescribeDBInstancesResponse>`);
        }
        if (action !== "GetCallerIdentity" || account === undefined) return undefined;
        const result = `<GetCallerIdentityResult><Account>${account}</Account></GetCallerIdentityResult>`;
        return new Response(`<GetCallerIdentityResponse>${result}</GetCallerIdentityResponse>`);
      };
      for (const name of ["kept", ...others]) {
        await stage.eventually(`${name} to be in doubt`, async () => {
          const synced = (await stage.get(name)).object.status?.conditions?.find(({ type }) =>
            type === "Synced"
          );
          return synced?.status !== "True" || undefined;
        });
      }
      const looked = lists();
      await stage.eventually("more looks", () => Promise.resolve(lists() > looked + 5 || undefined));
      assertEquals(mutations(), before);
      assertEquals((await server.instances()).length, 5);
      proxy.instead = () => undefined;
      // Those that were taken for gone are shown again.
      for (const name of ["kept", ...others]) {
        const annotations = { "db.my.domain/reconcile": `${account}-${name}` };
        await stage.ask("PATCH", `${DATABASES}/${name}`, { metadata: { annotations } });
        await stage.ready(name);
      }
      assertEquals(mutations(), before);
    }

    // A1: kept, then applied again with its id.
    await stage.ask("DELETE", `${DATABASES}/kept`);
    await stage.gone("kept");
    const left = (await server.instances()).find(({ resourceId }) => resourceId === id)!;
    assertEquals(left.status, "available");
    await stage.apply("again", { providerId: id });
    const { metadata, status } = await stage.ready("again");
    assertEquals(status?.providerId, id);
    const adopted = (await server.instances()).find(({ resourceId }) => resourceId === id)!;
    assertEquals(adopted.tags["db.my.domain/uid"], metadata.uid);
    assertEquals([adopted.allocatedStorage, adopted.engineVersion], [
      left.allocatedStorage,
      left.engineVersion,
    ]);
    // An adopted one is kept unless the resource says otherwise.
    await stage.ask("PATCH", `${DATABASES}/again`, { spec: { deletionPolicy: "Delete" } });
    for (const name of ["again", ...others]) {
      await stage.ask("DELETE", `${DATABASES}/${name}`);
      await stage.gone(name);
    }
    assertEquals(await server.instances(), []);
  } finally {
    await stage.close();
  }
});
