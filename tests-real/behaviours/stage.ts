/**
 * What the tests of behaviours on real databases share: the operator in this process, on an embedded Kubernetes API.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
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
  /** Whether final snapshots are taken. */
  readonly snapshots: boolean;
  /** Whether a client gets in with what a connection Secret says. */
  logsIn(secret: Readonly<Record<string, string>>, database: Database): Promise<boolean>;
  /** Somebody drops a database, behind the operator's back. */
  drop(database: Database): Promise<void>;
  /** A database has another address from now on. */
  move(database: Database): Promise<void>;
  /** The account, which is empty now, is shown as it is now: what was made since is gone. Resolves with what undoes that. */
  restore(): Promise<() => Promise<void>>;
  /** Remembers the account as it is now, for `restore`. */
  backUp(): Promise<void>;
  /** A database is moved to a newer minor version by whoever runs it. Missing: nobody can. */
  upgrade?(database: Database): Promise<void>;
  /** Ends it. Throws where anything is left. */
  close(): Promise<void>;
}

/** Calls without an end of their own. */
export const CALL = { signal: new AbortController().signal };
const PATIENCE_MS = 120_000;
/** Path of the resources. */
export const AT = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";
/** Path of the Secrets. */
export const SECRETS = "/api/v1/namespaces/default/secrets";

/** The operator over a ground. */
export class Stage {
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

  /** Plays on a ground, and ends both. */
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
