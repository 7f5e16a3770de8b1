/** The Helm chart by itself: it makes what kustomize makes, and refuses values that are wrong with words that help. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { stringify } from "yaml";
import {
  CHART,
  composed,
  exampleValues,
  helm,
  kustomized,
  type Manifest,
  nameOf,
  OVERLAYS,
  templated,
} from "../support/helm.ts";
import { NAME, SYSTEM } from "../support/installed.ts";

const home = await Deno.makeTempDir({ prefix: "externaldatabase-helm-" });
addEventListener("unload", () => Deno.removeSync(home, { recursive: true }));

const VALUES = [...Deno.readDirSync(`${CHART}/ci`)].map(({ name }) => name).toSorted();

/** Labels and annotations that only Helm sets. */
const OF_HELM = new Set([
  ...["app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by"],
  ...["helm.sh/chart", "helm.sh/resource-policy", "checksum/parameters"],
]);

/** An object without what the two ways may differ in, and with lists of names in order. */
function comparable(object: Manifest): Manifest {
  const copy = structuredClone(object);
  const strip = (metadata: Manifest) => {
    for (const key of ["labels", "annotations"]) {
      const kept = Object.entries(metadata[key] ?? {}).filter(([name]) => !OF_HELM.has(name)).toSorted();
      if (kept.length === 0) delete metadata[key];
      else metadata[key] = Object.fromEntries(kept);
    }
  };
  strip(copy.metadata);
  if (copy.kind === "ConfigMap") {
    copy.metadata.name = unhashed(copy.metadata.name);
    copy.data = Object.fromEntries(
      Object.entries(copy.data).map(([name, text]) => [name, JSON.parse(text as string)]),
    );
  }
  if (copy.kind === "Deployment") {
    strip(copy.spec.template.metadata);
    const [container] = copy.spec.template.spec.containers;
    container.env.sort((a: Manifest, b: Manifest) => a.name < b.name ? -1 : 1);
    for (const { projected } of copy.spec.template.spec.volumes ?? []) {
      for (const { configMap } of projected?.sources ?? []) {
        if (configMap) configMap.name = unhashed(configMap.name);
      }
    }
  }
  return copy;
}

/** Kustomize adds a hash to the names of what it makes from files. */
function unhashed(name: string): string {
  return name.replace(/-[a-z0-9]{10}$/, "");
}

function byName(objects: readonly Manifest[]): Record<string, Manifest> {
  const named = objects.filter(({ kind }) => kind !== "Namespace") // helm install --create-namespace
    .map(comparable).map((object) => [nameOf(object), object] as const);
  assertEquals(new Set(named.map(([name]) => name)).size, named.length, "no object comes twice");
  return Object.fromEntries(named.toSorted(([a], [b]) => a < b ? -1 : 1));
}

Deno.test("helm lint finds nothing, with the chart's own values and with each of ci/", async () => {
  for (const file of [undefined, ...VALUES]) {
    const args = file === undefined ? [] : [`--values=${CHART}/ci/${file}`];
    const linted = await helm({ home }, "lint", "--strict", CHART, ...args);
    assertEquals(linted.code, 0, `${file}: ${linted.stdout}${linted.stderr}`);
    assert(!/\[(WARNING|ERROR)\]/.test(linted.stdout), linted.stdout);
  }
});

for (const folder of [".", ...OVERLAYS]) {
  const args = folder === "." ? [] : [exampleValues(folder)];
  Deno.test(`the chart makes what kubectl apply -k deploy/${folder === "." ? "" : folder} makes`, async () => {
    const [chart, overlay] = await Promise.all([templated(home, ...args), kustomized(folder)]);
    const [made, wanted] = [byName(chart), byName(overlay)];
    assertEquals(Object.keys(made), Object.keys(wanted));
    assertEquals(made, wanted);
  });
}

