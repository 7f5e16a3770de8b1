/**
 * Metrics and page behind a real API server's TokenReview and SubjectAccessReview, with the rights and roles that deploy/
 * gives for it, and HTTPS.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parse, parseAllDocuments } from "yaml";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { systemClock } from "../../src/core/clock.ts";
import { main } from "../../tests/cli/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { selfSigned } from "../../tests/support/self_signed.ts";
import { accountKubeconfig } from "../support/account.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, type Kube, sharedKube } from "../support/kube.ts";
import { fastCloud } from "../support/operator.ts";
import { startOperator } from "../support/operator_process.ts";
import { run } from "../support/process.ts";

const DEPLOY = new URL("../../deploy/", import.meta.url).pathname;
const SYSTEM = "externaldatabase-system";
const RIGHTS = /^(Namespace|ServiceAccount|(Cluster)?Role(Binding)?)$/;

async function must(kube: Kube, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await kube.kubectl(...args);
  assertEquals(code, 0, `kubectl ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}

/** What kustomize makes of the base with components of `deploy/`. */
async function rendered(
  kube: Kube,
  ...components: string[]
): Promise<{ kind: string; [key: string]: unknown }[]> {
  const directory = await Deno.realPath(await Deno.makeTempDir());
  const up = "../".repeat(directory.split("/").length - 1);
  try {
    await Deno.writeTextFile(
      `${directory}/kustomization.yaml`,
      JSON.stringify({
        resources: [`${up}${DEPLOY.slice(1)}base`],
        components: components.map((name) => `${up}${DEPLOY.slice(1)}components/${name}`),
      }),
    );
    return parseAllDocuments(await must(kube, "kustomize", directory)).map((document) => document.toJSON());
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("a real API server lets the scraper get metrics, the viewer the page, and an account that is just there neither", async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube, "http");
  const items = (await rendered(kube, "http-access", "http-tls")).filter(({ kind }) => RIGHTS.test(kind));
  const applied = await kube.kubectlWith(
    { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) },
    ...["apply", "-f", "-"],
  );
  assertEquals(applied.code, 0, applied.stderr);
  const token = async (account: string, role?: string) => {
    await must(kube, "create", "serviceaccount", account, "-n", ns);
    if (role !== undefined) {
      const of = `--serviceaccount=${ns}:${account}`;
      await must(kube, "create", "clusterrolebinding", `${ns}-${account}`, `--clusterrole=${role}`, of);
    }
    return await must(kube, "create", "token", account, "-n", ns);
  };
  const [scraper, viewer, nobody] = [
    await token("scraper", "externaldatabase-metrics-reader"),
    await token("viewer", "externaldatabase-page-reader"),
    await token("nobody"),
  ];
  const directory = await Deno.makeTempDir();
  const pair = await selfSigned("operator", systemClock.now());
  await Deno.writeTextFile(`${directory}/tls.crt`, pair.cert);
  await Deno.writeTextFile(`${directory}/tls.key`, pair.key);
  const server = serveCloud(fastCloud());
  const child = startOperator(kube, {
    cloudUrl: server.url,
    namespace: ns,
    kubeconfig: await accountKubeconfig(kube, SYSTEM, "externaldatabase-operator"),
    args: [
      "--http-auth=kubernetes",
      `--tls-cert-file=${directory}/tls.crt`,
      `--tls-key-file=${directory}/tls.key`,
    ],
  });
  using client = Deno.createHttpClient({ caCerts: [pair.cert] });
  try {
    const { url } = JSON.parse(await child.line((line) => line.includes('"msg":"The operator has started"')));
    const status = async (path: string, authorization?: string) => {
      const headers: HeadersInit = authorization === undefined ? {} : { authorization };
      const answer = await fetch(`${url}${path}`, { client, headers } as RequestInit);
      await answer.body?.cancel();
      return answer.status;
    };
    await eventually("it is ready", async () => await status("/readyz") === 200, 20_000, 50);
    assertEquals(await status("/metrics", `Bearer ${scraper}`), 200);
    assertEquals(await status("/api/fleet", `Bearer ${scraper}`), 403);
    assertEquals(await status("/api/fleet", `Bearer ${viewer}`), 200);
    assertEquals(await status("/", `Basic ${btoa(`me:${viewer}`)}`), 200);
    assertEquals(await status("/metrics", `Bearer ${viewer}`), 403);
    // Kubernetes lets every account get /api/* of its own server: not ours.
    const asNobody = [`--as=system:serviceaccount:${ns}:nobody`, "--as-group=system:authenticated"];
    assertEquals(await must(kube, "auth", "can-i", "get", "/api/fleet", ...asNobody), "yes");
    for (const path of ["/", "/api/fleet", "/api/databases", "/metrics"]) {
      assertEquals(await status(path, `Bearer ${nobody}`), 403, path);
    }
    assertEquals(await status("/metrics", `Bearer ${nobody}x`), 401, "a signature that is not right");
    assertEquals([await status("/metrics"), await status("/healthz")], [401, 200]);
    await statechartByToken(kube, ns, url, directory, { viewer, scraper });
    const next = await selfSigned("renewed", systemClock.now());
    await Deno.writeTextFile(`${directory}/tls.crt`, next.cert);
    await Deno.writeTextFile(`${directory}/tls.key`, next.key);
    await child.line((line) => line.includes("The server's certificate was changed"));
    using renewed = Deno.createHttpClient({ caCerts: [next.cert] });
    const answer = await fetch(`${url}/healthz`, { client: renewed } as RequestInit);
    assertEquals([answer.status, await answer.text()], [200, "ok\n"]);
    await must(kube, "delete", "serviceaccount", "nobody", "-n", ns);
    assert(!child.out.includes(nobody.slice(-40)), "no token in the log");
    for (const [version, refused] of [["-tls1_1", true], ["-tls1_2", false], ["-tls1_3", false]] as const) {
      const shake = await run("openssl", ["s_client", "-connect", new URL(url).host, version], { stdin: "" });
      assertEquals(
        /Cipher is \(NONE\)|no protocols available|alert protocol version/.test(shake.stdout + shake.stderr),
        refused,
        version,
      );
    }
  } finally {
    await child.end();
    await server.close();
    await Deno.remove(directory, { recursive: true });
  }
});

