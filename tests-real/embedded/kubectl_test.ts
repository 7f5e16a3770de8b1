import { assertEquals } from "@std/assert";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { EDITOR, type Kubectl, kubectlTranscript } from "../../tests/contract/kube/kubectl_suite.ts";
import { sharedKube } from "../support/kube.ts";

Deno.test("kubectl says the same against the embedded API and a real API server", async () => {
  const kube = await sharedKube();
  const served = await serveEmbeddedApi({ token: "demo" });
  const config = await Deno.makeTempFile({ suffix: ".kubeconfig" });
  try {
    await Deno.writeTextFile(config, served.kubeconfig());
    const against = (kubeconfig: string): Kubectl => (args, stdin) =>
      kube.kubectlWith(
        { kubeconfig, timeoutMs: 120_000, ...(stdin === undefined ? {} : { stdin }) },
        ...args,
      );
    Deno.env.set("KUBE_EDITOR", EDITOR);
    const real = await kubectlTranscript(against(kube.kubeconfig));
    const embedded = await kubectlTranscript(against(config));
    for (const [i, step] of real.entries()) assertEquals(embedded[i], step, `kubectl ${step.command}`);
    assertEquals(real.find((step) => step.command.startsWith("get crd"))?.code, 0);
  } finally {
    await served.close();
    await Deno.remove(config);
    kube.close();
  }
});