for (
  const [component, enabled] of [
    ["network-policy", "networkPolicy"],
    ["pod-disruption-budget", "podDisruptionBudget"],
    ["service-monitor", "serviceMonitor"],
  ] as const
) {
  Deno.test(`the chart's ${enabled} is the component ${component}`, async () => {
    const made = byName(await templated(home, `--set=${enabled}.enabled=true`));
    const wanted = byName(await kustomized(`components/${component}`));
    assertEquals(Object.keys(wanted).length, 1);
    for (const [name, object] of Object.entries(wanted)) assertEquals(made[name], object);
    const without = byName(await templated(home, `--set=${enabled}.enabled=false`));
    assertEquals(without[Object.keys(wanted)[0]!], undefined);
  });
}

Deno.test("the chart's tls and httpAuth are the components http-tls and http-access", async () => {
  const flags = ["--set=tls.secretName=externaldatabase-operator-tls", "--set=httpAuth.enabled=true"];
  const [chart, overlay] = await Promise.all([
    templated(home, ...flags),
    composed(".", ["http-tls", "http-access"]),
  ]);
  const unlabelled = (objects: Manifest[]) => {
    for (const { metadata } of objects) if (/-(reviews|reader)$/.test(metadata.name)) delete metadata.labels;
    return byName(objects);
  };
  const [made, wanted] = [unlabelled(chart), unlabelled(overlay)];
  assertEquals(Object.keys(made), Object.keys(wanted));
  assertEquals(made, wanted);
});

Deno.test("every value reaches its object", async () => {
  const made = byName(await templated(home, exampleValues("everything")));
  const text = stringify(made, { lineWidth: 0 });
  for (
    const word of [
      "registry.example:5000/team/externaldatabase-operator@sha256:0123456789abcdef",
      "kubernetes.default.svc:443,0.0.0.0:8080,rds.eu-west-1.amazonaws.com:443,sts.eu-west-1.amazonaws.com:443," +
      "169.254.170.23:80,db.cloud.example:443,[2001:db8::1]:5432",
      ",/etc/externaldatabase,/etc/more",
      "priorityClassName: system-cluster-critical",
      "maxUnavailable: 50%",
      "release: prometheus",
      "cidr: 203.0.113.0/24",
      "cidr: 10.0.0.1/32",
    ]
  ) assertStringIncludes(text, word);
  const { template } = made["Deployment externaldatabase-system/externaldatabase-operator"]!.spec;
  const [{ env, args, volumeMounts }] = template.spec.containers;
  const variables = Object.fromEntries(env.map(({ name, value }: Manifest) => [name, value]));
  assertEquals(
    Object.fromEntries(Object.entries(variables).filter(([name]) => /^(EDB|AWS)_/.test(name))),
    {
      AWS_CA_BUNDLE: "/etc/more/ca.pem",
      EDB_AWS_CREDENTIALS_FILE: "/etc/externaldatabase/credentials",
      EDB_AWS_PARAMETERS_FILE: "/etc/externaldatabase/parameters.json",
      EDB_AWS_REGION: "eu-west-1",
      EDB_CACHE_TTL: "10m",
      EDB_CALL_TIMEOUT: "45s",
      EDB_CLUSTER_ID: "production",
      EDB_CONCURRENCY: "16",
      EDB_HTTP_AUTH: "kubernetes",
      EDB_LOG_FORMAT: "text",
      EDB_LOG_LEVEL: "debug",
      EDB_POLL_INTERVAL: "1m",
      EDB_PROVIDER: "aws-rds",
      EDB_RATE: "12.5",
      EDB_TLS_CERT_FILE: "/etc/externaldatabase/http/tls.crt",
      EDB_TLS_KEY_FILE: "/etc/externaldatabase/http/tls.key",
    },
  );
  assertEquals(args.at(-1), "--shards=1");
  assertEquals(volumeMounts.length, 3);
  const bound = made["RoleBinding team-a/externaldatabase-operator-connections"];
  assertEquals(bound?.["subjects"][0].namespace, "externaldatabase-system");
  assertEquals(made["ClusterRoleBinding externaldatabase-operator-connections"], undefined);
});

