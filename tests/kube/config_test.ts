/** Where the cluster is, and what is said when it cannot be found. @module */
import { assert, assertEquals, assertMatch, assertNotMatch, assertRejects } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { ConfigError, loadClusterConfig, type LoadConfigOptions } from "../../src/kube/config.ts";
import { fileToken } from "../../src/kube/credentials.ts";
import { ManualClock } from "../support/manual_clock.ts";

const PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const KEY = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";

/** Runs in a directory of its own; `load` has no environment but what it is given. */
async function inDir(
  run: (
    dir: string,
    load: (
      options?: Partial<LoadConfigOptions>,
      env?: Record<string, string>,
    ) => ReturnType<typeof loadClusterConfig>,
  ) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await run(dir, (options = {}, env = {}) =>
      loadClusterConfig({
        clock: systemClock,
        env: (name) => env[name],
        serviceAccountDir: `${dir}/serviceaccount`,
        ...options,
      }));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

function kubeconfig(
  user: unknown,
  cluster: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: "https://10.1.2.3:6443/", ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "team" } }],
    "current-context": "x",
    ...more,
  });
}

async function refused(work: Promise<unknown>): Promise<string> {
  const error = await assertRejects(() => work, ConfigError);
  assertNotMatch(error.message, /\n/, "one line");
  return error.message;
}

Deno.test("Nothing found: the error says how to name a cluster and points to the demo", () =>
  inDir(async (_dir, load) => {
    const message = await refused(load());
    assertMatch(message, /--kubeconfig/);
    assertMatch(message, /KUBECONFIG/);
    assertMatch(message, /--context/);
    assertMatch(message, /demo/);
  }));

