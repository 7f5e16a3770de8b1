/**
 * The tutorial and the how-to pages work as they are written with the real kubectl too; those that need a cluster are in
 * `cluster_test.ts`.
 *
 * @module
 */
import { assert } from "@std/assert";
import { checkOut, runDocument, shellEnv, startDemo } from "../../tests/docs/run.ts";
import { read } from "../../tests/docs/support.ts";
import { kubeBinaries } from "../support/kube.ts";

Deno.test("docs/tutorial.md works as it is written with kubectl, and with node in place of Deno", async () => {
  const directory = await checkOut();
  const kubectl = (await kubeBinaries())["kubectl"]?.replace(/\/[^/]*$/, "") ?? "";
  try {
    const ran = await runDocument("docs/tutorial.md", await read("docs/tutorial.md"), {
      directory,
      env: shellEnv(kubectl),
      without: ["without kubectl"],
    });
    assert(ran > 10, `${ran} blocks were run`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("pages of docs/how-to work as they are written with kubectl", async (t) => {
  const directory = await checkOut();
  const kubectl = (await kubeBinaries())["kubectl"]?.replace(/\/[^/]*$/, "") ?? "";
  const env = { ...shellEnv(kubectl), KUBECONFIG: `${directory}/.demo/kubeconfig` };
  const demo = await startDemo(directory, env);
  try {
    for (
      const name of [
        ...["adopt", "retain", "snapshot", "rotate-password", "pause", "observe-only", "debug", "uninstall"],
      ]
    ) {
      await t.step(name, async () => {
        const path = `docs/how-to/${name}.md`;
        await runDocument(path, await read(path), { directory, env, without: ["in a cluster"] });
      });
    }
  } finally {
    await demo.end();
    await Deno.remove(directory, { recursive: true });
  }
});
