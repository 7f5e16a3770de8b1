/**
 * The parts of a soak: a cluster that writes down who did what, the operator behind a proxy, the cloud with its file.
 *
 * @module
 */
import { GROUP, PLURAL } from "../../src/api/constants.ts";
import { type Kube, startKube } from "../../tests-real/support/kube.ts";
import { freePorts } from "../../tests-real/support/process.ts";
import { Part } from "./processes.ts";
import { TcpProxy } from "./proxy.ts";

/** Poll period of the operator, in milliseconds: the shortest that it takes. */
export const POLL_MS = 10_000;

/** What the cloud is like: slow, forgetful, and late. */
const CLOUD = [
  ...["--latency=250ms", "--provision-time=2s", "--modify-time=1s", "--delete-time=1s", "--read-lag=2s"],
  ...["--effect-bound=5s", "--lose-answers=0.05", "--late-effects=0.01", "--fail-before=0.02"],
  "--fail-after=0.01",
];
/** What is kept when something broke. */
const KEPT = [
  "operator.log",
  "cloud.log",
  "kube-apiserver.log",
  "etcd.log",
  "audit.log",
  "cloud.state",
  "effects.log",
];

/** Every write of a resource with its body: who did what, when a violation is to be explained. */
const AUDIT_POLICY = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    {
      level: "Request",
      verbs: ["create", "patch", "update", "delete"],
      resources: [{ group: GROUP, resources: [PLURAL, `${PLURAL}/status`] }],
    },
    { level: "None" },
  ],
});

/** Starts a cluster with an audit log; `end` stops it. */
export async function startAuditedKube(): Promise<
  { readonly kube: Kube; readonly end: () => Promise<void> }
> {
  const dir = await Deno.makeTempDir({ prefix: "externaldatabase-soak-audit-" });
  const remove = () => Deno.remove(dir, { recursive: true });
  await Deno.writeTextFile(`${dir}/policy.yaml`, AUDIT_POLICY);
  const audit = [
    `--audit-policy-file=${dir}/policy.yaml`,
    "--audit-log-path=audit.log",
    "--audit-log-maxsize=1000",
  ];
  try {
    const kube = await startKube({ apiServerArgs: audit });
    return {
      kube,
      end: async () => {
        await kube.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** What runs beside the cluster. */
export interface Rig {
  readonly operator: Part;
  readonly cloud: Part;
  readonly cloudUrl: string;
  /** Between operator and API server. */
  readonly proxy: TcpProxy;
}

/** Makes operator, cloud and proxy; only the proxy runs. */
export function makeRig(kube: Kube, options: { readonly seed: number; readonly clientTokens: boolean }): Rig {
  const { dir } = kube;
  const [cloudPort, operatorPort] = freePorts(2) as [number, number];
  const cloudUrl = `http://127.0.0.1:${cloudPort}`;
  const proxy = new TcpProxy(Number(new URL(kube.url).port));
  const config = Deno.readTextFileSync(kube.kubeconfig).replace(kube.url, `https://127.0.0.1:${proxy.port}`);
  Deno.writeTextFileSync(`${dir}/proxied.kubeconfig`, config);
  const cloud = new Part({
    name: "cloud",
    dir,
    args: (starts) => [
      ...["cloud", `--listen=127.0.0.1:${cloudPort}`, `--state=${dir}/cloud.state`],
      ...[`--seed=${(options.seed + starts * 7_919) % 2 ** 32}`],
      `--client-tokens=${options.clientTokens ? "yes" : "no"}`,
      ...CLOUD,
    ],
    permissions: ["--allow-env", "--allow-read", `--allow-write=${dir}`, "--allow-net=127.0.0.1"],
    ready: () => answers(`${cloudUrl}/admin/settings`),
  });
  const operator = new Part({
    name: "operator",
    dir,
    args: () => [
      ...["start", "--provider=http", `--cloud-url=${cloudUrl}`, "--log-level=info", "--no-leader-elect"],
      ...[`--kubeconfig=${dir}/proxied.kubeconfig`, `--listen=127.0.0.1:${operatorPort}`],
      ...[`--poll-interval=${POLL_MS}ms`, "--cache-ttl=10s", "--call-timeout=10s"],
    ],
    permissions: ["--allow-env", "--allow-read", "--allow-net=127.0.0.1"],
    ready: () => answers(`http://127.0.0.1:${operatorPort}/healthz`),
  });
  return { operator, cloud, cloudUrl, proxy };
}

/** Copies the logs and the cloud's file to a directory of their own, and returns its path. */
export async function keepLogs(kube: Kube): Promise<string> {
  const kept = await Deno.makeTempDir({ prefix: "externaldatabase-soak-" });
  for (const name of KEPT) {
    await Deno.copyFile(`${kube.dir}/${name}`, `${kept}/${name}`).catch(() => {}); // never written
  }
  return kept;
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  await answer.body?.cancel();
  return answer.ok;
}
