import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import fc from "fast-check";
import { type DatabaseProvider, ProviderError } from "../../src/providers/port.ts";
import { CALL, described, instance, KEYS, ok, rdsOn, refusal } from "./aws_rds_fake.ts";
import { serveRaw } from "./raw_server.ts";
import { createTransport } from "../../src/providers/transport.ts";
import { VirtualClock } from "./virtual_clock.ts";

type Verb = "info" | "get" | "list" | "create" | "modify" | "delete";

const PASSWORD = "never-to-be-seen-0123456789";

function call(provider: DatabaseProvider, verb: Verb, options = CALL): Promise<unknown> {
  switch (verb) {
    case "info":
      return provider.info(options);
    case "get":
      return provider.get("db-AAAA", options);
    case "list":
      return provider.list({ ...options, tags: {} });
    case "create": {
      const request = {
        name: "a",
        engine: "postgres",
        version: "16",
        sizeGb: 20,
        tags: {},
        clientToken: "t-1",
      };
      return provider.create({ ...request, password: PASSWORD }, options);
    }
    case "modify":
      return provider.modify("db-AAAA", { sizeGb: 30, password: PASSWORD }, options);
    case "delete":
      return provider.delete("db-AAAA", options);
  }
}

async function errorOf(promise: Promise<unknown>): Promise<ProviderError> {
  const error = await promise.then(() => undefined, (e: unknown) => e);
  assertInstanceOf(error, ProviderError);
  return error;
}

/** A provider whose reads before a mutation are answered, and whose own request of each verb meets `answer`. */
function meeting(
  answer: () => Response | string | Promise<Response>,
  options: Parameters<typeof rdsOn>[1] = {},
) {
  let verb: Verb = "info";
  const { provider } = rdsOn((request) => {
    const before = request.action === "DescribeDBInstances" && (verb === "modify" || verb === "delete");
    return before ? described(instance()) : answer();
  }, options);
  return (of: Verb, how = CALL) => {
    verb = of;
    return errorOf(call(provider, of, how));
  };
}

const MUTATIONS: readonly Verb[] = ["create", "modify", "delete"];
const READS: readonly Verb[] = ["info", "get", "list"];
const ALL = [...READS, ...MUTATIONS];

Deno.test("S6: what AWS answers is classified by its code first, then by its status", async () => {
  const table: readonly [status: number, code: string, verbs: readonly Verb[], expected: string][] = [
    [404, "DBInstanceNotFound", ["get", "modify", "delete"], "absent"],
    [404, "DBInstanceNotFoundFault", ["get"], "absent"],
    [404, "DBInstanceNotFound", ["list", "info", "create"], "retryable"],
    [400, "InvalidDBInstanceState", ["modify"], "busy"],
    [400, "Throttling", ALL, "throttled"],
    [503, "Throttling", ALL, "throttled"],
    [400, "RequestLimitExceeded", ALL, "throttled"],
    [429, "Whatever", ALL, "throttled"],
    [403, "AccessDenied", ALL, "unauthorised"],
    [403, "ExpiredToken", ALL, "unauthorised"],
    [400, "ExpiredTokenException", ALL, "unauthorised"],
    [403, "InvalidClientTokenId", ALL, "unauthorised"],
    [403, "SignatureDoesNotMatch", ALL, "unauthorised"],
    [403, "RequestTimeTooSkewed", ALL, "retryable"],
    [400, "InsufficientDBInstanceCapacity", ["create", "modify"], "retryable"],
    [400, "InstanceQuotaExceeded", ["create"], "rejected"],
    [404, "DBSubnetGroupNotFoundFault", ["create"], "rejected"],
    [400, "InvalidParameterValue", MUTATIONS, "rejected"],
    [400, "KMSKeyNotAccessibleFault", ["create"], "rejected"],
    [500, "InternalFailure", READS, "retryable"],
    [500, "InternalFailure", MUTATIONS, "unknown"],
    [503, "ServiceUnavailable", READS, "retryable"],
    [503, "ServiceUnavailable", MUTATIONS, "unknown"],
  ];
  for (const [status, code, verbs, expected] of table) {
    const meet = meeting(() => refusal(status, code));
    for (const verb of verbs) {
      const error = await meet(verb);
      assertEquals(error.errorClass, expected, `${verb} ${status} ${code}: ${error.message}`);
      assertEquals(error.code, code.replace(/(Fault|Exception)$/, ""));
    }
  }
});

