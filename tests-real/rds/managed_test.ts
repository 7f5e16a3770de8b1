import { assertEquals } from "@std/assert";
import { Stage } from "../behaviours/stage.ts";
import { emptyRds, providerAt } from "./support.ts";

Deno.test("With managedMasterPassword a life goes on without a Secret: RDS has a password of its own, and nobody sets another", async () => {
  const server = await emptyRds();
  const extra = { managedMasterPassword: true, effectBoundSeconds: 3, readLagSeconds: 0 };
  const provider = providerAt(server.url, { extra });
  await Stage.play({
    provider,
    other: provider,
    version: "16",
    snapshots: true,
    ...{ logsIn: never, drop: never, move: never, restore: never, backUp: never },
    close: async () => assertEquals(await server.instances(), []),
  }, async (stage) => {
    await stage.create("orders", { connectionSecretRef: undefined });
    await stage.ready("orders");
    assertEquals((await server.instances()).map(({ password }) => password), [null]);
    assertEquals(await stage.secret("orders-connection"), {});
    await stage.edit("orders", { sizeGb: 40 });
    await stage.until("40 GiB", async () => (await stage.database("orders")).sizeGb === 40);
    await stage.ready("orders");
    assertEquals(stage.changes, ["create", "modify sizeGb"]);

    // One that asks for a Secret is told why there can be none.
    await stage.create("asks");
    await stage.until(
      "it is told",
      async () => await stage.condition("asks", "Ready") === "False/SecretPending",
    );
    const [ready] = (await stage.get("asks"))!.status!.conditions!.filter(({ type }) => type === "Ready");
    assertEquals(ready?.message?.includes("sets no passwords"), true, ready?.message);
    assertEquals(await stage.secret("asks-connection"), {});
    for (const name of ["orders", "asks"]) await stage.remove(name);
    for (const name of ["orders", "asks"]) await stage.gone(name);
  });
});

function never(): Promise<never> {
  return Promise.reject(new Error("Not asked for here"));
}
