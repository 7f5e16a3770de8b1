/**
 * What each way of installing lets the operator do, in full: the API server's own list of a token's rules, less what every
 * account may do, is exactly what is written here. Then the operator works under them, as its Deployment describes it.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { stringify } from "yaml";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { accountKubeconfig } from "../support/account.ts";
import { startDeployed } from "../support/deployed.ts";
import { CHART, helm, kustomized, type Manifest, templated } from "../support/helm.ts";
import { type Kube, startKube } from "../support/kube.ts";
import { apply, conditionOf, fastCloud, manifest, messageOf, read } from "../support/operator.ts";

const SYSTEM = "externaldatabase-system";
const NAME = "externaldatabase-operator";
const NAMESPACES = ["team-a", "team-b", "elsewhere"];

const rights = (resource: string, ...verbs: string[]) => verbs.map((verb) => `${resource} ${verb}`);
const CLUSTER = [
  ...rights("crd.my.domain/externaldatabaseclasses", "get", "list", "watch"),
  ...rights("crd.my.domain/externaldatabaseclasses/status", "patch"),
  ...rights("apiextensions.k8s.io/customresourcedefinitions[externaldatabases.crd.my.domain]", "get"),
  ...rights("/namespaces[kube-system]", "get"),
];
const RESOURCES = [
  ...rights("crd.my.domain/externaldatabases", "get", "list", "watch", "patch"),
  ...rights("crd.my.domain/externaldatabases/status", "patch"),
  ...rights("events.k8s.io/events", "create", "patch"),
];
const SECRETS = rights("/secrets", "get", "list", "watch", "create", "patch", "delete");
const LEASE = [
  ...rights(`coordination.k8s.io/leases[${NAME}]`, "get", "update", "watch"),
  ...rights("coordination.k8s.io/leases", "create"),
];
const CLASSES = ["class-standard", "class-production"].flatMap((name) =>
  rights(`/secrets[${name}]`, "get", "list", "watch")
);

/** What an account may do in a namespace beyond what any account may, as the API server tells its token. */
async function rules(kube: Kube, namespace: string): Promise<string[]> {
  const of = async (account: string) => {
    const kubeconfig = await accountKubeconfig(kube, SYSTEM, account);
    const stdin = JSON.stringify({
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace },
    });
    const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    const said = await kube.kubectlWith({ kubeconfig, stdin }, "create", "--raw", path, "-f", "-");
    assertEquals(said.code, 0, said.stderr);
    const { status } = JSON.parse(said.stdout);
    assertEquals(status.incomplete, false);
    const paths = status.nonResourceRules.flatMap((rule: Manifest) =>
      rule["nonResourceURLs"].flatMap((url: string) => rule["verbs"].map((verb: string) => `${url} ${verb}`))
    );
    const resources = status.resourceRules.flatMap((rule: Manifest) =>
      rule["apiGroups"].flatMap((group: string) =>
        rule["resources"].flatMap((resource: string) =>
          (rule["resourceNames"] ?? [""]).flatMap((name: string) =>
            rights(`${group}/${resource}${name === "" ? "" : `[${name}]`}`, ...rule["verbs"])
          )
        )
      )
    );
    return new Set<string>([...paths, ...resources]);
  };
  const [operator, anyone] = await Promise.all([of(NAME), of("default")]);
  return [...operator].filter((right) => !anyone.has(right)).toSorted();
}

/** A cluster with the namespaces; what `install` put there goes with it. */
async function withKube(work: (kube: Kube, home: string) => Promise<void>): Promise<void> {
  const kube = await startKube();
  try {
    for (const namespace of [SYSTEM, ...NAMESPACES]) {
      const made = await kube.kubectl("create", "namespace", namespace);
      assertEquals(made.code, 0, made.stderr);
    }
    const account = ["get", "serviceaccount", "default", "-n", SYSTEM];
    await eventually("its default account", async () => (await kube.kubectl(...account)).code === 0);
    await work(kube, `${kube.dir}/helm`);
  } finally {
    await kube.stop();
  }
}

const OF_RIGHTS = /^(ServiceAccount|(Cluster)?Role(Binding)?)$/;
const ci = (name: string) => `--values=${CHART}/ci/${name}-values.yaml`;

interface Way {
  readonly name: string;
  readonly objects: (home: string) => Promise<Manifest[]>;
  /** Rights by namespace; `*`: in every other. */
  readonly allowed: Readonly<Record<string, readonly string[]>>;
}

const EVERYWHERE = { "*": [...CLUSTER, ...RESOURCES, ...SECRETS], [SYSTEM]: LEASE };
const IN_TWO = {
  "*": CLUSTER,
  [SYSTEM]: LEASE,
  "team-a": [...RESOURCES, ...SECRETS],
  "team-b": [...RESOURCES, ...SECRETS],
};
const BY_CLASSES = { "*": [...CLUSTER, ...RESOURCES], [SYSTEM]: [...LEASE, ...CLASSES] };

