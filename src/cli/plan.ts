/**
 * `plan`: what the operator would do now, and why, without doing it.
 *
 * Nothing is changed: provider and cluster are reached through ports that can only read (`src/plan/read_only.ts`).
 *
 * @module
 */
import { type ExternalDatabase, keyText } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import { createClasses } from "../kube/classes.ts";
import { createCluster } from "../kube/client.ts";
import { type ClusterConfig, loadClusterConfig } from "../kube/config.ts";
import { type Cluster, KubeError } from "../kube/port.ts";
import { createSecrets } from "../kube/secrets.ts";
import { Transport } from "../kube/transport.ts";
import { Accounts } from "../plan/accounts.ts";
import { type Asked, Forecast } from "../plan/forecast.ts";
import { ForecastCluster } from "../plan/forecast_cluster.ts";
import { Applier, type Manifests, readManifests } from "../plan/manifests.ts";
import { planText } from "../plan/text.ts";
import type { Plan, PlannedAction, PlannedResource } from "../plan/types.ts";
import { createClassProvider } from "../providers/from_class.ts";
import { createProvider } from "../providers/registry.ts";
import type { Reason } from "../statechart/vocabulary.ts";
import type { PlanOptions } from "./plan_options.ts";

/** What comes from outside. */
export interface PlanEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Prints. */
  readonly say: (text: string) => Promise<void>;
  /** Whether what is printed is seen by a person at a terminal. */
  readonly terminal: boolean;
  readonly readFile?: (path: string) => Promise<string>;
  /** Reads an environment variable. @default Deno.env.get */
  readonly env?: (name: string) => string | undefined;
}

/** Exit code where nothing would be done. */
export const EXIT_NOTHING = 0;
/** Exit code where a manifest is invalid, or a provider did not answer; as where the plan cannot be made. */
export const EXIT_INVALID = 1;
/** Exit code where something would be done. */
export const EXIT_CHANGES = 2;

/** Reasons for which nobody knows what would be done. */
const SILENT: ReadonlySet<string> = new Set<Reason>(["ProviderUnavailable", "Throttled", "Unauthorised"]);

/** Objects a page of a list of the cluster. */
const PAGE = 500;

/** Prints the plan and resolves with the exit code. Rejects where it cannot be made. */
export async function runPlan(options: PlanOptions, environment: PlanEnvironment): Promise<number> {
  const plan = await makePlan(options, environment);
  const text = options.output === "json"
    ? `${JSON.stringify(plan, null, 2)}\n`
    : planText(plan, environment.terminal);
  await environment.say(text);
  const unknown = ({ outcome, reason }: PlannedResource) =>
    outcome === "invalid" || outcome === "cannot" && SILENT.has(reason);
  if (plan.resources.some(unknown)) return EXIT_INVALID;
  return plan.resources.some((r) => r.outcome === "change") ? EXIT_CHANGES : EXIT_NOTHING;
}

/** Makes the plan. */
async function makePlan(options: PlanOptions, environment: PlanEnvironment): Promise<Plan> {
  const { clock, random, signal, env = (name: string) => Deno.env.get(name) } = environment;
  const { start } = options;
  const config = await findCluster(options, clock, env);
  const transport = config && new Transport({ config, clock });
  try {
    const cluster = transport && createCluster(transport);
    const { manifests, skipped } = await readFiles(options, config, environment);
    const clusterId = start.clusterId ?? await cluster?.clusterId({ signal }) ?? "none";
    let forecast: Forecast | undefined;
    const tell = (action: PlannedAction) => forecast?.tell(action);
    const accounts = new Accounts({
      clock,
      provider: createProvider(start.provider, {
        clock,
        random,
        cloudUrl: start.cloudUrl,
        cloudTokenFile: start.cloudTokenFile,
        postgresUrlFile: start.postgresUrlFile,
        awsRegion: start.awsRegion,
        awsEndpointUrl: start.awsEndpointUrl,
        awsParametersFile: start.awsParametersFile,
        awsCredentialsFile: start.awsCredentialsFile,
        localFolder: start.localFolder,
        timeoutMs: start.callTimeoutMs,
        caller: "plan",
        look: true,
      }),
      provide: (request) => {
        return createClassProvider(request, {
          clock,
          random,
          timeoutMs: start.callTimeoutMs,
          caller: "plan",
          look: true,
        });
      },
      classes: transport && createClasses(transport),
      ownNamespace: env("POD_NAMESPACE") || config?.namespace || "default",
      callTimeoutMs: start.callTimeoutMs,
      concurrency: start.concurrency,
      ratePerSecond: start.rate,
      clusterId,
      tell,
      signal,
    });
    try {
      await accounts.readClasses();
      const inCluster = options.all && cluster !== undefined
        ? await listAll(cluster, start.namespaces, signal)
        : [];
      const { asked, invalid } = await applied(manifests, inCluster, cluster, environment);
      forecast = new Forecast({
        clock,
        random,
        log: { log: () => {} },
        cluster: new ForecastCluster({
          cluster,
          secrets: transport && createSecrets(transport),
          clusterId,
          tell,
        }),
        accounts,
        clusterId,
        pollIntervalMs: start.pollIntervalMs,
        signal,
      });
      const planned = [...await forecast.plan(asked.toSorted(byName)), ...invalid];
      const { info, error } = await accounts.flags();
      return {
        formatVersion: 1,
        provider: { name: start.provider, account: info?.account ?? null, error: error?.message ?? null },
        cluster: config?.source ?? null,
        skipped,
        resources: planned.toSorted((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name)),
      };
    } finally {
      await accounts.close();
    }
  } finally {
    transport?.close();
  }
}

