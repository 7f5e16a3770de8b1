/** Outages of a real API server: killed, frozen, and its CRD removed. @module */
import { assert, assertEquals } from "@std/assert";
import { CRD_NAME } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { applyResource, installCrd } from "../support/crd.ts";
import { startKube } from "../support/kube.ts";
import { backgroundPid } from "../support/process.ts";
import { DeafProxy, never, watchAll, withCluster } from "./support.ts";

Deno.test("W2, W6, W9: the reflector gets over an API server that is killed, one that is frozen, and a CRD that goes and comes", async (t) => {
  const kube = await startKube();
  try {
    await installCrd(kube);
    for (const name of ["a", "b", "c"]) await applyResource(kube, "default", name);
    await withCluster(kube.kubeconfig, async (cluster) => {
      const key = { namespace: "default", name: "a" };
      const r = watchAll(cluster, { backoffCapMs: 2_000, watchTimeoutSeconds: 8, idleMarginMs: 500 });
      await eventually("the list", () => r.reflector.synced);

      await t.step("W6: killed and started again with a change", async () => {
        await kube.killApiServer();
        await eventually("the reason", () => r.reflector.reason !== undefined);
        const error = await cluster.get(key, { signal: never }).catch((error) => error);
        assert(error instanceof KubeError && error.kind === "network", String(error));
        await kube.startApiServer();
        const told = r.told.length;
        await applyResource(kube, "default", "b", { engine: "postgres", version: "14.2", sizeGb: 30 });
        await eventually("the change", () => r.newest.get("b")?.spec.sizeGb === 30);
        assertEquals(r.told.slice(told), ["+b"], "what did not change is not told");
        await eventually("contact", () => r.reflector.reason === undefined);
      });

      await t.step("W2: frozen, its connection still open", async () => {
        const pid = await backgroundPid(kube.dir, "kube-apiserver");
        assert(pid);
        Deno.kill(pid, "SIGSTOP");
        try {
          const error = await cluster.get(key, { signal: never }).catch((error) => error);
          assert(error instanceof KubeError && error.kind === "timeout", String(error));
          await eventually("silence is noticed", () => r.reflector.reason !== undefined, 15_000);
        } finally {
          Deno.kill(pid, "SIGCONT");
        }
        await applyResource(kube, "default", "d");
        await eventually("the object created after it", () => r.newest.has("d"), 15_000);
        assertEquals((await cluster.get(key, { signal: never })).metadata.name, "a");
      });

      await t.step("W2: a connection that died without a reset is given up after one deadline", async () => {
        const proxy = new DeafProxy(Number(new URL(kube.url).port));
        const file = `${kube.dir}/proxied.kubeconfig`;
        await Deno.writeTextFile(
          file,
          (await Deno.readTextFile(kube.kubeconfig)).replace(kube.url, proxy.url),
        );
        try {
          await withCluster(file, async (proxied) => {
            const follower = watchAll(proxied, {
              backoffCapMs: 500,
              watchTimeoutSeconds: 3,
              idleMarginMs: 200,
            });
            await eventually("the list", () => follower.reflector.synced);
            proxy.deafen();
            await applyResource(kube, "default", "e");
            const error = await proxied.get(key, { signal: never }).catch((error) => error);
            assert(error instanceof KubeError && error.kind === "timeout", String(error));
            assertEquals((await proxied.get(key, { signal: never })).metadata.name, "a");
            await eventually("the object created meanwhile", () => follower.newest.has("e"));
            await follower.stop();
          }, { deadlineMs: 1_500 });
        } finally {
          await proxy.close();
        }
        await kube.kubectl("delete", "externaldatabase", "e");
        await eventually("the deletion", () => r.told.at(-1) === "-e");
      });

      await t.step("W9: the CRD is deleted and created again", async () => {
        const ids = r.reflector.size;
        assertEquals(ids, 4);
        assertEquals(await cluster.crdState({ signal: never }), "established");
        await kube.kubectl("delete", "crd", CRD_NAME);
        await eventually(
          "not installed",
          () => r.reflector.reason === `the CRD ${CRD_NAME} is not installed`,
          15_000,
        );
        assertEquals([r.reflector.synced, await cluster.crdState({ signal: never })], [false, "missing"]);
        await installCrd(kube);
        await applyResource(kube, "default", "a");
        await eventually("synced again", () => r.reflector.synced && r.reflector.size === 1, 15_000);
        assertEquals(r.synced(), 2);
      });
      await r.stop();
    }, { deadlineMs: 3_000 });
  } finally {
    await kube.stop();
  }
});
