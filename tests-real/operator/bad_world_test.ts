/**
 * An operator without rights, and clouds that cannot be used: each is told in one clear place, and got over.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { PLURAL } from "../../src/api/constants.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { installCrd } from "../support/crd.ts";
import { accountKubeconfig } from "../support/account.ts";
import { freshNamespace, type Kube, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, fastCloud, manifest, messageOf, read } from "../support/operator.ts";
import { logged, probe, startOperator } from "../support/operator_process.ts";
import { freePorts } from "../support/process.ts";
import { inOrder } from "../support/steps.ts";

/** Gives a service account of `namespace` a right, in all namespaces or in its own. */
async function grant(kube: Kube, namespace: string, name: string, rule: readonly string[], all = false) {
  const kind = all ? "cluster" : "";
  const own = all ? [] : ["-n", namespace];
  const unique = all ? `${namespace}-${name}` : name;
  for (
    const args of [
      ["create", `${kind}role`, unique, ...rule, ...own],
      [
        ...["create", `${kind}rolebinding`, unique, `--${kind}role=${unique}`],
        ...[`--serviceaccount=${namespace}:default`, ...own],
      ],
    ]
  ) {
    const made = await kube.kubectl(...args);
    if (made.code !== 0) throw new Error(made.stderr);
  }
}

Deno.test("an operator without rights says which one it lacks, step by step, and works as soon as it has them", async (t) => {
  const step = inOrder(t);
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube, "forbidden");
  const cloud = fastCloud();
  const server = serveCloud(cloud);
  const child = startOperator(kube, {
    cloudUrl: server.url,
    namespace: ns,
    kubeconfig: await accountKubeconfig(kube, ns, "default"),
    args: ["--leader-elect", `--lease-namespace=${ns}`, "--poll-interval=10s"],
  });
  /** Awaits what readiness says, and that the process is healthy all the while. */
  const says = async (status: number, expected: RegExp) => {
    await eventually(
      `readiness says ${expected}`,
      async () => {
        const answer = await probe(child, "/readyz");
        return answer.status === status && expected.test(answer.text);
      },
      40_000,
      50,
    );
    assertEquals((await probe(child, "/healthz")).status, 200);
  };
  const eventless = () =>
    logged(child).filter((l) => l["level"] === "warn" && l["msg"] === "An Event was dropped");
  try {
    await step("without any: the lease", async () => {
      await says(503, /The lease cannot be had: .*leases.* is forbidden: .*cannot get resource "leases"/);
      await grant(kube, ns, "lease", ["--verb=get,create,update", "--resource=leases"]);
    });
    await step("with the lease alone: the cluster's identity", async () => {
      await says(503, /identity is not known yet: Reading the namespace kube-system: .* is forbidden: /);
      await grant(kube, ns, "identity", ["--verb=get", "--resource=namespaces"], true);
    });
    await step("with that: the list", async () => {
      await says(503, /Not in step with the cluster: forbidden: .*cannot list resource "externaldatabases"/);
      await grant(kube, ns, "read", ["--verb=get,list,watch", `--resource=${PLURAL}`]);
    });
    await step("with that it is ready; what it may not write is in its log, by name", async () => {
      await apply(kube, manifest(ns, "orders"));
      await says(200, /^ok\n/);
      await eventually(
        "the log says so",
        () =>
          logged(child).some((line) =>
            line["level"] === "warn" && line["name"] === "orders" &&
            /cannot patch resource "externaldatabases"/.test(String(line["error"]))
          ),
        20_000,
        50,
      );
      assertEquals(cloud.ledger.mutatingCalls(), [], "nothing is created without the finalizer");
      await grant(kube, ns, "write", ["--verb=patch", `--resource=${PLURAL},${PLURAL}/status`]);
    });
    await step(
      "with all of them the database comes; that it may not write Events is told once",
      async () => {
        await eventually(
          "orders is Available",
          async () => conditionOf(await read(kube, ns, "orders"), "Synced") === "True/Available",
          40_000,
          50,
        );
        await eventually("the log says so", () => eventless().length > 0);
        assertEquals(eventless().length, 1);
        assertMatch(String(eventless()[0]?.["error"]), /cannot create resource "events"/);
      },
    );
    await step(
      "a right to its CRD that is missing holds a deletion, and the condition says so (rule 13)",
      async () => {
        await kube.kubectl("delete", "edb", "orders", "-n", ns, "--wait=false");
        await eventually(
          "the condition says so",
          async () =>
            /Deleting the database failed: Reading the CRD .* is forbidden: /.test(
              messageOf(await read(kube, ns, "orders"), "Synced"),
            ),
        );
        assertEquals(
          cloud.databases().map((d) => d.state),
          ["Available"],
        );
        await grant(kube, ns, "crd", ["--verb=get", "--resource=customresourcedefinitions"], true);
        await eventually("it is gone", async () => await read(kube, ns, "orders") === undefined, 40_000, 50);
        assertEquals(cloud.databases(), []);
      },
    );
  } finally {
    await child.end();
    await server.close();
    await kube.kubectl("delete", "clusterrole,clusterrolebinding", `${ns}-identity`, `${ns}-crd`);
  }
});

