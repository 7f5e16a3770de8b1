/**
 * What each way of installing lets the operator do, in full: the API server's own list of a token's rules, less what every
 * account may do, is exactly what is written here.
 */
import { assert, assertEquals } from "@std/assert";
import { eventually } from "../../tests/support/eventually.ts";
import { accountKubeconfig } from "../support/account.ts";
import { asList, exampleValues, kustomized, type Manifest, templated } from "../support/helm.ts";
import { NAME, NAMESPACES, SYSTEM, withKube } from "../support/installed.ts";
import type { Kube } from "../support/kube.ts";

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

const REVIEWS = [
  ...rights("authentication.k8s.io/tokenreviews", "create"),
  ...rights("authorization.k8s.io/subjectaccessreviews", "create"),
];

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

const OF_RIGHTS = /^(ServiceAccount|(Cluster)?Role(Binding)?)$/;

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
    objects: (home) => templated(home, exampleValues("namespaced")),
    allowed: IN_TWO,
  },
  {
    name: "the chart with classes alone",
    objects: (home) => templated(home, exampleValues("classes")),
    allowed: BY_CLASSES,
  },
  {
    name: "the chart with metrics and page behind the API server's reviews",
    objects: (home) => templated(home, "--set=httpAuth.enabled=true"),
    allowed: { ...EVERYWHERE, "*": [...EVERYWHERE["*"], ...REVIEWS] },
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
        const stdin = asList(items);
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
