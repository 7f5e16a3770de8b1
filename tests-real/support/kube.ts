/**
 * A real Kubernetes API on loopback: etcd, kube-apiserver and the garbage-collector, namespace and service-account
 * controllers, for tests that must see what a real API server does.
 *
 * The binaries come from `tools/kube/build` (KUBEBUILDER_ASSETS, a cache, or Go modules). A missing tool throws; it never
 * skips a test. Everything is ended by pid and removed at {@linkcode Kube.stop}, or when the test process is gone.
 *
 * @module
 */
import { eventually } from "../../tests/support/eventually.ts";
import { makeCertificates } from "./certificates.ts";
import { endBackground, freePorts, guard, must, type Output, run, startBackground } from "./process.ts";

/** How a cluster is started. */
export interface KubeOptions {
  /** The API server's `--feature-gates`, such as `ShardedListAndWatch=true`. */
  readonly featureGates?: string;
  /** More flags for the API server, such as `--audit-log-path=…`. */
  readonly apiServerArgs?: readonly string[];
}

/** All that is needed to find a running cluster again from another test file of the same process. */
interface KubeState {
  readonly dir: string;
  readonly ports: { readonly api: number; readonly etcd: number; readonly etcdPeer: number };
  readonly bin: Readonly<Record<string, string>>;
  readonly apiServerArgs: readonly string[];
}

/** How long a server may take to become ready, in milliseconds. */
const READY_MS = 60_000;

/** Paths of the binaries, by name. Builds what is missing: minutes, the first time. */
export async function kubeBinaries(): Promise<Readonly<Record<string, string>>> {
  const build = new URL("../../tools/kube/build", import.meta.url).pathname;
  const lines = (await must("bash", [build], { timeoutMs: 40 * 60_000 })).trim().split("\n");
  return Object.fromEntries(lines.map((line) => line.split(" ", 2) as [string, string]));
}

/** A running cluster. */
export class Kube {
  readonly #state: KubeState;
  #http: Deno.HttpClient | undefined;

  private constructor(state: KubeState) {
    this.#state = state;
  }

  /** Directory of its data, certificates and logs (`kube-apiserver.log`, …). */
  get dir(): string {
    return this.#state.dir;
  }
  /** Base URL of the API server. It stays the same when the server is started again. */
  get url(): string {
    return `https://127.0.0.1:${this.#state.ports.api}`;
  }
  /** Path of an admin's kubeconfig. */
  get kubeconfig(): string {
    return `${this.dir}/kubeconfig`;
  }
  /** Path of the kubectl binary. */
  get kubectlBin(): string {
    return this.#bin("kubectl");
  }
  /** The CA's certificate, PEM. */
  get ca(): string {
    return Deno.readTextFileSync(`${this.dir}/ca.crt`);
  }
  /** The admin's client certificate and key, PEM. */
  get admin(): { readonly cert: string; readonly key: string } {
    return {
      cert: Deno.readTextFileSync(`${this.dir}/admin.crt`),
      key: Deno.readTextFileSync(`${this.dir}/admin.key`),
    };
  }

