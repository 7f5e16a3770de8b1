import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ProviderError } from "../../src/providers/port.ts";
import { type Arrived, CALL, described, ok, rdsOn, refusal } from "./aws_rds_fake.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** The key id that a request was signed with. */
function signer({ headers }: Arrived): string | undefined {
  return /Credential=([^/]+)\//.exec(headers.get("authorization") ?? "")?.[1];
}

function envOf(values: Record<string, string>): (name: string) => string | undefined {
  return (name) => values[name];
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => undefined, (e: unknown) => e);
  assert(error instanceof ProviderError, String(error));
  assertEquals(error.errorClass, "unauthorised");
  return error.message;
}

const sts = (action: string, id: string, expires: string) =>
  ok(
    action,
    `<Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>s-${id}</SecretAccessKey>` +
      `<SessionToken>t-${id}</SessionToken><Expiration>${expires}</Expiration></Credentials>`,
  );

Deno.test("F5: a credentials file is read again when its keys are refused, and every minute", async () => {
  const clock = new VirtualClock();
  const file = (id: string) =>
    `[other]\naws_access_key_id=no\n[default]\naws_access_key_id = ${id}\naws_secret_access_key = s\n`;
  let text = file("ONE");
  let reads = 0;
  let refuse = false;
  const { provider, arrived } = rdsOn(() => refuse ? refusal(403, "InvalidClientTokenId") : described(), {
    clock,
    credentials: undefined,
    credentialsFile: "/etc/aws",
    readFile: () => {
      reads++;
      return Promise.resolve(text);
    },
  });
  const list = () => provider.list({ ...CALL, tags: {} });
  const last = () => signer(arrived.at(-1)!);
  await list();
  await list();
  assertEquals([last(), reads], ["ONE", 1]);
  text = file("TWO");
  refuse = true;
  await messageOf(list());
  refuse = false;
  await list();
  assertEquals([last(), reads], ["TWO", 2]);
  text = file("THREE");
  await list();
  assertEquals(last(), "TWO");
  await clock.advance(60_000);
  await list();
  assertEquals(last(), "THREE");
  for (
    const [bad, why] of [["", "no section"], [
      "[default]\naws_access_key_id=x",
      "AWS_SECRET_ACCESS_KEY is missing",
    ]]
  ) {
    text = bad!;
    await clock.advance(60_000);
    const message = await messageOf(list());
    assertStringIncludes(message, "/etc/aws");
    assertStringIncludes(message, why!);
  }
});

Deno.test("F5: the keys of a class's Secret are the newest with every call", async () => {
  let id = "ONE";
  const { provider, arrived } = rdsOn(() => described(), {
    credentials: () => Promise.resolve({ AWS_ACCESS_KEY_ID: `${id}\n`, AWS_SECRET_ACCESS_KEY: "s\n" }),
  });
  for (id of ["ONE", "TWO"]) await provider.list({ ...CALL, tags: {} });
  assertEquals(arrived.map(signer), ["ONE", "TWO"]);
  const { provider: empty } = rdsOn(() => described(), { credentials: () => Promise.resolve({}) });
  assertStringIncludes(await messageOf(empty.list({ ...CALL, tags: {} })), "AWS_ACCESS_KEY_ID is missing");
});

Deno.test("the environment's keys are used, and without any the error says what to do", async () => {
  const env = envOf({ AWS_ACCESS_KEY_ID: "ENV", AWS_SECRET_ACCESS_KEY: "s", AWS_SESSION_TOKEN: "token" });
  const { provider, arrived } = rdsOn(() => described(), { credentials: undefined, env });
  await provider.list({ ...CALL, tags: {} });
  assertEquals([signer(arrived[0]!), arrived[0]!.headers.get("x-amz-security-token")], ["ENV", "token"]);
  const { provider: none } = rdsOn(() => described(), { credentials: undefined });
  assertStringIncludes(await messageOf(none.list({ ...CALL, tags: {} })), "--aws-credentials-file");
});

