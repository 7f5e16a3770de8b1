/** What the tests of src/kube on a real API server share. @module */
import { systemClock } from "../../src/core/clock.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { systemRandom } from "../../src/core/random.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { createCluster } from "../../src/kube/client.ts";
import { loadClusterConfig } from "../../src/kube/config.ts";
import type { Cluster } from "../../src/kube/port.ts";
import { Reflector, type ReflectorOptions } from "../../src/kube/reflector.ts";
import { Transport, type TransportOptions } from "../../src/kube/transport.ts";

/** A signal that never aborts. */
export const never = new AbortController().signal;

/** A transport and a cluster by a kubeconfig, closed at the end of `run`. */
export async function withCluster(
  kubeconfig: string,
  run: (cluster: Cluster, transport: Transport) => Promise<void>,
  options: Partial<TransportOptions> = {},
): Promise<void> {
  const config = await loadClusterConfig({ clock: systemClock, kubeconfig, env: () => undefined });
  const transport = new Transport({ config, clock: systemClock, ...options });
  try {
    await run(createCluster(transport), transport);
  } finally {
    transport.close();
  }
}

/** A reflector that keeps what it tells, as `+name` and `-name`. */
export function watchAll(cluster: Cluster, options: Partial<ReflectorOptions> = {}) {
  const told: string[] = [], newest = new Map<string, ExternalDatabase>(), lines: string[] = [];
  let synced = 0, restarts = 0;
  const reflector = new Reflector({
    cluster,
    clock: systemClock,
    random: systemRandom,
    log: { log: (_level, message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`) },
    metrics: { ...noMetrics, watchRestart: () => restarts++ },
    handler: {
      onUpsert(object) {
        told.push(`+${object.metadata.name}`);
        newest.set(object.metadata.name, object);
      },
      onGone: (object) => told.push(`-${object.metadata.name}`),
      onSynced: () => synced++,
    },
    ...options,
  });
  const stopping = new AbortController();
  const running = reflector.run(stopping.signal);
  return {
    reflector,
    told,
    newest,
    lines,
    synced: () => synced,
    restarts: () => restarts,
    async stop() {
      stopping.abort(new Error("stopping"));
      await running;
    },
  };
}

/** A TCP proxy on loopback that can drop everything on the connections it has, without closing them, and still take new ones. */
export class DeafProxy {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #conns: Deno.Conn[] = [];
  readonly #running: Promise<void>;
  #generation = 0;

  constructor(readonly port: number) {
    this.#running = this.#serve();
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#listener.addr as Deno.NetAddr).port}`;
  }

  /** From now on nothing passes on the connections that are open. */
  deafen(): void {
    this.#generation++;
  }

  async close(): Promise<void> {
    this.#listener.close();
    for (const conn of this.#conns) {
      try {
        conn.close();
      } catch { /* closed already */ }
    }
    await this.#running;
  }

  async #serve(): Promise<void> {
    const pumps: Promise<void>[] = [];
    try {
      for await (const client of this.#listener) {
        const server = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
        const generation = this.#generation;
        this.#conns.push(client, server);
        pumps.push(this.#pump(client, server, generation), this.#pump(server, client, generation));
      }
    } catch { /* closed */ }
    await Promise.all(pumps);
  }

  async #pump(from: Deno.Conn, to: Deno.Conn, generation: number): Promise<void> {
    const bytes = new Uint8Array(65_536);
    try {
      for (let n = await from.read(bytes); n !== null; n = await from.read(bytes)) {
        for (let at = 0; at < n && generation === this.#generation;) {
          at += await to.write(bytes.subarray(at, n));
        }
      }
    } catch { /* closed at either end */ }
  }
}