const WAYS: readonly Way[] = [
  { name: "deploy/", objects: () => kustomized("."), allowed: EVERYWHERE },
  { name: "deploy/aws-rds", objects: () => kustomized("aws-rds"), allowed: EVERYWHERE },
  { name: "deploy/namespaced", objects: () => kustomized("namespaced"), allowed: IN_TWO },
  { name: "deploy/classes", objects: () => kustomized("classes"), allowed: BY_CLASSES },
  { name: "the chart", objects: (home) => templated(home), allowed: EVERYWHERE },
  {
    name: "the chart with namespaces",
    objects: (home) => templated(home, ci("namespaced")),
    allowed: IN_TWO,
  },
  {
    name: "the chart with classes alone",
    objects: (home) => templated(home, ci("classes")),
    allowed: BY_CLASSES,
  },
  {
    name: "the chart with Secrets in a named namespace",
    objects: (home) =>
      templated(home, '--set-json=connectionSecrets={"scope":"named","namespaces":["team-a"]}'),
    allowed: { "*": [...CLUSTER, ...RESOURCES], [SYSTEM]: LEASE, "team-a": SECRETS },
  },
  {
    name: "the chart with everything at once in one namespace",
    objects: (home) =>
      templated(
        home,
        '--set-json=namespaces=["team-a","team-b"]',
        '--set-json=connectionSecrets={"scope":"named","namespaces":["team-b"]}',
        '--set-json=classSecrets=["class-standard","class-production"]',
      ),
    allowed: {
      "*": CLUSTER,
      [SYSTEM]: [...LEASE, ...CLASSES],
      "team-a": RESOURCES,
      "team-b": [...RESOURCES, ...SECRETS],
    },
  },
];

Deno.test("each way of installing gives the operator's token the rights that are written here, and no other", async (t) => {
  await withKube(async (kube, home) => {
    for (const { name, objects, allowed } of WAYS) {
      await t.step(name, async () => {
        const items = (await objects(home)).filter(({ kind }) => OF_RIGHTS.test(kind));
        const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
        const applied = await kube.kubectlWith({ stdin }, "apply", "--validate=strict", "-f", "-");
        assertEquals([applied.code, applied.stderr], [0, ""]);
        for (const namespace of [SYSTEM, ...NAMESPACES]) {
          const wanted = [...allowed["*"] ?? [], ...allowed[namespace] ?? []].toSorted();
          assert(wanted.length > 0);
          await eventually(
            `the rights in ${namespace} have arrived`,
            async () => (await rules(kube, namespace)).join() === wanted.join(),
            10_000,
            100,
          ).catch(async () => {
            assertEquals(await rules(kube, namespace), wanted, namespace);
          });
        }
        const removed = await kube.kubectlWith({ stdin }, "delete", "-f", "-", "--timeout=30s");
        assertEquals(removed.code, 0, removed.stderr);
      });
    }
  });
});

const CLOUD = "cloud.example:443";

/** A resource that asks for a Secret becomes Ready, and its Secret is whole. */
async function becomesReady(kube: Kube, namespace: string, name: string): Promise<void> {
  await apply(kube, manifest(namespace, name, { connectionSecretRef: {} }));
  await eventually(
    `${namespace}/${name} is Ready`,
    async () => conditionOf(await read(kube, namespace, name), "Ready") === "True/Available",
    30_000,
    50,
  );
  const secret = await kube.kubectl("get", "secret", `${name}-connection`, "-n", namespace, "-o", "json");
  assertEquals(secret.code, 0, secret.stderr);
  assertEquals(
    Object.keys(JSON.parse(secret.stdout).data).toSorted(),
    ["database", "host", "password", "port", "provider", "type", "uri", "username"],
  );
}

/** helm install with the release's own namespace, then the process that its Deployment describes. */
async function installed(kube: Kube, home: string, cloudUrl: string, ...args: string[]) {
  const words = ["install", NAME, CHART, `--namespace=${SYSTEM}`, "--set=provider=http"];
  const done = await helm(
    { home, kubeconfig: kube.kubeconfig },
    ...[...words, `--set=http.url=http://${CLOUD}`, ...args],
  );
  assertEquals(done.code, 0, done.stderr);
  return await startDeployed(kube, SYSTEM, NAME, { [CLOUD]: new URL(cloudUrl).host });
}

