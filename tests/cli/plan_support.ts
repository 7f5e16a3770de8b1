/** A cluster with resources in any state, and a cloud with their databases, for plans that look at both. @module */
import { assert } from "@std/assert";
import { API_VERSION, FINALIZER, KIND, OPERATOR_NAME, TAG } from "../../src/api/constants.ts";
import { customResourceDefinition } from "../../src/api/crd.ts";
import type { ExternalDatabaseSpec, ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { parseCommandLine } from "../../src/cli/flags.ts";
import { runPlan } from "../../src/cli/plan.ts";
import { systemClock } from "../../src/core/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { type ServedApi, serveEmbeddedApi } from "../../src/embedded/serve.ts";
import type { Plan, PlannedResource } from "../../src/plan/types.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import type { CloudRecord } from "../../src/providers/simulated/types.ts";

const AT = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";
/** What a resource asks for unless a test says otherwise. */
export const SPEC: ExternalDatabaseSpec = { engine: "postgres", version: "14.2", sizeGb: 20 };

/** How a run of `plan` ended. */
export interface Planned {
  readonly code: number;
  readonly text: string;
}

/** A resource as it is put into the cluster. */
export interface Put {
  readonly spec?: Partial<ExternalDatabaseSpec>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Its database at the cloud; `false`: the status names one that is gone. @default it has none */
  readonly database?: Partial<CloudRecord> | false;
  readonly status?: Partial<ExternalDatabaseStatus>;
  readonly deleted?: boolean;
}

/** Cluster and cloud. */
export class Stage {
  private constructor(
    readonly served: ServedApi,
    readonly cloud: SimulatedCloud,
    readonly cloudUrl: string,
    readonly directory: string,
    readonly close: () => Promise<void>,
  ) {}

  static async open(): Promise<Stage> {
    const served = await serveEmbeddedApi();
    const cloud = new SimulatedCloud({
      clock: systemClock,
      random: systemRandom,
      latencyMs: 0,
      readLagMs: 0,
    });
    const server = serveCloud(cloud);
    const directory = await Deno.makeTempDir();
    const stage = new Stage(served, cloud, server.url, directory, async () => {
      await server.close();
      await served.close();
      await Deno.remove(directory, { recursive: true });
    });
    await Deno.writeTextFile(`${directory}/kubeconfig`, served.kubeconfig());
    await stage.api(
      "POST",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      customResourceDefinition(),
    );
    return stage;
  }

  /** One request of the API server; what it answers. */
  // deno-lint-ignore no-explicit-any
  async api(method: string, path: string, body?: unknown): Promise<any> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await fetch(this.served.url + path, {
      method,
      headers: { "content-type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = await answer.json();
    assert(answer.ok, JSON.stringify(json));
    return json;
  }

  /** Puts a resource in, as an operator has left it. Returns the id of its database. */
  async put(
    name: string,
    { spec, annotations, database, status, deleted }: Put = {},
  ): Promise<string | undefined> {
    const handled = database !== undefined || status !== undefined;
    const object = await this.api("POST", AT, {
      apiVersion: API_VERSION,
      kind: KIND,
      metadata: { name, annotations, finalizers: handled ? [FINALIZER] : [] },
      spec: { ...SPEC, ...spec },
    });
    let id: string | undefined;
    if (database !== undefined) {
      id = database === false ? `db-gone-${name}` : this.cloud.insert({
        name,
        sizeGb: SPEC.sizeGb,
        tags: this.tags(name, object.metadata.uid),
        ...database,
      }).id;
    }
    if (handled) {
      const condition = (type: string) => ({
        type,
        status: "True" as const,
        reason: "Available",
        message: "as before",
        observedGeneration: 1,
        lastTransitionTime: "2026-01-01T00:00:00Z",
      });
      const told: Partial<ExternalDatabaseStatus> = {
        state: "Available",
        account: "simulated",
        incarnation: 1,
        observedGeneration: 1,
        conditions: [condition("Ready"), condition("Synced")],
        ...(id === undefined ? {} : { providerId: id, endpoint: `${id}.db.example:5432` }),
        ...status,
      };
      await this.api("PATCH", `${AT}/${name}/status`, { status: told });
    }
    if (deleted) await this.api("DELETE", `${AT}/${name}`);
    return id;
  }

  /** The tags of a resource's database. */
  tags(name: string, uid: string): Record<string, string> {
    return {
      [TAG.crName]: name,
      [TAG.uid]: uid,
      [TAG.namespace]: "default",
      [TAG.cluster]: "cluster-1",
      [TAG.incarnation]: "1",
      [TAG.managedBy]: OPERATOR_NAME,
    };
  }

  /** Changes the spec of a resource. */
  async edit(name: string, spec: object): Promise<void> {
    await this.api("PATCH", `${AT}/${name}`, { spec });
  }

  /** Everything that a plan must leave as it is, as text. */
  async snapshot(): Promise<string> {
    const objects = await this.api("GET", AT);
    const secrets = await this.api("GET", "/api/v1/secrets");
    const events = await this.api("GET", "/apis/events.k8s.io/v1/events");
    return JSON.stringify([objects.items, secrets.items, events.items, this.cloud.databases()]);
  }

  /** Runs `plan` with these flags; fails where anything was changed. */
  async plan(flags: readonly string[] = [], terminal = false): Promise<Planned> {
    const before = await this.snapshot();
    const mark = this.cloud.ledger.mark();
    const planned = await plan(
      [
        ...["--kubeconfig", `${this.directory}/kubeconfig`, "--cluster-id", "cluster-1"],
        ...["--provider", "http", "--cloud-url", this.cloudUrl, ...flags],
      ],
      terminal,
    );
    assert(this.cloud.ledger.mutatingCalls(mark).length === 0, "a plan sent a change to the cloud");
    assert(await this.snapshot() === before, "a plan changed the cluster or the cloud");
    return planned;
  }

  /** The plan as JSON, and the exit code. */
  async json(flags: readonly string[] = []): Promise<{ readonly code: number; readonly plan: Plan }> {
    const { code, text } = await this.plan([...flags, "-o", "json"]);
    return { code, plan: JSON.parse(text) };
  }

  /** What the plan says of one resource. */
  async of(
    name: string,
    flags: readonly string[] = [],
  ): Promise<PlannedResource & { readonly code: number }> {
    const { code, plan } = await this.json(flags);
    const resource = plan.resources.find((r) => r.name === name);
    assert(resource !== undefined, `there is nothing of ${name} in ${JSON.stringify(plan)}`);
    return { ...resource, code };
  }

  /** Writes a file of manifests; its path. */
  async file(text: string, name = "manifests.yaml"): Promise<string> {
    const path = `${this.directory}/${name}`;
    await Deno.writeTextFile(path, text);
    return path;
  }
}

/** Runs `plan` without a stage. */
export async function plan(flags: readonly string[], terminal = false): Promise<Planned> {
  const invocation = await parseCommandLine(["plan", ...flags], { inPod: false, version: "0" });
  assert(invocation.command === "plan", JSON.stringify(invocation));
  let text = "";
  const code = await runPlan(invocation.options, {
    clock: systemClock,
    random: systemRandom,
    signal: new AbortController().signal,
    terminal,
    say: (more) => {
      text += more;
      return Promise.resolve();
    },
    env: () => undefined,
  });
  return { code, text };
}

/** Runs a test on a stage. */
export async function onStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await Stage.open();
  try {
    await work(stage);
  } finally {
    await stage.close();
  }
}
