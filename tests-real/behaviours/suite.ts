/**
 * Behaviours of behaviours.md that must hold whatever the provider: the operator in this process, on an embedded Kubernetes
 * API, over real databases. Which provider proves which is in docs/providers.md, by the titles.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { ANNOTATION, FINALIZER, TAG } from "../../src/api/constants.ts";
import { customResourceDefinition } from "../../src/api/crd.ts";
import type { ExternalDatabase, ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLogger } from "../../src/core/log.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { systemRandom } from "../../src/core/random.ts";
import { createCluster } from "../../src/kube/client.ts";
import { createSecrets } from "../../src/kube/secrets.ts";
import { createOperator } from "../../src/operator/operator.ts";
import type { Database, DatabaseProvider } from "../../src/providers/port.ts";
import { embeddedApi } from "../../tests/fuzz/rig.ts";
import { eventually } from "../../tests/support/eventually.ts";

/** Real databases behind a provider; empty, and left empty. */
export interface Ground {
  readonly provider: DatabaseProvider;
  /** The same kind of provider with another, empty account. */
  readonly other: DatabaseProvider;
  /** A version that there is, and the same one as the provider shows it. */
  readonly version: string;
  /** Whether a client gets in with what a connection Secret says. */
  logsIn(secret: Readonly<Record<string, string>>, database: Database): Promise<boolean>;
  /** Ends it. Throws where anything is left. */
  close(): Promise<void>;
}

const CALL = { signal: new AbortController().signal };
const PATIENCE_MS = 120_000;
const AT = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";
const SECRETS = "/api/v1/namespaces/default/secrets";

/** The operator over a ground. */
class Stage {
  /** Changes that were sent to the provider. */
  changes: string[] = [];
  /** Whose calls are made. */
  account: DatabaseProvider;

  private constructor(
    readonly ground: Ground,
    private readonly api: Awaited<ReturnType<typeof embeddedApi>>,
  ) {
    this.account = ground.provider;
  }

  static async play(ground: Ground, work: (stage: Stage) => Promise<void>): Promise<void> {
    const api = await embeddedApi(customResourceDefinition());
    const stage = new Stage(ground, api);
    const abort = new AbortController();
    const operator = createOperator({
      cluster: createCluster(api.transport),
      secrets: createSecrets(api.transport),
      provider: stage.#counted(),
      recorder: { record: () => {} },
      ...{ clock: systemClock, random: systemRandom, log: silentLogger, metrics: noMetrics },
      ...{ pollIntervalMs: 1_000, cacheTtlMs: 500, callTimeoutMs: 20_000 },
    });
    const running = operator.run(abort.signal);
    let failed: unknown;
    try {
      await work(stage);
    } catch (error) {
      failed = error;
      throw error;
    } finally {
      abort.abort(new Error("The test is over"));
      await operator.drain(10_000);
      await running;
      api.transport.close();
      api.close();
      await ground.close().catch((error: unknown) => {
        if (failed === undefined) throw error; // what failed before has left it
      });
    }
  }

