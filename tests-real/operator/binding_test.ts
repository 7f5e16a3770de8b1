/**
 * The connection Secret on a real API server (behaviours K1 to K4): written, watched, mended, rotated and let alone.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, type Kube, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, manifest, read, startRig } from "../support/operator.ts";

const NAME = "orders-connection";

/** What a Secret holds, decoded. */
async function secret(kube: Kube, ns: string, name = NAME): Promise<Record<string, string> | undefined> {
  const { code, stdout } = await kube.kubectl("-n", ns, "get", "secret", name, "-o=json");
  if (code !== 0) return undefined;
  const { data = {} } = JSON.parse(stdout) as { data?: Record<string, string> };
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, atob(value)]));
}

Deno.test("K1 to K4 on a real API server: the Secret is written, rebuilt, completed, rotated, moved and never foreign", async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube, "binding");
  const rig = await startRig(kube, { namespaces: [ns] });
  const ready = async () => {
    const cr = await read(kube, ns, "orders");
    return conditionOf(cr, "Ready") === "True/Available" && conditionOf(cr, "Synced") === "True/Available";
  };
  const logsIn = async (name = NAME) => {
    const id = (await read(kube, ns, "orders"))?.status?.providerId ?? "";
    return rig.cloud.loginWorks(id, (await secret(kube, ns, name))?.["password"] ?? "");
  };
  try {
    await apply(kube, manifest(ns, "orders", { connectionSecretRef: {} }));
    await eventually("orders is Available", ready);
    const first = await secret(kube, ns) ?? {};
    const { endpoint, binding } = (await read(kube, ns, "orders"))?.status ?? {};
    assertEquals(Object.keys(first).sort(), [
      ...["database", "host", "password", "port", "provider", "type", "uri", "username"],
    ]);
    assertEquals(first["uri"], `postgresql://dbadmin:${first["password"]}@${endpoint}/orders`);
    assertEquals(binding?.name, NAME);
    assert(await logsIn(), "the first password logs in");
    const owned = await kube.kubectl(
      ...["-n", ns, "get", "secret", NAME, "-o=jsonpath={.type} {.metadata.ownerReferences[0].name}"],
    );
    assertEquals(owned.stdout, "servicebinding.io/postgresql orders");

    await kube.kubectl("-n", ns, "delete", "secret", NAME);
    await eventually("K2: it is rebuilt", async () => await secret(kube, ns) !== undefined && await logsIn());
    await eventually("orders is Available again", ready);
    const second = await secret(kube, ns) ?? {};
    assertNotEquals(second["password"], first["password"]);

    const patch = JSON.stringify([{ op: "remove", path: "/data/host" }]);
    await kube.kubectl("-n", ns, "patch", "secret", NAME, "--type=json", "-p", patch);
    await eventually("K2: the key is back", async () => (await secret(kube, ns))?.["host"] !== undefined);
    assertEquals(await secret(kube, ns), second, "nothing else has changed");

    await kube.kubectl("-n", ns, "annotate", "edb", "orders", `${ANNOTATION.rotatePassword}=1`);
    await eventually(
      "the rotation is acknowledged",
      async () => (await read(kube, ns, "orders"))?.status?.binding?.rotation === "1",
    );
    await eventually("orders is Available after the rotation", ready);
    const third = await secret(kube, ns) ?? {};
    assertNotEquals(third["password"], second["password"]);
    assert(await logsIn(), "the rotated password logs in");

    await kube.kubectl("-n", ns, "create", "secret", "generic", "mine", "--from-literal=key=value");
    await apply(kube, manifest(ns, "orders", { connectionSecretRef: { name: "mine" } }));
    await eventually(
      "K2: the conflict is told",
      async () => conditionOf(await read(kube, ns, "orders"), "Ready") === "False/SecretConflict",
    );
    assertEquals(await secret(kube, ns, "mine"), { key: "value" });
    await apply(kube, manifest(ns, "orders", { connectionSecretRef: { name: "login" } }));
    await eventually(
      "it has moved",
      async () => await ready() && await secret(kube, ns, "login") !== undefined,
    );
    assertEquals(
      (await secret(kube, ns, "login"))?.["password"],
      third["password"],
      "the password has moved",
    );
    await eventually("the old one is gone", async () => await secret(kube, ns) === undefined);

    const told = JSON.stringify(rig.lines) +
      (await kube.kubectl("-n", ns, "get", "edb,events", "-o=json")).stdout;
    for (const { password = "" } of [first, second, third]) {
      assertEquals(told.includes(password), false, "a password is told");
    }
    assertStringIncludes(told, "SecretWritten");
    const deleted = await kube.kubectl("-n", ns, "delete", "edb", "orders", "--timeout=20s");
    assertEquals([deleted.code, deleted.stderr, rig.cloud.databases().length], [0, "", 0]);
  } finally {
    await rig.stop();
  }
});
