import { assert, assertEquals } from "@std/assert";
import { alive, backgroundPid } from "./process.ts";
import { freshNamespace, sharedKube, startKube } from "./kube.ts";

Deno.test("A cluster of its own survives the death of its API server and of etcd, and leaves nothing behind", async () => {
  const kube = await startKube();
  const pids: number[] = [];
  try {
    const namespace = await freshNamespace(kube);
    for (const name of ["etcd", "kube-apiserver", "kube-controller-manager"]) {
      pids.push(await backgroundPid(kube.dir, name) ?? 0);
    }
    await kube.killApiServer();
    const refused = await kube.kubectl("get", "namespace", namespace);
    assertEquals(refused.code, 1);
    await kube.killEtcd();
    await kube.startEtcd();
    await kube.startApiServer();
    const found = await kube.kubectl("get", "namespace", namespace, "-o", "name");
    assertEquals(found.stdout.trim(), `namespace/${namespace}`);
    pids.push(await backgroundPid(kube.dir, "kube-apiserver") ?? 0);
  } finally {
    await kube.stop();
  }
  for (const pid of pids) assert(pid > 0 && !await alive(pid));
  assertEquals(await Deno.stat(kube.dir).catch(() => "gone"), "gone");
});

Deno.test("A deleted namespace goes away, and a service account's token is let in", async () => {
  const kube = await sharedKube();
  const namespace = await freshNamespace(kube);
  const token = await kube.kubectl("create", "token", "default", "-n", namespace);
  const gone = await kube.kubectl("delete", "namespace", namespace, "--timeout=30s");
  kube.close();
  assertEquals(token.code, 0, token.stderr);
  assertEquals(gone.code, 0, gone.stderr);
});
