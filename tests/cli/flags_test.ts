import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Invocation } from "../../src/cli/flags.ts";
import { parseCommandLine } from "../../src/cli/flags.ts";
import { envName } from "../../src/cli/flag.ts";
import type { DemoOptions, StartOptions } from "../../src/cli/options.ts";
import { DEMO_FLAGS, START_FLAGS } from "../../src/cli/options.ts";
import { STATECHART_FLAGS } from "../../src/cli/statechart_options.ts";

/** Parses under variables of its own; what was set before comes back. */
async function parse(line: string, env: Record<string, string> = {}, inPod = false): Promise<Invocation> {
  const names = [...new Set([...START_FLAGS, ...DEMO_FLAGS].map((flag) => envName(flag.name)))];
  const before = names.map((name) => [name, Deno.env.get(name)] as const);
  for (const name of names) {
    const value = env[name];
    if (value === undefined) Deno.env.delete(name);
    else Deno.env.set(name, value);
  }
  try {
    return await parseCommandLine(line.split(" ").filter((part) => part !== ""), { inPod, version: "1.2.3" });
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
}

async function start(line: string, env?: Record<string, string>, inPod?: boolean): Promise<StartOptions> {
  const invocation = await parse(`start ${line}`, env, inPod);
  assertEquals(invocation.command, "start", "text" in invocation ? invocation.text : "");
  return (invocation as { options: StartOptions }).options;
}

async function usage(line: string, env?: Record<string, string>, inPod?: boolean): Promise<string> {
  const invocation = await parse(line, env, inPod);
  assertEquals(invocation.command, "usage");
  return (invocation as { text: string }).text;
}

Deno.test("start without flags has the documented defaults", async () => {
  assertEquals(await start(""), {
    provider: "simulated",
    cloudUrl: undefined,
    cloudTokenFile: undefined,
    postgresUrlFile: undefined,
    localFolder: undefined,
    awsRegion: undefined,
    awsEndpointUrl: undefined,
    awsParametersFile: undefined,
    awsCredentialsFile: undefined,
    kubeconfig: undefined,
    context: undefined,
    namespaces: [],
    pollIntervalMs: 300_000,
    cacheTtlMs: 300_000,
    concurrency: 64,
    rate: 0,
    listen: { hostname: "127.0.0.1", port: 8080 },
    httpAuth: "none",
    tls: undefined,
    leaderElect: false,
    leaseNamespace: undefined,
    leaseName: "externaldatabase-operator",
    shards: 1,
    clusterId: undefined,
    callTimeoutMs: 30_000,
    logFormat: "json",
    logLevel: "info",
  });
});

Deno.test("flags, their variables, and the flag before the variable", async () => {
  const options = await start(
    "--poll-interval 1h30m --namespace a --namespace b,c --rate 2.5 --listen [::1]:0 --provider http --cloud-url http://c:1/",
    { EDB_POLL_INTERVAL: "10s", EDB_CONCURRENCY: "8", EDB_LOG_LEVEL: "debug" },
  );
  assertEquals(options.pollIntervalMs, 5_400_000);
  assertEquals(options.namespaces, ["a", "b", "c"]);
  assertEquals(options.rate, 2.5);
  assertEquals(options.listen, { hostname: "::1", port: 0 });
  assertEquals([options.provider, options.cloudUrl], ["http", "http://c:1"]);
  assertEquals([options.concurrency, options.logLevel], [8, "debug"]);
  assertEquals((await start("", { EDB_NAMESPACE: "x, y,x" })).namespaces, ["x", "y"]);
  assertEquals((await start("--listen :9090")).listen, { hostname: "0.0.0.0", port: 9090 });
});

Deno.test("leader election is on in a pod and off outside, and both can be said", async () => {
  assertEquals((await start("--provider http --cloud-url http://c", {}, true)).leaderElect, true);
  assertEquals((await start("--provider simulated --no-leader-elect", {}, true)).leaderElect, false);
  assertEquals((await start("--leader-elect")).leaderElect, true);
  assertEquals((await start("--leader-elect false", {}, false)).leaderElect, false);
  assertEquals((await start("--provider simulated", { EDB_LEADER_ELECT: "false" }, true)).leaderElect, false);
  assertEquals((await start("--no-leader-elect", { EDB_LEADER_ELECT: "true" })).leaderElect, false);
});

Deno.test("a cluster never gets a silent simulated cloud", async () => {
  const text = await usage("start", {}, true);
  assertStringIncludes(text, "--provider is required in a cluster");
  assertStringIncludes(text, "EDB_PROVIDER");
});

const BAD: readonly [string, string][] = [
  ["poll-interval", "5 minutes"],
  ["poll-interval", "9s"],
  ["poll-interval", "90d"],
  ["poll-interval", "-5m"],
  ["cache-ttl", "0s"],
  ["concurrency", "0"],
  ["concurrency", "1e3"],
  ["concurrency", "64.5"],
  ["rate", "-1"],
  ["rate", "many"],
  ["listen", "8080"],
  ["listen", "host:99999"],
  ["listen", "::1:80"],
  ["provider", "gcp"],
  ["cloud-url", "ftp://x"],
  ["cloud-url", "cloud"],
  ["namespace", "Shop"],
  ["namespace", "a_b"],
  ["lease-name", "-x"],
  ["cluster-id", "x y"],
  ["shards", "zero"],
  ["shards", "2"],
  ["call-timeout", "1h"],
  ["log-format", "xml"],
  ["log-level", "trace"],
  ["leader-elect", "perhaps"],
  ["kubeconfig", ""],
];

Deno.test("H2: every bad value is refused by name, from the flag and from its variable, with the way out", async () => {
  for (const [name, value] of BAD) {
    const byFlag = await parseCommandLine(["start", `--${name}=${value}`], { inPod: false, version: "0" });
    assertEquals(byFlag.command, "usage", `--${name}=${value}`);
    assertStringIncludes((byFlag as { text: string }).text, `--${name}`);
    assertStringIncludes((byFlag as { text: string }).text, "start --help");
    const byEnv = await usage("start", { [envName(name)]: value });
    assertStringIncludes(byEnv, `--${name}`);
    if (name !== "shards" || value !== "2") assertStringIncludes(byEnv, envName(name));
    assertMatch(byEnv, /Use |Allowed choices|leave it out|write it like/, byEnv);
  }
});

Deno.test("unknown flags and commands are refused with the nearest that exists", async () => {
  assertMatch(
    await usage("start --pol-interval 5m"),
    /unknown option '--pol-interval'\n\(Did you mean --poll-interval\?\)/,
  );
  assertMatch(await usage("strat"), /unknown command 'strat'\n\(Did you mean start\?\)/);
  assertMatch(await usage("start extra"), /too many arguments/);
  assertStringIncludes(await usage("bogus"), "--help");
  assertStringIncludes(await usage(""), "start [options]");
});

Deno.test("flags that do not go together are refused", async () => {
  assertStringIncludes(await usage("start --provider http"), "needs --cloud-url (or EDB_CLOUD_URL)");
  assertStringIncludes(await usage("start --cloud-url http://x"), "--cloud-url goes with --provider http");
  for (const provider of ["", " --provider simulated", " --provider postgres --postgres-url-file x"]) {
    assertStringIncludes(
      await usage(`start${provider} --cloud-token-file x`),
      "--cloud-token-file goes with --provider http",
    );
  }
  assertStringIncludes(
    await usage("start --lease-namespace x"),
    "--lease-namespace goes with --leader-elect",
  );
  assertEquals((await start("--lease-namespace x --leader-elect")).leaseNamespace, "x");
  const postgres = "start --provider postgres";
  assertStringIncludes(await usage(postgres), "needs --postgres-url-file (or EDB_POSTGRES_URL_FILE)");
  assertStringIncludes(await usage("start --postgres-url-file x"), "goes with --provider postgres");
  const { provider, postgresUrlFile } = await start("--provider postgres --postgres-url-file /etc/servers");
  assertEquals([provider, postgresUrlFile], ["postgres", "/etc/servers"]);
});

Deno.test("credentials given to the wrong flag are not echoed", async () => {
  for (const line of ["start --cloud-url http://me:s3cret@x", "start --listen postgres://me:s3cret@x/db"]) {
    const text = await usage(line);
    assert(!text.includes("s3cret"), text);
  }
});

Deno.test("every flag has a line of help with its variable", async () => {
  for (
    const [command, flags] of [["start", START_FLAGS], ["demo", DEMO_FLAGS], [
      "statechart",
      STATECHART_FLAGS,
    ]] as const
  ) {
    const invocation = await parse(`${command} --help`);
    assertEquals(invocation.command, "help");
    const text = (invocation as { text: string }).text.replace(/\s+/g, " ");
    for (const flag of flags) {
      assertStringIncludes(text, `--${flag.name} `);
      assertStringIncludes(text, `env: ${envName(flag.name)}`);
      assertStringIncludes(text, flag.description);
    }
  }
});

Deno.test("help, version and demo's options", async () => {
  const help = await parse("--help");
  for (const name of ["start", "demo", "cloud", "statechart"]) {
    assertMatch((help as { text: string }).text, new RegExp(`^  ${name} `, "m"));
  }
  assertEquals(await parse("--version"), { command: "help", text: "1.2.3\n" });
  const demo = (await parse("demo --listen 127.0.0.1:0 --samples 5 --provisioning 0s")) as {
    options: DemoOptions;
  };
  assertEquals([demo.options.samples, demo.options.provisioningMs, demo.options.logFormat], [5, 0, "text"]);
});
