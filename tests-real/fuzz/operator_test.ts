/**
 * Random resources through the real API server and the operator.
 *
 * @module
 */
import * as fc from "fast-check";
import { systemClock } from "../../src/core/clock.ts";
import { loadClusterConfig } from "../../src/kube/config.ts";
import { Transport } from "../../src/kube/transport.ts";
import { live, OFFERED } from "../../tests/fuzz/batch.ts";
import { patches, resources } from "../../tests/fuzz/manifests.ts";
import { type FuzzApi, startFuzzRig } from "../../tests/fuzz/rig.ts";
import { parameters } from "../../tests/fuzz/settings.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, type Kube, sharedKube } from "../support/kube.ts";

async function realApi(kube: Kube): Promise<FuzzApi> {
  const config = await loadClusterConfig({ kubeconfig: kube.kubeconfig, clock: systemClock });
  return {
    namespace: await freshNamespace(kube, "fuzz"),
    fetch: (path, init) => kube.fetch(path, init),
    transport: new Transport({ config, clock: systemClock }),
    close: () => {},
  };
}

Deno.test("Whatever resource the real API server takes becomes usable or says what is wrong, and leaves nothing behind", async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  try {
    await fc.assert(
      fc.asyncProperty(resources, patches, fc.boolean(), async (objects, patches, picky) => {
        const rig = await startFuzzRig(await realApi(kube), picky ? OFFERED : null);
        try {
          await live(rig, objects, patches);
        } finally {
          await rig.close();
        }
      }),
      parameters(3, 60_000),
    );
  } finally {
    kube.close();
  }
});