Deno.test("installed by Helm, the operator makes a database and its Secret in any namespace", async () => {
  await withKube(async (kube, home) => {
    const cloud = fastCloud();
    const server = serveCloud(cloud);
    const child = await installed(kube, home, server.url, "--set=operator.logLevel=debug");
    try {
      await becomesReady(kube, "team-a", "orders");
      await becomesReady(kube, "elsewhere", "orders");
      const deleted = await kube.kubectl("delete", "edb", "--all", "-A", "--timeout=30s");
      assertEquals([deleted.code, cloud.databases().length], [0, 0], deleted.stderr);
      child.kill("SIGTERM");
      assertEquals([await child.code(), child.err], [0, ""]);
      assertEquals(/forbidden|NotCapable|Requires \w+ access/i.test(child.out), false, child.out);
    } finally {
      await child.end();
      await server.close();
    }
  });
});

Deno.test("installed for one namespace, the operator works there, and knows of no resource elsewhere", async () => {
  await withKube(async (kube, home) => {
    const cloud = fastCloud();
    const server = serveCloud(cloud);
    const child = await installed(kube, home, server.url, '--set-json=namespaces=["team-a"]');
    try {
      await apply(kube, manifest("team-b", "orders", { connectionSecretRef: {} }));
      await becomesReady(kube, "team-a", "orders");
      await becomesReady(kube, "team-a", "more");
      assertEquals((await read(kube, "team-b", "orders"))?.status, undefined);
      assertEquals(cloud.databases().length, 2);
      child.kill("SIGTERM");
      assertEquals([await child.code(), child.err], [0, ""]);
      assertEquals(/forbidden|NotCapable|Requires \w+ access/i.test(child.out), false, child.out);
    } finally {
      await child.end();
      await server.close();
    }
  });
});

Deno.test("with Secrets in named namespaces alone, a resource elsewhere is told that Kubernetes refuses its Secret, until it is allowed", async () => {
  await withKube(async (kube, home) => {
    const server = serveCloud(fastCloud());
    const named = '--set-json=connectionSecrets={"scope":"named","namespaces":["team-a"]}';
    const child = await installed(kube, home, server.url, named);
    try {
      await becomesReady(kube, "team-a", "orders");
      await apply(kube, manifest("team-b", "orders", { connectionSecretRef: {} }));
      await eventually(
        "it is told",
        async () => conditionOf(await read(kube, "team-b", "orders"), "Ready") === "False/SecretPending",
        30_000,
        50,
      );
      await eventually(
        "why",
        async () =>
          /cannot (get|create).*secrets/.test(messageOf(await read(kube, "team-b", "orders"), "Ready")),
        30_000,
        50,
      );
      const binding = (await kustomized("rights/secrets")).map((object) => ({
        ...object,
        metadata: { ...object["metadata"], namespace: "team-b" },
      }));
      const stdin = stringify({ apiVersion: "v1", kind: "List", items: binding });
      const bound = await kube.kubectlWith({ stdin }, "apply", "-f", "-");
      assertEquals(bound.code, 0, bound.stderr);
      await becomesReady(kube, "team-b", "orders");
    } finally {
      await child.end();
      await server.close();
    }
  });
});

Deno.test("installed by kustomize for classes alone, the operator reads the Secret that a class names and no other", async () => {
  await withKube(async (kube) => {
    const server = serveCloud(fastCloud(), { tokens: () => ["standard-1"] });
    const [classes, secrets] = await Promise.all([kustomized("classes"), kustomized("rights/secrets")]);
    const inTeamA = secrets.map((object) => ({
      ...object,
      metadata: { ...object["metadata"], namespace: "team-a" },
    }));
    const parameters = { url: `http://${CLOUD}`.replace(CLOUD, new URL(server.url).host) };
    const token = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "class-standard", namespace: SYSTEM },
      stringData: { token: "standard-1" },
    };
    const standard = {
      apiVersion: "crd.my.domain/v1",
      kind: "ExternalDatabaseClass",
      metadata: { name: "standard", annotations: { "db.my.domain/is-default-class": "true" } },
      spec: { provider: "http", parameters, credentialsSecretRef: { name: "class-standard" } },
    };
    for (const items of [[...classes, ...inTeamA, token], [standard]]) {
      const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
      const applied = await kube.kubectlWith({ stdin }, "apply", "--validate=strict", "-f", "-");
      assertEquals(applied.code, 0, applied.stderr);
      const crds = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"];
      await kube.kubectl(...crds);
    }
    const child = await startDeployed(kube, SYSTEM, NAME, {
      "db.cloud.example:443": new URL(server.url).host,
    });
    try {
      await becomesReady(kube, "team-a", "orders");
      const orders = await read(kube, "team-a", "orders");
      assertEquals(orders?.status?.className, "standard");
      assertStringIncludes(orders?.status?.account ?? "", "simulated");
      assert(!child.out.includes("standard-1"));
    } finally {
      await child.end();
      await server.close();
    }
  });
});