Deno.test("a pod's web identity is changed into keys by STS, unsigned, and renewed before they end", async () => {
  const clock = new VirtualClock();
  let count = 0;
  const { provider, arrived } = rdsOn(({ action, parameters, headers }) => {
    if (action !== "AssumeRoleWithWebIdentity") return described();
    assertEquals(headers.get("authorization"), null);
    assertEquals(parameters.get("WebIdentityToken"), "the-token");
    assertEquals(parameters.get("RoleArn"), "arn:aws:iam::123456789012:role/operator");
    return sts(action, `KEY${++count}`, new Date(clock.now() + 3_600_000).toISOString());
  }, {
    clock,
    credentials: undefined,
    env: envOf({
      AWS_WEB_IDENTITY_TOKEN_FILE: "/var/token",
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/operator",
    }),
    readFile: (path) =>
      path === "/var/token" ? Promise.resolve("the-token\n") : Promise.reject(new Error("no file")),
  });
  const list = () => provider.list({ ...CALL, tags: {} });
  const signers = () => arrived.filter(({ action }) => action === "DescribeDBInstances").map(signer);
  await list();
  await clock.advance(50 * 60_000);
  await list();
  await clock.advance(6 * 60_000);
  await list();
  assertEquals(signers(), ["KEY1", "KEY1", "KEY2"]);
});

Deno.test("a web identity that STS refuses is a matter of credentials, and its token is not shown", async () => {
  for (const code of ["InvalidIdentityToken", "AccessDenied", "ValidationError"]) {
    const { provider } = rdsOn(() => refusal(400, code, "Token the-token is no good"), {
      credentials: undefined,
      env: envOf({ AWS_WEB_IDENTITY_TOKEN_FILE: "/t", AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/o" }),
      readFile: () => Promise.resolve("the-token"),
    });
    const message = await messageOf(provider.info(CALL));
    assertStringIncludes(message, code);
    assert(!message.includes("the-token"), message);
  }
});

Deno.test("the agent of EKS Pod Identity gives keys; its token goes to no other host", async () => {
  const env = (uri: string) =>
    envOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: uri, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: "/token" });
  const answer = (request: Arrived) => {
    if (request.action !== "") return described();
    assertEquals(request.headers.get("authorization"), "agent-token");
    return JSON.stringify({
      AccessKeyId: "POD",
      SecretAccessKey: "s",
      Token: "t",
      Expiration: "2126-01-01T00:00:00Z",
    });
  };
  const readFile = () => Promise.resolve("agent-token\n");
  const good = rdsOn(answer, {
    credentials: undefined,
    readFile,
    env: env("http://169.254.170.23/v1/credentials"),
  });
  await good.provider.list({ ...CALL, tags: {} });
  assertEquals(signer(good.arrived.at(-1)!), "POD");
  const bad = rdsOn(answer, {
    credentials: undefined,
    readFile,
    env: env("http://evil.example/v1/credentials"),
  });
  assertStringIncludes(
    await messageOf(bad.provider.list({ ...CALL, tags: {} })),
    "not the address of an agent",
  );
  assertEquals(bad.arrived, []);
});