Deno.test("S6: a page of somebody else's is never taken for an answer, whatever its status", async () => {
  const pages: readonly [status: number, body: string, reads: string, mutations: string][] = [
    [200, "", "retryable", "unknown"],
    [200, "<html></html>", "retryable", "unknown"],
    [200, "<html><b>Sign in", "retryable", "unknown"],
    [200, "{}", "retryable", "unknown"],
    [200, ok("SomethingElse"), "retryable", "unknown"],
    [302, "", "retryable", "retryable"],
    [401, "no", "unauthorised", "unauthorised"],
    [403, "<html><b>Forbidden", "unauthorised", "unauthorised"],
    [404, "<html>Not found</html>", "retryable", "retryable"],
    [502, "<html>Bad gateway</html>", "retryable", "unknown"],
    [503, "", "retryable", "unknown"],
  ];
  for (const [status, body, reads, mutations] of pages) {
    const meet = meeting(() => new Response(body, { status }));
    for (const verb of ALL) {
      const { errorClass, message } = await meet(verb);
      assertEquals(
        errorClass,
        MUTATIONS.includes(verb) ? mutations : reads,
        `${verb} ${status} "${body}": ${message}`,
      );
    }
  }
  // An answer of the right name that holds no list is no empty list.
  const meet = meeting(() => ok("DescribeDBInstances"));
  for (const verb of ["get", "list"] as const) assertEquals((await meet(verb)).errorClass, "retryable");
});