  #counted(): DatabaseProvider {
    const at = () => this.account;
    const note = (text: string) => this.changes.push(text);
    return {
      name: this.ground.provider.name,
      info: (call) => at().info(call),
      get: (id, call) => at().get(id, call),
      list: (call) => at().list(call),
      create: (request, call) => (note("create"), at().create(request, call)),
      modify: (
        id,
        request,
        call,
      ) => (note(`modify ${Object.keys(request).sort()}`), at().modify(id, request, call)),
      delete: (id, call) => (note("delete"), at().delete(id, call)),
    };
  }

  // deno-lint-ignore no-explicit-any -- whatever the API answers
  async ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const init = body === undefined
      ? { method }
      : { method, headers: { "content-type": type }, body: JSON.stringify(body) };
    const answer = await this.api.fetch(path, init);
    const text = await answer.text();
    assert(answer.ok || answer.status === 404, `${method} ${path}: ${text}`);
    return { status: answer.status, body: JSON.parse(text) };
  }

  async create(name: string, spec: Partial<ExternalDatabaseSpec> = {}): Promise<void> {
    await this.ask("POST", AT, {
      ...{
        apiVersion: "crd.my.domain/v1",
        kind: "ExternalDatabase",
        metadata: { name, namespace: "default" },
      },
      spec: {
        engine: "postgres",
        version: this.ground.version,
        sizeGb: 20,
        connectionSecretRef: {},
        ...spec,
      },
    });
  }

  async edit(name: string, spec: Partial<Record<keyof ExternalDatabaseSpec, unknown>>): Promise<void> {
    await this.ask("PATCH", `${AT}/${name}`, { spec });
  }

  async remove(name: string): Promise<void> {
    await this.ask("DELETE", `${AT}/${name}`);
  }

  async get(name: string): Promise<ExternalDatabase | undefined> {
    const { status, body } = await this.ask("GET", `${AT}/${name}`);
    return status === 404 ? undefined : body;
  }

  async condition(name: string, type: "Ready" | "Synced"): Promise<string> {
    const found = (await this.get(name))?.status?.conditions?.find((each) => each.type === type);
    return `${found?.status}/${found?.reason}`;
  }

  async until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    await eventually(what, holds, PATIENCE_MS, 50).catch(async (error: Error) => {
      const { body } = await this.ask("GET", AT);
      throw new Error(
        `${error.message}\n${JSON.stringify(body.items?.map((o: ExternalDatabase) => o.status))}`,
      );
    });
  }

  async ready(name: string): Promise<ExternalDatabase> {
    await this.until(
      `${name} to be Ready`,
      async () =>
        await this.condition(name, "Ready") === "True/Available" &&
        await this.condition(name, "Synced") === "True/Available",
    );
    return (await this.get(name))!;
  }

  says(name: string, reason: string): Promise<void> {
    return this.until(
      `${name} to say ${reason}`,
      async () => (await this.condition(name, "Synced")).endsWith(reason),
    );
  }

  gone(name: string): Promise<void> {
    return this.until(`${name} to be gone`, async () => await this.get(name) === undefined);
  }

  /** The connection Secret, decoded; nothing where there is none. */
  async secret(name: string): Promise<Record<string, string>> {
    const { body } = await this.ask("GET", `${SECRETS}/${name}`);
    return Object.fromEntries(Object.entries(body.data ?? {}).map(([k, v]) => [k, atob(v as string)]));
  }

  /** The database of a resource, by the provider itself. */
  async database(name: string): Promise<Database> {
    return await this.ground.provider.get((await this.get(name))?.status?.providerId ?? "", CALL);
  }

  async logsIn(name: string): Promise<boolean> {
    const secret = await this.secret(`${name}-connection`);
    return secret["password"] !== undefined && await this.ground.logsIn(secret, await this.database(name));
  }

  /** Every database that the provider shows of this operator. */
  async databases(): Promise<readonly Database[]> {
    return (await this.ground.provider.list({ ...CALL, tags: {} })).items;
  }

  /** Nothing is changed for some poll periods. */
  async quiet(): Promise<void> {
    const before = [...this.changes];
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    assertEquals(this.changes, before);
  }
}

