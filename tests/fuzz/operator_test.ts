/**
 * Random resources through the embedded API and the operator.
 *
 * @module
 */
import * as fc from "fast-check";
import { API_VERSION, KIND } from "../../src/api/constants.ts";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { live, OFFERED } from "./batch.ts";
import { mixedSpec, patches, resources } from "./manifests.ts";
import { embeddedApi, type Engines, type FuzzRig, startFuzzRig } from "./rig.ts";
import { parameters } from "./settings.ts";
import { HOSTILE } from "./values.ts";

/** Runs one batch in a world of its own, so that what fails can be made smaller. */
async function inRig(crd: unknown, engines: Engines, batch: (rig: FuzzRig) => Promise<void>): Promise<void> {
  const rig = await startFuzzRig(await embeddedApi(crd), engines);
  try {
    await batch(rig);
  } finally {
    await rig.close();
  }
}

for (const [words, engines] of [["takes any engine", null], ["offers two engines", OFFERED]] as const) {
  Deno.test(`Whatever resource the API takes becomes usable or says what is wrong, and leaves nothing in a cloud that ${words}`, async () => {
    await fc.assert(
      fc.asyncProperty(
        resources,
        patches,
        (objects, patches) =>
          inRig(customResourceDefinition(), engines, (rig) => live(rig, objects, patches)),
      ),
      parameters(3, 60_000),
    );
  });
}

Deno.test("A resource of any shape that an older schema let in crashes nothing and is told by its field", async () => {
  const loose = structuredClone(customResourceDefinition()) as {
    spec: { versions: { schema: { openAPIV3Schema: unknown } }[] };
  };
  loose.spec.versions[0]!.schema.openAPIV3Schema = {
    type: "object",
    properties: {
      spec: { "x-kubernetes-preserve-unknown-fields": true },
      status: { type: "object", default: {}, "x-kubernetes-preserve-unknown-fields": true },
    },
    "x-kubernetes-preserve-unknown-fields": true,
  };
  const text = fc.constantFrom(...HOSTILE);
  const spec = fc.oneof(
    mixedSpec,
    fc.record({ engine: text, version: text, sizeGb: fc.oneof(text, fc.integer()), providerId: text }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(spec, { minLength: 1, maxLength: 60, size: "max" }), async (specs) => {
      const objects = specs.map((spec, i) => ({
        apiVersion: API_VERSION,
        kind: KIND,
        metadata: { name: `loose-${i}` },
        spec,
      }));
      await inRig(loose, null, (rig) => live(rig, objects, []));
    }),
    parameters(4, 60_000),
  );
});