/** A cloud that answers everything alike, or does not listen (absent). */
const CLOUDS: Readonly<
  Record<string, { readonly answer?: () => Response; readonly reason: string; readonly says: RegExp }>
> = {
  unreachable: {
    reason: "Unknown/ProviderUnavailable",
    says: /^The provider cannot be used yet: Reading the provider's account: no connection \(.*refused/,
  },
  "a login page": {
    answer: () => new Response("<html><title>Log in</title>", { headers: { "content-type": "text/html" } }),
    reason: "Unknown/ProviderUnavailable",
    says: /^The provider cannot be used yet: .*HTTP status 200, but the answer is not JSON: "<html>/,
  },
  "JSON of another kind": {
    answer: () => Response.json([{ hello: "world" }]),
    reason: "Unknown/ProviderUnavailable",
    says: /^The provider cannot be used yet: .*HTTP status 200, but /,
  },
  "404 to all": {
    answer: () => new Response("404 page not found", { status: 404 }),
    reason: "False/CreateFailed",
    says: /^Creating the database failed: .*HTTP status 404 \(retry step \d/,
  },
  "401 to all": {
    answer: () =>
      Response.json({ error: { code: "Unauthenticated", message: "Who are you" } }, { status: 401 }),
    reason: "Unknown/Unauthorised",
    says: /^The provider cannot be used yet: .*Unauthenticated: Who are you$/,
  },
};

/** Serves it for an operator and a resource of its own, and looks at what a person sees. */
async function unusable(kube: Kube, what: string, { answer, reason, says }: typeof CLOUDS[string]) {
  const ns = await freshNamespace(kube, "cloud");
  const [closed] = freePorts(1) as [number];
  const server = answer && Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => answer());
  const cloudUrl = `http://127.0.0.1:${server?.addr.port ?? closed}`;
  await apply(kube, manifest(ns, "orders"));
  const child = startOperator(kube, { cloudUrl, namespace: ns, args: ["--poll-interval=10s"] });
  try {
    await eventually(
      `${what}: the condition says so`,
      async () => conditionOf(await read(kube, ns, "orders"), "Ready") === reason,
      20_000,
      50,
    );
    const cr = await read(kube, ns, "orders");
    assertEquals(conditionOf(cr, "Synced"), reason, what);
    assertMatch(messageOf(cr, "Ready"), says);
    // Other pods could do no better: it is ready all the same.
    assertEquals((await probe(child, "/readyz")).status, 200);
    const events = () => kube.kubectl("get", "events", "-n", ns, "--no-headers");
    await eventually(`${what}: an Event`, async () => (await events()).stdout !== "");
    const lines = (await events()).stdout.trim().split("\n");
    assertEquals(lines.length, 1, `${what}: ${lines.join("\n")}`);
    assertMatch(lines[0]!, new RegExp(`Warning +${reason.replace(/.*\//, "")} +externaldatabase/orders`));
    const deleted = await kube.kubectl("delete", "edb", "orders", "-n", ns, "--timeout=20s");
    assertEquals(deleted.code, 0, `${what}: nothing can have been created: ${deleted.stderr}`);
    child.kill("SIGTERM");
    assertEquals([await child.code(), child.err], [0, ""]);
  } finally {
    await child.end();
    await server?.shutdown();
  }
}

Deno.test("a cloud that cannot be used is told in one clear condition and one Event, and a deletion ends all the same", async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  await Promise.all(Object.entries(CLOUDS).map(([what, cloud]) => unusable(kube, what, cloud)));
});