  /** Starts a cluster in an empty directory that a {@linkcode guard} watches. Callers use {@linkcode startKube}. */
  static async start(dir: string, options: KubeOptions = {}): Promise<Kube> {
    const bin = await kubeBinaries();
    const [api, etcd, etcdPeer] = freePorts(3) as [number, number, number];
    const kube = new Kube({
      dir,
      bin,
      ports: { api, etcd, etcdPeer },
      apiServerArgs: [
        ...(options.featureGates === undefined ? [] : [`--feature-gates=${options.featureGates}`]),
        ...(options.apiServerArgs ?? []),
      ],
    });
    try {
      await makeCertificates(dir);
      await Deno.writeTextFile(kube.kubeconfig, kube.#kubeconfigText());
      await kube.startEtcd();
      await kube.startApiServer();
      await kube.#startControllerManager();
      await Deno.writeTextFile(`${dir}/state.json`, JSON.stringify(kube.#state));
    } catch (error) {
      await kube.stop();
      throw error;
    }
    return kube;
  }

  /** Finds a cluster that this test process has started, by its directory. */
  static attach(dir: string): Kube {
    return new Kube(JSON.parse(Deno.readTextFileSync(`${dir}/state.json`)));
  }

  /** Runs kubectl as the admin. A failure is in `code` and `stderr`. */
  kubectl(...args: string[]): Promise<Output> {
    return this.kubectlWith({}, ...args);
  }

  /** As {@linkcode kubectl}, with a manifest on standard input (`apply -f -`) or another kubeconfig. */
  kubectlWith(
    options: { readonly stdin?: string; readonly kubeconfig?: string; readonly timeoutMs?: number },
    ...args: string[]
  ): Promise<Output> {
    return run(this.kubectlBin, args, {
      ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
      env: { KUBECONFIG: options.kubeconfig ?? this.kubeconfig, HOME: this.dir },
    });
  }

  /** One request as the admin: a path such as `/api/v1/namespaces`, with fetch's own init. Not for watches. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    this.#http ??= Deno.createHttpClient({ caCerts: [this.ca], ...this.admin });
    return fetch(`${this.url}${path}`, {
      signal: AbortSignal.timeout(30_000),
      ...init,
      client: this.#http,
    } as RequestInit);
  }

  /** Ends the API server and waits until it is gone. */
  async killApiServer(signal: Deno.Signal = "SIGKILL"): Promise<void> {
    await endBackground(this.dir, "kube-apiserver", signal);
  }

  /** Starts the API server, again on the same port, and waits until it is ready. */
  async startApiServer(): Promise<void> {
    const { dir, ports } = this.#state;
    await startBackground({
      name: "kube-apiserver",
      dir,
      command: this.#bin("kube-apiserver"),
      args: [
        ...[
          `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
          `--secure-port=${ports.api}`,
          "--bind-address=127.0.0.1",
        ],
        ...["--tls-cert-file=server.crt", "--tls-private-key-file=server.key", "--client-ca-file=ca.crt"],
        ...["--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=sa.pub"],
        ...["--service-account-signing-key-file=sa.key", "--authorization-mode=RBAC"],
        ...["--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none"],
        ...this.#state.apiServerArgs,
      ],
    });
    await this.#ready("kube-apiserver", async () => (await this.fetch("/readyz")).ok);
  }

  /** Ends etcd and waits until it is gone. */
  async killEtcd(signal: Deno.Signal = "SIGKILL"): Promise<void> {
    await endBackground(this.dir, "etcd", signal);
  }

  /** Starts etcd, again on the same data, and waits until it answers. */
  async startEtcd(): Promise<void> {
    const { dir, ports } = this.#state;
    const [client, peer] = [`http://127.0.0.1:${ports.etcd}`, `http://127.0.0.1:${ports.etcdPeer}`];
    await startBackground({
      name: "etcd",
      dir,
      command: this.#bin("etcd"),
      args: [
        ...["--data-dir=etcd", `--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
        ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`],
        ...[`--initial-cluster=default=${peer}`, "--unsafe-no-fsync"],
      ],
    });
    await this.#ready("etcd", async () => {
      const answer = await fetch(`${client}/health`, { signal: AbortSignal.timeout(2_000) });
      await answer.body?.cancel();
      return answer.ok;
    });
  }

  /** Ends every process and removes the data. May be called twice. */
  async stop(): Promise<void> {
    this.close();
    for (const name of ["kube-controller-manager", "kube-apiserver", "etcd"]) {
      await endBackground(this.dir, name);
    }
    await Deno.remove(this.dir, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }

  /** Lets go of this handle's connections; the cluster runs on. */
  close(): void {
    this.#http?.close();
    this.#http = undefined;
  }

  #bin(name: string): string {
    const path = this.#state.bin[name];
    if (path === undefined) {
      throw new Error(`Finding the binary "${name}" failed: tools/kube/build does not name it`);
    }
    return path;
  }

  async #startControllerManager(): Promise<void> {
    await startBackground({
      name: "kube-controller-manager",
      dir: this.dir,
      command: this.#bin("kube-controller-manager"),
      args: [
        ...["--kubeconfig=kubeconfig", "--service-account-private-key-file=sa.key", "--root-ca-file=ca.crt"],
        ...["--use-service-account-credentials=true", "--leader-elect=false", "--secure-port=0"],
        "--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller",
      ],
    });
  }

  async #ready(name: string, probe: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + READY_MS;
    let last: unknown;
    while (performance.now() < end) {
      try {
        if (await probe()) return;
      } catch (error) {
        last = error; // not listening yet
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const log = await Deno.readTextFile(`${this.dir}/${name}.log`);
    throw new Error(`Starting ${name} failed: ${log.trim().split("\n").slice(-5).join("\n")}`, {
      cause: last,
    });
  }

  #kubeconfigText(): string {
    return `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "${this.url}", certificate-authority: "${this.dir}/ca.crt"}}]
users: [{name: admin, user: {client-certificate: "${this.dir}/admin.crt", client-key: "${this.dir}/admin.key"}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`;
  }
}

/** Starts a cluster of its own, which the caller stops. For tests that kill it or want other flags. */
export async function startKube(options: KubeOptions = {}): Promise<Kube> {
  const dir = await Deno.makeTempDir({ prefix: "externaldatabase-kube-" });
  await guard(dir);
  return await Kube.start(dir, options);
}

/**
 * The one cluster that all test files of this process share, started by the first that asks. Never stop or kill it: it
 * ends with the test process.
 */
export async function sharedKube(): Promise<Kube> {
  // Each test file has its own module instances, so they meet in a directory named after the process.
  const dir = `${await Deno.realPath(
    Deno.env.get("TMPDIR") ?? "/tmp",
  )}/externaldatabase-kube-shared-${Deno.pid}`;
  await Deno.mkdir(dir, { recursive: true });
  using lock = await Deno.open(`${dir}/lock`, { create: true, write: true });
  await lock.lock(true);
  if (await Deno.stat(`${dir}/state.json`).then(() => true, () => false)) return Kube.attach(dir);
  await guard(dir);
  return await Kube.start(dir);
}

/** Makes a namespace with a name that no other has, waits for its default service account, and returns the name. */
export async function freshNamespace(kube: Kube, prefix = "test"): Promise<string> {
  const answer = await kube.fetch("/api/v1/namespaces", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { generateName: `${prefix}-` } }),
  });
  const body = await answer.json();
  if (!answer.ok) throw new Error(`Creating a namespace failed with ${answer.status}: ${body.message}`);
  const name: string = body.metadata.name;
  await eventually(`namespace "${name}" has its service account`, async () => {
    const account = await kube.fetch(`/api/v1/namespaces/${name}/serviceaccounts/default`);
    await account.body?.cancel();
    return account.ok;
  });
  return name;
}