Deno.test("a role of another account is taken on with the keys, held, and taken on anew when it is refused", async () => {
  const clock = new VirtualClock();
  let count = 0;
  let refuse = false;
  const { provider, arrived } = rdsOn((request) => {
    const { action, parameters } = request;
    if (action !== "AssumeRole") return refuse ? refusal(403, "ExpiredToken") : described();
    assertEquals([signer(request), parameters.get("ExternalId")], ["AKIATEST", "shared-word"]);
    return sts(action, `ROLE${++count}`, new Date(clock.now() + 3_600_000).toISOString());
  }, {
    clock,
    parameters: {
      assumeRoleArn: "arn:aws:iam::210987654321:role/databases",
      assumeRoleExternalId: "shared-word",
    },
  });
  const list = () => provider.list({ ...CALL, tags: {} });
  await list();
  await list();
  refuse = true;
  await messageOf(list());
  refuse = false;
  await list();
  const signers = arrived.filter(({ action }) => action === "DescribeDBInstances").map(signer);
  assertEquals(signers, ["ROLE1", "ROLE1", "ROLE1", "ROLE2"]);
  const answers: readonly [Response | Promise<Response>, string][] = [
    [refusal(403, "AccessDenied", "not allowed"), "unauthorised"],
    [refusal(400, "ValidationError"), "unauthorised"],
    [refusal(400, "Throttling"), "throttled"],
    [refusal(500, "InternalFailure"), "retryable"],
    [new Response("<html></html>"), "retryable"],
    [new Response(ok("AssumeRole")), "retryable"],
  ];
  for (const [answer, expected] of answers) {
    const { provider } = rdsOn(() => answer, {
      parameters: { assumeRoleArn: "arn:aws:iam::210987654321:role/databases" },
    });
    const request = { name: "a", engine: "postgres", version: "16", sizeGb: 20, tags: {}, clientToken: "t" };
    const error = await provider.create(request, CALL).then(() => undefined, (e: unknown) => e);
    assert(error instanceof ProviderError);
    assertEquals(error.errorClass, expected);
    assertStringIncludes(error.message, "Taking on the role arn:aws:iam::210987654321:role/databases: ");
  }
});

Deno.test("the provider needs no permission but the network's: it looks into no file and asks the system nothing", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const action = new URLSearchParams(await request.text()).get("Action") ?? "";
    return new Response(
      action === "GetCallerIdentity" ? ok(action, "<Account>123456789012</Account>") : described(),
    );
  });
  const { port } = server.addr;
  const here = (path: string) => new URL(`../../${path}`, import.meta.url).href;
  const code = `
    const { createProvider } = await import("${here("src/providers/registry.ts")}");
    const { systemClock } = await import("${here("src/core/clock.ts")}");
    const { systemRandom } = await import("${here("src/core/random.ts")}");
    const provider = createProvider("aws-rds", {
      clock: systemClock,
      random: systemRandom,
      awsEndpointUrl: "http://127.0.0.1:${port}",
    });
    const signal = new AbortController().signal;
    const { account } = await provider.info({ signal });
    const { items } = await provider.list({ signal, tags: {} });
    console.log(account, items.length);`;
  try {
    const map = new TextDecoder().decode(
      (await new Deno.Command(Deno.execPath(), {
        args: ["run", "--allow-net=jsr.io", new URL("../../tools/std.ts", import.meta.url).pathname],
        cwd: new URL("../../", import.meta.url),
      }).output()).stdout,
    ).trim();
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    await Deno.writeTextFile(file, code);
    const names = "AWS_REGION,AWS_ACCESS_KEY_ID,AWS_SECRET_ACCESS_KEY,AWS_SESSION_TOKEN";
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...[
          "run",
          "--no-prompt",
          "--no-check",
          "--config",
          new URL("../../deno.json", import.meta.url).pathname,
        ],
        ...(map === "" ? [] : [map]),
        ...[`--allow-net=127.0.0.1:${port}`, `--allow-env=${names}`, "--ignore-env", file],
      ],
      cwd: new URL("../../", import.meta.url),
      env: {
        AWS_REGION: "eu-west-1",
        AWS_ACCESS_KEY_ID: "AKIATEST",
        AWS_SECRET_ACCESS_KEY: "s",
        NO_COLOR: "1",
      },
    }).output();
    await Deno.remove(file);
    const text = new TextDecoder();
    assertEquals(text.decode(stdout).trim(), "aws/123456789012/eu-west-1 0", text.decode(stderr));
  } finally {
    await server.shutdown();
  }
});
