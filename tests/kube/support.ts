/** What the tests of src/kube share. @module */
import { systemClock } from "../../src/core/clock.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { LogFields, Logger } from "../../src/core/log.ts";
import { type Metrics, noMetrics } from "../../src/core/metrics.ts";
import { seededRandom } from "../../src/core/random.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { createCluster } from "../../src/kube/client.ts";
import type { ClusterConfig } from "../../src/kube/config.ts";
import { type Credentials, staticCredentials } from "../../src/kube/credentials.ts";
import type { Cluster } from "../../src/kube/port.ts";
import { Reflector, type ReflectorOptions } from "../../src/kube/reflector.ts";
import { Transport, type TransportOptions } from "../../src/kube/transport.ts";
import { LoopbackApi } from "./loopback_api.ts";

/** A configuration for a server on loopback. */
export function loopbackConfig(
  server: string,
  credentials: Credentials = staticCredentials({}),
): ClusterConfig {
  return {
    source: "test",
    server,
    namespace: undefined,
    inCluster: false,
    proxyUrl: undefined,
    skipTlsVerify: false,
    readTls: () => Promise.resolve({}),
    credentials,
  };
}

/** A logger that keeps its lines. */
export function keepingLogger(): Logger & {
  readonly lines: { level: string; message: string; fields: LogFields }[];
} {
  const lines: { level: string; message: string; fields: LogFields }[] = [];
  return { lines, log: (level, message, fields = {}) => lines.push({ level, message, fields }) };
}

/** Metrics that keep request codes and restarts. */
export function keepingMetrics(): Metrics & { readonly codes: string[]; readonly restarts: string[] } {
  const codes: string[] = [], restarts: string[] = [];
  return {
    ...noMetrics,
    codes,
    restarts,
    kubeRequest: (verb, code) => codes.push(`${verb} ${code}`),
    watchRestart: (cause) => restarts.push(cause),
  };
}

/** A transport to a loopback API, for the length of `run`; afterwards all is closed. */
export async function withApi(
  run: (api: LoopbackApi, cluster: Cluster, transport: Transport) => Promise<void>,
  options: Partial<TransportOptions> & { readonly credentials?: Credentials } = {},
): Promise<void> {
  const api = new LoopbackApi();
  const { credentials, ...rest } = options;
  const transport = new Transport({
    config: loopbackConfig(api.url, credentials),
    clock: systemClock,
    ...rest,
  });
  try {
    await run(api, createCluster(transport), transport);
  } finally {
    transport.close();
    await api.close();
  }
}

/** What a handler was told, as `+name@version` and `-name@uid`. */
export interface Told {
  readonly all: string[];
  readonly upserts: ExternalDatabase[];
  readonly gone: ExternalDatabase[];
  synced: number;
}

/** A reflector with scaled-down times that keeps what it tells; `stop` ends it and waits for its end. */
export function startReflector(
  cluster: Cluster,
  options: Partial<ReflectorOptions> = {},
  clock: Clock = systemClock,
) {
  const told: Told = { all: [], upserts: [], gone: [], synced: 0 };
  const log = keepingLogger(), metrics = keepingMetrics();
  const reflector = new Reflector({
    cluster,
    clock,
    random: seededRandom(7),
    log,
    metrics,
    watchTimeoutSeconds: 60,
    backoffBaseMs: 20,
    backoffCapMs: 100,
    handler: {
      onUpsert(object, lost) {
        told.upserts.push(object);
        const instead = lost === undefined ? "" : ` not ${lost}`;
        told.all.push(`+${object.metadata.name}@${object.metadata.resourceVersion}${instead}`);
      },
      onGone(object) {
        told.gone.push(object);
        told.all.push(`-${object.metadata.name}@${object.metadata.uid}`);
      },
      onSynced: () => told.synced++,
    },
    ...options,
  });
  const stopping = new AbortController();
  let ended = false;
  const running = reflector.run(stopping.signal).then(() => ended = true);
  return {
    reflector,
    told,
    log,
    metrics,
    running,
    get ended() {
      return ended;
    },
    abort: () => stopping.abort(new Error("stopping")),
    async stop() {
      stopping.abort(new Error("stopping"));
      await running;
    },
  };
}
