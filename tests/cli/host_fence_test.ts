/**
 * Rule 21, H1: what `start` wires together sends nothing to the provider without its lease.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { hostOperator } from "../../src/cli/host.ts";
import { sampleDatabases } from "../../src/cli/samples.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { loadClusterConfig } from "../../src/kube/config.ts";
import { type DatabaseProvider, ProviderError } from "../../src/providers/port.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SAMPLES = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";

Deno.test("rule 21: a create that is due when the lease has run out is not sent, and the process ends", async () => {
  const served = await serveEmbeddedApi();
  const directory = await Deno.makeTempDir();
  let skippedMs = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + skippedMs,
    monotonic: () => systemClock.monotonic() + skippedMs,
  };
  let sent = 0, refused = 0;
  const nothing = () => Promise.reject(new ProviderError("absent", "There is nothing"));
  const provider: DatabaseProvider = {
    name: "frozen",
    info: () =>
      Promise.resolve({ account: "a", clientTokens: true, readLagSeconds: 0, effectBoundSeconds: 1 }),
    get: nothing,
    list: () => Promise.resolve({ items: [] }),
    create: (_request, { beforeSend }) => {
      skippedMs += 60_000; // the process was frozen between the decision and the socket
      try {
        beforeSend?.();
        sent++;
      } catch (error) {
        refused++;
        return Promise.reject(error);
      }
      return Promise.reject(new ProviderError("retryable", "Not now"));
    },
    modify: nothing,
    delete: nothing,
  };
  const post = async (path: string, object: unknown) => {
    const body = JSON.stringify(object);
    const answer = await fetch(new URL(path, served.url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    assert(answer.ok, await answer.text());
    await answer.body?.cancel().catch(() => {});
  };
  const stop = new AbortController();
  const limit = setTimeout(() => stop.abort(new Error("too late")), 30_000);
  try {
    await post(CRDS, customResourceDefinition());
    for (const sample of sampleDatabases(1)) await post(SAMPLES, sample);
    const kubeconfig = `${directory}/kubeconfig`;
    await Deno.writeTextFile(kubeconfig, served.kubeconfig());
    const config = await loadClusterConfig({ clock, kubeconfig, env: () => undefined });
    const running = hostOperator({
      config,
      provider,
      identity: "p1",
      listen: { hostname: "127.0.0.1", port: 0 },
      namespaces: [],
      pollIntervalMs: 300_000,
      cacheTtlMs: 300_000,
      concurrency: 4,
      rate: 0,
      callTimeoutMs: 1_000,
      lease: { namespace: "default", name: "operator" },
    }, { clock, random: seededRandom(1), log: { log: () => {} }, signal: stop.signal });
    await assertRejects(() => running, Error, "lease");
    assertEquals([sent, refused > 0], [0, true]);
  } finally {
    clearTimeout(limit);
    stop.abort();
    await served.close();
    await Deno.remove(directory, { recursive: true });
  }
});