Deno.test("S6: an answer that is cut anywhere is none, and one with anything in it is a value or an error of a class", async () => {
  const whole = described(instance());
  for (let size = 0; size < whole.length; size += 11) {
    const meet = meeting(() => whole.slice(0, size));
    assertEquals((await meet("get")).errorClass, "retryable", whole.slice(0, size));
    const created = ok("CreateDBInstance", instance());
    const meetCreate = meeting(() => created.slice(0, Math.min(size, created.length - 1)));
    assertEquals((await meetCreate("create")).errorClass, "unknown");
  }
  const anything = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "",
      "0",
      "-1",
      "1e999",
      "NaN",
      "<x/>",
      "&amp;",
      "&#0;",
      "&undefined;",
      "<![CDATA[x]]>",
      "<!-- -->",
      "__proto__",
    ),
  );
  const field = fc.constantFrom(
    ...[
      "DBInstanceIdentifier",
      "Engine",
      "EngineVersion",
      "DBInstanceStatus",
      "Endpoint",
      "AllocatedStorage",
    ],
    ...["InstanceCreateTime", "DbiResourceId", "DBInstanceArn", "TagList", "DBName", "PendingModifiedValues"],
  );
  await fc.assert(
    fc.asyncProperty(field, anything, async (name, value) => {
      const { provider } = rdsOn(() => described(instance({ [name]: value })));
      for (const read of [() => provider.get("db-AAAA", CALL), () => provider.list({ ...CALL, tags: {} })]) {
        const error = await read().then(() => undefined, (e: unknown) => e);
        assert(error === undefined || error instanceof ProviderError, String(error));
        assert(error === undefined || error.errorClass === "retryable", error?.message);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("a list that is empty, and a filter that finds nothing, are definite answers", async () => {
  const { provider } = rdsOn(() => described());
  assertEquals(await provider.list({ ...CALL, tags: {} }), { items: [] });
  for (const verb of ["get", "modify", "delete"] as const) {
    assertEquals((await errorOf(call(provider, verb))).errorClass, "absent");
  }
});

Deno.test("an answer about another instance is none", async () => {
  const { provider } = rdsOn(() => described(instance({ DbiResourceId: "db-BBBB" })));
  for (const verb of ["get", "modify", "delete"] as const) {
    assertEquals((await errorOf(call(provider, verb))).errorClass, "retryable");
  }
});

Deno.test("a lost answer is unknown for a mutation and retryable for a read; without a connection nothing left", async () => {
  const meetReset = meeting(() => Promise.reject(new TypeError("error sending request: connection reset")));
  const meetRefused = meeting(() => {
    return Promise.reject(new TypeError("error sending request: client error (Connect): tcp connect error"));
  });
  for (const verb of ALL) {
    const reset = await meetReset(verb);
    assertEquals([reset.errorClass, reset.code], [
      MUTATIONS.includes(verb) ? "unknown" : "retryable",
      "ConnectionLost",
    ]);
    const refused = await meetRefused(verb);
    assertEquals([refused.errorClass, refused.code], ["retryable", "Unreachable"]);
  }
});

Deno.test("a mutation whose connection closes is sent once, over a socket too", async () => {
  const server = serveRaw(() => ({ bytes: "", then: "close" }));
  try {
    const { provider } = rdsOn(() => "", {
      fetch: createTransport().mutate,
      parameters: { endpointUrl: server.url },
    });
    assertEquals((await errorOf(call(provider, "create"))).errorClass, "unknown");
    assertEquals(server.requests.length, 1);
  } finally {
    await server.close();
  }
});

Deno.test("every call ends in time, whatever AWS does", async () => {
  const clock = new VirtualClock();
  let arrived = () => {};
  const meet = meeting(() => {
    arrived();
    return new Promise<Response>(() => {});
  }, { clock, timeoutMs: 5_000 });
  for (const verb of ALL) {
    const sent = new Promise<void>((resolve) => arrived = resolve);
    const met = meet(verb);
    await sent;
    const error = await clock.until(met, 6_000);
    assertEquals([error.errorClass, error.code], [
      MUTATIONS.includes(verb) ? "unknown" : "retryable",
      "Timeout",
    ]);
  }
});

Deno.test("rule 21: the fence is asked before each request that changes something, in the tick that sends it, and what it throws comes out unchanged", async () => {
  const fence = new Error("Not the leader");
  let allowed = 0;
  let fresh = false;
  const sent: [string, boolean][] = [];
  const tags = "<Tag><Key>old</Key><Value>1</Value></Tag>";
  const { provider } = rdsOn(({ action }) => {
    if (action === "DescribeDBInstances") return described(instance({ TagList: tags }));
    return ok(action, action === "ModifyDBInstance" ? instance() : "");
  }, { onRequest: (_verb, action, mutates) => mutates && sent.push([action, fresh]) });
  const beforeSend = () => {
    if (allowed-- === 0) throw fence;
    fresh = true;
    queueMicrotask(() => fresh = false);
  };
  const change = { sizeGb: 30, tags: { a: "1", old: null } };
  const actions = ["ModifyDBInstance", "AddTagsToResource", "RemoveTagsFromResource"];
  for (let n = 0; n < actions.length; n++) {
    allowed = n;
    sent.length = 0;
    const thrown = await provider.modify("db-AAAA", change, { ...CALL, beforeSend }).then(
      () => "sent",
      (e) => e,
    );
    assert(thrown === fence);
    assertEquals(Object.keys(fence), []);
    assertEquals(sent, actions.slice(0, n).map((action) => [action, true]));
  }
  allowed = 3;
  await provider.modify("db-AAAA", change, { ...CALL, beforeSend });
});

Deno.test("no error shows a key, a session token or a password, however AWS repeats them", async () => {
  const session = "session-token-very-secret-0123456789";
  const secret = KEYS.AWS_SECRET_ACCESS_KEY;
  for (
    const code of ["SignatureDoesNotMatch", "InvalidParameterValue", "IncompleteSignature", "AccessDenied"]
  ) {
    const text = `x-amz-security-token:${session} ${PASSWORD} ${secret} The Canonical String`;
    const meet = meeting(() => refusal(403, code, text), {
      credentials: () => Promise.resolve({ ...KEYS, AWS_SESSION_TOKEN: session }),
    });
    for (const verb of MUTATIONS) {
      for (let error: unknown = await meet(verb); error instanceof Error; error = error.cause) {
        const all = `${error.message} ${error.stack} ${JSON.stringify(error)} ${
          Deno.inspect(error, { depth: 9 })
        }`;
        // Only the calls that send the password know it.
        for (const hidden of verb === "delete" ? [session, secret] : [session, secret, PASSWORD]) {
          assert(!all.includes(hidden), `${verb} ${code}: ${all}`);
        }
      }
    }
  }
});

Deno.test("a change of storage while the last one is optimised is busy, not refused", async () => {
  const text =
    "You can't currently modify the storage of this DB instance because the previous storage change is being optimized.";
  const meet = meeting(() => refusal(400, "InvalidParameterCombination", text));
  assertEquals((await meet("modify")).errorClass, "busy");
});