/** The cluster that flags and environment name; none is needed where manifests are given and none is named. */
async function findCluster(
  { start, files, all }: PlanOptions,
  clock: Clock,
  env: (name: string) => string | undefined,
): Promise<ClusterConfig | undefined> {
  const named = start.kubeconfig ?? start.context ?? env("KUBECONFIG") ?? env("KUBERNETES_SERVICE_HOST");
  if (!named && files.length > 0 && !all) return undefined;
  return await loadClusterConfig({ clock, kubeconfig: start.kubeconfig, context: start.context, env });
}

async function readFiles(
  { files, start }: PlanOptions,
  config: ClusterConfig | undefined,
  { readFile = readPath }: PlanEnvironment,
): Promise<Manifests> {
  const namespace = start.namespaces[0] ?? config?.namespace ?? "default";
  const read: Manifests[] = [];
  for (const file of files) {
    const text = await readFile(file).catch((cause: unknown) => {
      throw new Error(`Reading the manifests of --file ${JSON.stringify(file)}`, { cause });
    });
    read.push(readManifests(text, file, namespace));
  }
  const manifests = read.flatMap((r) => r.manifests);
  const seen = new Set<string>();
  for (const manifest of manifests) {
    const key = keyText(manifest);
    if (seen.has(key)) throw new Error(`Two manifests are of ${JSON.stringify(key)}: leave one of them out`);
    seen.add(key);
  }
  return { manifests, skipped: read.reduce((sum, r) => sum + r.skipped, 0) };
}

async function readPath(path: string): Promise<string> {
  return path === "-" ? await new Response(Deno.stdin.readable).text() : await Deno.readTextFile(path);
}

async function listAll(
  cluster: Cluster,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<ExternalDatabase[]> {
  const objects: ExternalDatabase[] = [];
  for (const namespace of namespaces.length === 0 ? [undefined] : namespaces) {
    let continueToken: string | undefined;
    do {
      const page = await cluster.list({ namespace, limit: PAGE, continueToken, signal });
      objects.push(...page.items);
      continueToken = page.continueToken;
    } while (continueToken !== undefined);
  }
  return objects;
}

/** The resources as they would be with the manifests applied, and the manifests that cannot be. */
async function applied(
  manifests: Manifests["manifests"],
  inCluster: readonly ExternalDatabase[],
  cluster: Cluster | undefined,
  { clock, random, signal }: PlanEnvironment,
): Promise<{ readonly asked: Asked[]; readonly invalid: PlannedResource[] }> {
  const asked = new Map<string, Asked>(
    inCluster.map((object) => [keyText(object.metadata), { object, from: "cluster", live: true }]),
  );
  if (manifests.length === 0) return { asked: [...asked.values()], invalid: [] };
  const invalid: PlannedResource[] = [];
  const applier = new Applier({ clock, random });
  try {
    for (const manifest of manifests) {
      const { namespace, name, file } = manifest;
      const live = asked.get(keyText(manifest))?.object ?? await find(cluster, manifest, signal);
      const result = await applier.apply(manifest, live);
      if (result.refused === undefined) {
        asked.set(keyText(manifest), { object: result.object, from: file, live: live !== undefined });
        continue;
      }
      asked.delete(keyText(manifest));
      invalid.push({
        namespace,
        name,
        uid: live?.metadata.uid ?? null,
        class: null,
        from: file,
        outcome: "invalid",
        actions: [],
        reason: "Invalid",
        message: result.refused,
      });
    }
  } finally {
    applier.close();
  }
  return { asked: [...asked.values()], invalid };
}

async function find(
  cluster: Cluster | undefined,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<ExternalDatabase | undefined> {
  try {
    return await cluster?.get({ namespace, name }, { signal });
  } catch (error) {
    if (error instanceof KubeError && error.kind === "notFound") return undefined;
    throw error;
  }
}

function byName({ object: a }: Asked, { object: b }: Asked): number {
  return compare(a.metadata.namespace, b.metadata.namespace) || compare(a.metadata.name, b.metadata.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