/** Registers the tests for one provider. */
export function behaviours(provider: string, ground: () => Promise<Ground>): void {
  const test = (title: string, work: (stage: Stage) => Promise<void>) =>
    Deno.test(`${title} (${provider})`, async () => await Stage.play(await ground(), work));

  test("K2, K4: Ready comes with a whole Secret that logs in; deleted it is rebuilt, robbed of a key completed; a foreign one is never touched", async (stage) => {
    await stage.create("orders");
    await stage.ready("orders");
    const first = await stage.secret("orders-connection");
    const keys = ["database", "host", "password", "port", "provider", "type", "uri", "username"];
    assertEquals(Object.keys(first).sort(), keys);
    assertEquals(await stage.logsIn("orders"), true);

    await stage.ask("DELETE", `${SECRETS}/orders-connection`);
    await stage.until("it is rebuilt", async () => {
      const is = (await stage.secret("orders-connection"))["password"];
      return is !== undefined && is !== first["password"];
    });
    await stage.ready("orders");
    await stage.until("it logs in", () => stage.logsIn("orders"));
    const second = await stage.secret("orders-connection");
    await stage.ask("PATCH", `${SECRETS}/orders-connection`, { data: { host: null } });
    await stage.until(
      "it is completed",
      async () => (await stage.secret("orders-connection"))["host"] !== undefined,
    );
    assertEquals(await stage.secret("orders-connection"), second);

    await stage.ask("POST", SECRETS, {
      ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "mine", namespace: "default" } },
      data: { key: btoa("value") },
    });
    await stage.edit("orders", { connectionSecretRef: { name: "mine" } });
    await stage.until(
      "the conflict",
      async () => await stage.condition("orders", "Ready") === "False/SecretConflict",
    );
    assertEquals(await stage.secret("mine"), { key: "value" });
    await stage.remove("orders");
    await stage.gone("orders");
    assertEquals(await stage.secret("mine"), { key: "value" });
    assertEquals(await stage.databases(), []);
  });

  test("A1, D4, D8: retained, observed, adopted; who names it too is told whose it is, and its end touches nothing", async (stage) => {
    await stage.create("first", { deletionPolicy: "Retain" });
    const { metadata, status } = await stage.ready("first");
    const id = status!.providerId!;
    await stage.remove("first");
    await stage.gone("first");
    assertEquals((await stage.databases()).map((d) => [d.id, d.tags[TAG.retained]]), [[id, metadata.uid]]);

    const before = await stage.ground.provider.get(id, CALL);
    stage.changes = [];
    await stage.create("watching", {
      managementPolicy: "ObserveOnly",
      providerId: id,
      connectionSecretRef: undefined,
    });
    await stage.until(
      "it is shown",
      async () => /^available$/i.test((await stage.get("watching"))?.status?.providerState ?? ""),
    );
    await stage.quiet();
    await stage.remove("watching");
    await stage.gone("watching");
    assertEquals(stage.changes, []);
    assertEquals(await stage.ground.provider.get(id, CALL), before);

    await stage.create("second", { providerId: id, sizeGb: 30, connectionSecretRef: undefined });
    await stage.says("second", "DriftReported"); // an adopted database that differs is only reported
    assertEquals(stage.changes, ["modify tags"]);
    assertEquals((await stage.database("second")).tags[TAG.uid], (await stage.get("second"))?.metadata.uid);
    await stage.create("third", { providerId: id, connectionSecretRef: undefined });
    await stage.says("third", "Conflict");
    await stage.remove("third");
    await stage.gone("third");
    await stage.quiet();
    assertEquals(stage.changes, ["modify tags"]);

    await stage.edit("second", { sizeGb: 20, deletionPolicy: "Delete", paused: true });
    await stage.remove("second");
    await stage.says("second", "Paused"); // and so does its deletion
    await stage.quiet();
    assertEquals((await stage.databases()).length, 1);
    await stage.edit("second", { paused: false });
    await stage.gone("second");
    assertEquals(await stage.databases(), []);
  });

  test("A2, A4: credentials of another account change nothing; a stripped finalizer and a wiped status come back by lookup", async (stage) => {
    await stage.create("orders");
    const { status } = await stage.ready("orders");
    stage.changes = [];
    stage.account = stage.ground.other;
    await stage.says("orders", "Conflict");
    await stage.remove("orders"); // nor does its deletion
    await stage.quiet();
    assert(await stage.get("orders") !== undefined);
    assertEquals([(await stage.databases()).length, stage.changes.length], [1, 0]);
    stage.account = stage.ground.provider;
    await stage.gone("orders");
    assertEquals(await stage.databases(), []);
    assertNotEquals(status?.account, undefined);

    await stage.create("wiped");
    const { status: had } = await stage.ready("wiped");
    stage.changes = [];
    await stage.ask("PATCH", `${AT}/wiped/status`, { status: null });
    await stage.ask("PATCH", `${AT}/wiped`, { metadata: { finalizers: null } });
    await stage.until("id and finalizer are back", async () => {
      const { metadata, status } = (await stage.get("wiped"))!;
      return status?.providerId === had?.providerId && metadata.finalizers?.includes(FINALIZER) === true;
    });
    await stage.ready("wiped");
    assertEquals(stage.changes.filter((change) => change !== "modify password"), []);
    assertEquals(await stage.logsIn("wiped"), true);
    await stage.remove("wiped");
    await stage.gone("wiped");
  });

  test("D2, D5: what was refused goes at once; what is protected waits and says so, until the protection is lifted", async (stage) => {
    await stage.create("wrong", { version: "9.6" });
    await stage.until(
      "the refusal",
      async () => (await stage.condition("wrong", "Ready")) === "False/CreateFailed",
    );
    await stage.remove("wrong");
    await stage.gone("wrong");
    assertEquals(await stage.databases(), []);

    await stage.create("kept", { deletionProtection: true });
    await stage.until(
      "kept to be Ready",
      async () => await stage.condition("kept", "Ready") === "True/Available",
    );
    await stage.remove("kept");
    await stage.says("kept", "DeletionProtected");
    await stage.quiet();
    assertEquals((await stage.databases()).length, 1);
    assertEquals(await stage.logsIn("kept"), true);
    await stage.edit("kept", { deletionProtection: false });
    await stage.gone("kept");

    // Deleted while it is made.
    await stage.create("brief");
    await stage.until(
      "it is begun",
      async () => (await stage.get("brief"))?.metadata.finalizers !== undefined,
    );
    await stage.remove("brief");
    await stage.gone("brief");
    assertEquals(await stage.databases(), []);
  });

  test("R4, R5, R6: a change is sent once, what the provider spells otherwise is no difference, another engine is refused", async (stage) => {
    await stage.create("orders", { engine: "Postgres", version: stage.ground.version.split(".")[0]! });
    await stage.ready("orders");
    stage.changes = [];
    await stage.quiet();
    const { metadata } = (await stage.get("orders"))!;
    await stage.quiet();
    assertEquals(
      (await stage.get("orders"))?.metadata.resourceVersion,
      metadata.resourceVersion,
      "no write in silence",
    );
    await stage.edit("orders", { sizeGb: 40 });
    await stage.until("40 GiB", async () => (await stage.database("orders")).sizeGb === 40);
    await stage.ready("orders");
    await stage.quiet();
    assertEquals(stage.changes, ["modify sizeGb"]);
    const refused = await stage.edit("orders", { engine: "mysql" }).then(
      () => "",
      (error: Error) => error.message,
    );
    assertStringIncludes(refused, "engine");
    // A rotation in which the resource is deleted.
    await stage.ask("PATCH", `${AT}/orders`, {
      metadata: { annotations: { [ANNOTATION.rotatePassword]: "1" } },
    });
    await stage.remove("orders");
    await stage.gone("orders");
    assertEquals(await stage.databases(), []);
  });
}