/** `statechart --of`, by the tokens of accounts that may see the page and that may not. */
async function statechartByToken(
  kube: Kube,
  ns: string,
  url: string,
  directory: string,
  tokens: Readonly<Record<"viewer" | "scraper", string>>,
): Promise<void> {
  const manifest = {
    apiVersion: "crd.my.domain/v1",
    kind: "ExternalDatabase",
    metadata: { name: "orders", namespace: ns },
    spec: { engine: "postgres", version: "14.2", sizeGb: 20 },
  };
  const applied = await kube.kubectlWith({ stdin: JSON.stringify(manifest) }, "apply", "-f", "-");
  assertEquals(applied.code, 0, applied.stderr);
  await must(kube, "wait", "--for=condition=Ready", "edb/orders", "-n", ns, "--timeout=30s");
  const show = async (name: string, ...args: string[]) => {
    const options = [
      "statechart",
      "--of",
      `${ns}/${name}`,
      "--url",
      url,
      "--ca-file",
      `${directory}/tls.crt`,
    ];
    const shown = await main([...options, ...args], {}, ["--allow-env", "--allow-read", "--allow-net"]);
    for (const token of Object.values(tokens)) {
      assert(!(shown.out + shown.err).includes(token), "no token is told");
    }
    return shown;
  };
  const by = async (token: string) => {
    const file = `${directory}/token`;
    await Deno.writeTextFile(file, `${token}\n`);
    return ["--token-file", file];
  };
  const shown = await show("orders", ...await by(tokens.viewer));
  assertEquals(shown.code, 0, shown.err);
  assertMatch(shown.out, /Available/);
  assertMatch(shown.out, /create done/, "its history");
  const missing = await show("payments", ...await by(tokens.viewer));
  assertEquals(missing.code, 1);
  assertMatch(missing.err, /knows no resource .*\/payments/);
  assertMatch((await show("orders")).err, /asks for a token of the cluster \(HTTP status 401\)/);
  assertMatch((await show("orders", ...await by(tokens.scraper))).err, /HTTP status 403.*non-resource URL/);
  assertMatch((await show("orders", ...await by(`${tokens.viewer}x`))).err, /does not take the token/);
  await must(kube, "delete", "edb", "orders", "-n", ns, "--timeout=30s");
}

interface Probe {
  readonly httpGet: { readonly scheme: string };
}

/** The part of a Deployment that is looked at. */
interface DeploymentObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly [{
          readonly command: readonly string[];
          readonly env: readonly { readonly name: string; readonly value?: string }[];
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
          readonly startupProbe: Probe;
          readonly livenessProbe: Probe;
          readonly readinessProbe: Probe;
        }];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}

Deno.test("kustomize mounts the certificate, turns the probes to HTTPS, and installs rules and dashboard", async () => {
  const kube = await sharedKube();
  const all = await rendered(kube, "http-access", "http-tls");
  const deployment = all.find(({ kind }) => kind === "Deployment") as unknown as DeploymentObject;
  const { containers: [container], volumes } = deployment.spec.template.spec;
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe].map((p) =>
    p.httpGet
  );
  assertEquals(probes.map(({ scheme }) => scheme), ["HTTPS", "HTTPS", "HTTPS"]);
  const env = Object.fromEntries(
    container.env.map(({ name, value }) => [name, value]),
  );
  assertEquals(env["EDB_HTTP_AUTH"], "kubernetes");
  const mount = container.volumeMounts.find(({ name }) => name === "http-certificate");
  assert(volumes.some(({ name }) => name === mount?.name));
  assert(env["EDB_TLS_CERT_FILE"]?.startsWith(`${mount?.mountPath}/`));
  const command = container.command.find((part) => part.startsWith("--allow-read="));
  assertMatch(command ?? "", /(=|,)\/etc\/externaldatabase(,|$)/);
  const monitoring = parseAllDocuments(await must(kube, "kustomize", `${DEPLOY}monitoring`)).map((d) =>
    d.toJSON()
  );
  const [config, rule] = ["ConfigMap", "PrometheusRule"].map((kind) =>
    monitoring.find((o) => o.kind === kind)
  );
  assert(JSON.parse(config.data["externaldatabase-operator.json"]).panels.length > 20);
  assertEquals(rule.spec, parse(await Deno.readTextFile(`${DEPLOY}monitoring/alerts.yaml`)));
});