Deno.test("In a pod the service account is taken, its token trimmed and its files read again", () =>
  inDir(async (dir, load) => {
    await Deno.mkdir(`${dir}/serviceaccount`);
    await Deno.writeTextFile(`${dir}/serviceaccount/token`, "tok\n");
    await Deno.writeTextFile(`${dir}/serviceaccount/ca.crt`, PEM);
    await Deno.writeTextFile(`${dir}/serviceaccount/namespace`, "ops\n");
    const config = await load({}, { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" });
    assertEquals([config.server, config.namespace, config.inCluster], [
      "https://[fd00::1]:6443",
      "ops",
      true,
    ]);
    const identity = await config.credentials.current();
    assertEquals(identity.headers["Authorization"], "Bearer tok");
    assertEquals((await config.readTls()).caCerts, [PEM]);
    await Deno.writeTextFile(`${dir}/serviceaccount/ca.crt`, `${PEM}${PEM}`);
    assertEquals((await config.readTls()).caCerts, [`${PEM}${PEM}`]);
    await Deno.writeTextFile(`${dir}/serviceaccount/token`, "new");
    assertEquals(await config.credentials.refresh(identity), true);
    assertEquals((await config.credentials.current()).headers["Authorization"], "Bearer new");
  }));

Deno.test("In a pod without a token the error names the file; a kubeconfig may stand in", () =>
  inDir(async (dir, load) => {
    const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1" };
    assertMatch(await refused(load({}, env)), new RegExp(`there is no file "${dir}/serviceaccount/token"`));
    await Deno.writeTextFile(`${dir}/config`, kubeconfig({ token: "t" }));
    const config = await load({}, { ...env, KUBECONFIG: `${dir}/config` });
    assertEquals(config.inCluster, false);
  }));

Deno.test("In a pod --context is refused where there is no kubeconfig that it could be of", () =>
  inDir(async (_dir, load) => {
    assertMatch(
      await refused(load({ context: "other" }, { KUBERNETES_SERVICE_HOST: "10.0.0.1" })),
      /--context names a context of a kubeconfig, and the service account of a pod has none/,
    );
  }));

Deno.test("--kubeconfig goes ahead of the pod's service account and of KUBECONFIG", () =>
  inDir(async (dir, load) => {
    await Deno.writeTextFile(`${dir}/config`, kubeconfig({ token: " t\n" }));
    const config = await load({ kubeconfig: `${dir}/config` }, {
      KUBERNETES_SERVICE_HOST: "10.0.0.1",
      KUBECONFIG: "/nowhere",
    });
    assertEquals(config.source, `kubeconfig ${dir}/config, context x`);
    assertEquals([config.server, config.namespace], ["https://10.1.2.3:6443", "team"]);
    assertEquals((await config.credentials.current()).headers, { Authorization: "Bearer t" });
  }));

Deno.test("Users: certificates as data and as files, basic, token file, impersonation", () =>
  inDir(async (dir, load) => {
    const write = (user: unknown, cluster = {}) =>
      Deno.writeTextFile(`${dir}/config`, kubeconfig(user, cluster));
    const open = () => load({ kubeconfig: `${dir}/config` });
    await write({ "client-certificate-data": btoa(PEM), "client-key-data": btoa(KEY) }, {
      "certificate-authority-data": btoa(PEM),
    });
    assertEquals(await (await open()).readTls(), { caCerts: [PEM], cert: PEM, key: KEY });
    await Deno.writeTextFile(`${dir}/c.crt`, PEM);
    await Deno.writeTextFile(`${dir}/c.key`, KEY);
    await write({ "client-certificate": "c.crt", "client-key": "c.key" }, {
      "certificate-authority": "c.crt",
    });
    assertEquals(await (await open()).readTls(), { caCerts: [PEM], cert: PEM, key: KEY });
    await write({ username: "ann", password: "pä" });
    const basic = (await (await open()).credentials.current()).headers["Authorization"] ?? "";
    assertEquals(basic, `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode("ann:pä")))}`);
    await Deno.writeTextFile(`${dir}/tok`, "from-file\n");
    await write({ tokenFile: "tok", token: "fixed", as: "bob" });
    assertEquals((await (await open()).credentials.current()).headers, {
      "Impersonate-User": "bob",
      Authorization: "Bearer from-file",
    });
  }));

Deno.test("A credential plugin is run once while its credential is good, and again after a 401", () =>
  inDir(async (dir, load) => {
    const script = `echo run >> ${dir}/runs; n=$(wc -l < ${dir}/runs); ` +
      `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t%d"}}' $n`;
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: ["-c", script] };
    await Deno.writeTextFile(`${dir}/config`, kubeconfig({ exec }));
    const { credentials } = await load({ kubeconfig: `${dir}/config` });
    const [first, again] = await Promise.all([credentials.current(), credentials.current()]);
    assertEquals([first.headers["Authorization"], again.headers["Authorization"]], [
      "Bearer t1",
      "Bearer t1",
    ]);
    assertEquals(await credentials.refresh(first), true);
    assertEquals((await credentials.current()).headers["Authorization"], "Bearer t2");
    assertEquals(await credentials.refresh(first), true, "refreshed by another request meanwhile");
    assertEquals((await Deno.readTextFile(`${dir}/runs`)).trim().split("\n").length, 2);
  }));

Deno.test("A credential plugin that fails is named, with the first line that it said", () =>
  inDir(async (dir, load) => {
    const exec = { command: "sh", args: ["-c", "echo 'login first' >&2; echo more >&2; exit 3"] };
    await Deno.writeTextFile(`${dir}/config`, kubeconfig({ exec }));
    const { credentials } = await load({ kubeconfig: `${dir}/config` });
    const message = await refused(credentials.current());
    assertEquals(message, 'Asking the credential plugin "sh" of the kubeconfig\'s user "u": login first');
  }));

Deno.test("Several kubeconfigs are merged: the first that names a thing wins, missing ones are passed over", () =>
  inDir(async (dir, load) => {
    await Deno.writeTextFile(`${dir}/one`, kubeconfig({ token: "one" }));
    await Deno.writeTextFile(
      `${dir}/two`,
      kubeconfig({ token: "two" }, {}, {
        contexts: [{ name: "y", context: { cluster: "c", user: "u" } }],
        "current-context": "y",
      }),
    );
    const paths = `${dir}/none:${dir}/one:${dir}/two`;
    const first = await load({}, { KUBECONFIG: paths });
    assertEquals(first.source, `kubeconfig ${dir}/one:${dir}/two, context x`);
    const second = await load({ context: "y" }, { KUBECONFIG: paths });
    assertEquals((await second.credentials.current()).headers, { Authorization: "Bearer one" });
  }));

Deno.test("Every fault of a kubeconfig is one line that names the file or the field", async (t) => {
  const cases: readonly [string, string | undefined, RegExp, string?][] = [
    ["missing file", undefined, /named by --kubeconfig: there is no file ".*\/config"$/],
    ["not YAML", "a: [b\n c: }", /".*\/config" is malformed: /],
    ["empty", "", /is malformed: it holds no mapping/],
    ["a text", "hello", /is malformed: it holds no mapping/],
    ["clusters no list", '{"clusters": {"a": 1}}', /is malformed: clusters is not a list/],
    [
      "no server",
      '{"clusters": [{"name": "c", "cluster": {}}]}',
      /is malformed: clusters\[0\]\.cluster\.server is missing/,
    ],
    [
      "no current context",
      kubeconfig({}, {}, { "current-context": "" }),
      /no current-context; give --context \(there: "x"\)/,
    ],
    ["unknown context", kubeconfig({}), /\/config has no context "z" \(there: "x"\)/, "z"],
    ["unknown cluster", kubeconfig({}, {}, { clusters: [] }), /names the cluster "c", which is not there/],
    ["unknown user", kubeconfig({}, {}, { users: [] }), /names the user "u", which is not there/],
    [
      "server no URL",
      kubeconfig({}, { server: "10.1.2.3" }),
      /server "10\.1\.2\.3" of cluster "c" is not an http or https URL/,
    ],
    [
      "CA file missing",
      kubeconfig({}, { "certificate-authority": "no.crt" }),
      /certificate-authority of .*: there is no file ".*\/no\.crt"/,
    ],
    [
      "CA garbage",
      kubeconfig({}, { "certificate-authority-data": btoa("garbage") }),
      /holds no PEM certificate/,
    ],
    ["CA not base64", kubeconfig({}, { "certificate-authority-data": "%%%" }), /not base64/],
    [
      "certificate without key",
      kubeconfig({ "client-certificate-data": btoa(PEM) }),
      /needs client-certificate and client-key together/,
    ],
    [
      "tls-server-name",
      kubeconfig({}, { "tls-server-name": "k" }),
      /tls-server-name of cluster "c" is not supported/,
    ],
  ];
  for (const [name, text, message, context] of cases) {
    await t.step(name, () =>
      inDir(async (dir, load) => {
        if (text !== undefined) await Deno.writeTextFile(`${dir}/config`, text);
        assertMatch(await refused(load({ kubeconfig: `${dir}/config`, context })), message);
      }));
  }
});

Deno.test("A token file is read once a minute, and while it is being replaced the old token is used", () =>
  inDir(async (dir) => {
    const clock = new ManualClock();
    const token = async () => (await credentials.current()).headers["Authorization"];
    const credentials = fileToken(`${dir}/token`, clock);
    assertMatch(await refused(credentials.current()), /there is no file/);
    await Deno.writeTextFile(`${dir}/token`, "\n");
    assertMatch(await refused(credentials.current()), /is empty/);
    await Deno.writeTextFile(`${dir}/token`, "a");
    assertEquals(await token(), "Bearer a");
    await Deno.writeTextFile(`${dir}/token`, "b");
    await clock.advance(59_000);
    assertEquals(await token(), "Bearer a");
    await clock.advance(1_000);
    assertEquals(await token(), "Bearer b");
    await Deno.remove(`${dir}/token`);
    await clock.advance(60_000);
    assertEquals(await token(), "Bearer b");
    assert(
      await credentials.refresh({ headers: {} }),
      "another identity than the one that was refused is there",
    );
  }));

Deno.test("To skip the verification of TLS is asked for where there is TLS, and not over plain HTTP", () =>
  inDir(async (dir, load) => {
    for (
      const [server, asked] of [["https://10.1.2.3:6443", true], ["http://127.0.0.1:8001", false]] as const
    ) {
      await Deno.writeTextFile(`${dir}/config`, kubeconfig({}, { server, "insecure-skip-tls-verify": true }));
      assertEquals((await load({ kubeconfig: `${dir}/config` })).skipTlsVerify, asked, server);
    }
  }));