/** Values that are wrong, and what is said of them. */
const WRONG: readonly (readonly [string, RegExp])[] = [
  ["--set=provider=azure", /provider.*(one of|'none')/s],
  ["--set=replica=2", /additional properties 'replica' not allowed/],
  ["--set=replicas=many", /replicas.*want integer/s],
  ['--set-json=allowNet=["db.cloud.example"]', /allowNet\/0.*does not match pattern/s],
  ['--set-json=allowNet=["*"]', /allowNet\/0.*does not match pattern/s],
  ['--set-json=allowNet=["a.example:443,b.example:443"]', /allowNet\/0.*does not match pattern/s],
  ["--set=operator.pollInterval=fast", /pollInterval.*does not match pattern/s],
  ["--set=operator.pollintervall=5m", /additional properties 'pollintervall' not allowed/],
  ["--set=terminationGracePeriodSeconds=30", /terminationGracePeriodSeconds.*minimum/s],
  ["--set=podDisruptionBudget.maxUnavailable=0", /maxUnavailable/],
  ["--set=image.digest=latest", /digest.*does not match pattern/s],
  ['--set-json=awsRds.parameters={"multiAz":true}', /multiAz.*want string/s],
  ["--set=provider=http", /set http\.url to the cloud's base URL/],
  ["--set=provider=postgres", /set postgres\.serversSecret\.name/],
  [
    "--set=provider=postgres,postgres.serversSecret.name=s",
    /set postgres\.hosts to the host:port of each server/,
  ],
  ["--set=provider=aws-rds", /set awsRds\.region/],
  ["--set=provider=simulated", /set replicas to 1/],
  ["--set=connectionSecrets.scope=named", /set connectionSecrets\.namespaces/],
  ['--set-json=connectionSecrets.namespaces=["team-a"]', /goes with connectionSecrets\.scope named/],
  [
    '--set-json=namespaces=["team-a"],connectionSecrets={"scope":"named","namespaces":["team-b"]}',
    /"team-b", which is not one of namespaces/,
  ],
];

for (const [flag, words] of WRONG) {
  Deno.test(`${flag} is refused with words that help`, async () => {
    const refused = await helm({ home }, "template", "x", CHART, flag);
    assert(refused.code !== 0, `it was taken: ${refused.stdout.slice(0, 200)}`);
    assertMatch(refused.stderr, words);
    assertEquals(/nil pointer|panic|goroutine/.test(refused.stderr), false, refused.stderr);
  });
}

Deno.test("one host is one value, and the process's permissions name no more", async () => {
  const made = await templated(home, '--set-json=allowNet=["db.cloud.example:443"]');
  const { template } = made.find(({ kind }) => kind === "Deployment")!.spec;
  const [{ command, env }] = template.spec.containers;
  const hosts = env.find(({ name }: Manifest) => name === "ALLOWED_HOSTS").value;
  assertEquals(hosts, "kubernetes.default.svc:443,0.0.0.0:8080,db.cloud.example:443");
  for (const flag of command) {
    assert(!/^(-A|--allow-all|--allow-(run|write|ffi|sys|import))/.test(flag), flag);
  }
  assertEquals(command.filter((flag: string) => flag.startsWith("--allow-net")), [
    "--allow-net=$(ALLOWED_HOSTS)",
  ]);
});

Deno.test("the chart is packaged with its CRDs, and the package makes the same", async () => {
  const packed = await helm({ home }, "package", CHART, "--destination", home);
  assertEquals(packed.code, 0, packed.stderr);
  const file = /saved it to: (\S+)/.exec(packed.stdout)?.[1] ?? "";
  const [fromFile, fromFolder] = await Promise.all(
    [file, CHART].map((chart) => helm({ home }, "template", NAME, chart, `--namespace=${SYSTEM}`)),
  );
  assert(fromFile && fromFolder);
  assertEquals(fromFile.stdout, fromFolder.stdout);
  assertStringIncludes(fromFile.stdout, "name: externaldatabases.crd.my.domain");
});
