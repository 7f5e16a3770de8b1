import { assertEquals } from "@std/assert";
import { eventually } from "../../tests/support/eventually.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, manifest, read, startRig } from "../support/operator.ts";

Deno.test("a resource is created, becomes Available, grows, is upgraded, is repaired and is deleted", async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube);
  const rig = await startRig(kube, { namespaces: [ns] });
  try {
    await apply(kube, manifest(ns, "orders"));
    await eventually(
      "orders is Available",
      async () => conditionOf(await read(kube, ns, "orders"), "Ready") === "True/Available",
    );
    const created = await read(kube, ns, "orders");
    const id = created?.status?.providerId ?? "";
    assertEquals(created?.status?.state, "Available");
    assertEquals(rig.cloud.get(id)?.sizeGb, 20);
    await apply(kube, manifest(ns, "orders", { sizeGb: 50 }));
    await eventually("it grew", async () => {
      const cr = await read(kube, ns, "orders");
      return cr?.status?.observed?.sizeGb === 50 && conditionOf(cr, "Synced") === "True/Available";
    });
    await apply(kube, manifest(ns, "orders", { sizeGb: 50, version: "15" }));
    await eventually("it was upgraded", async () => {
      const cr = await read(kube, ns, "orders");
      return cr?.status?.observed?.version === "15" && conditionOf(cr, "Synced") === "True/Available";
    });
    rig.cloud.edit(id, { sizeGb: 30 });
    await eventually("drift is repaired", () => rig.cloud.get(id)?.sizeGb === 50);
    await kube.kubectl("-n", ns, "delete", "edb", "orders", "--wait=false");
    await eventually("it is gone", async () => await read(kube, ns, "orders") === undefined);
    assertEquals([...rig.cloud.liveByUid().keys()], []);
  } finally {
    await rig.stop();
  }
});
