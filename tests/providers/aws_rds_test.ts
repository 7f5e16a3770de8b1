import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { parseRdsParameters } from "../../src/providers/aws-rds/parameters.ts";
import { instanceIdentifier, isSnapshotName } from "../../src/providers/aws-rds/names.ts";
import { type CreateRequest, ProviderError } from "../../src/providers/port.ts";
import {
  type Answer,
  type Arrived,
  CALL,
  described,
  instance,
  ok,
  rdsOn,
  refusal,
  tagList,
} from "./aws_rds_fake.ts";

const TAGS = { "db.my.domain/uid": "u-1", "db.my.domain/cluster": "c-1", "db.my.domain/incarnation": "1" };

function request(change: Partial<CreateRequest> = {}): CreateRequest {
  return {
    name: "orders",
    engine: "postgres",
    version: "16",
    sizeGb: 20,
    tags: TAGS,
    clientToken: "u-1-1",
    ...change,
  };
}

async function failure(promise: Promise<unknown>): Promise<[string, string | undefined, string]> {
  const error = await promise.then(() => undefined, (e: unknown) => e);
  assert(error instanceof ProviderError, String(error));
  return [error.errorClass, error.code, error.message];
}

/** What the provider sends to create, with some parameters. */
async function sentCreate(
  parameters: Record<string, unknown> = {},
  change: Partial<CreateRequest> = {},
): Promise<Record<string, string>> {
  const { provider, arrived } = rdsOn(() => ok("CreateDBInstance", instance()), { parameters });
  await provider.create(request(change), CALL);
  return Object.fromEntries(arrived[0]!.parameters);
}

Deno.test("an identifier is one that RDS takes, whatever the token, and tells tokens and clusters apart", () => {
  const valid = /^[a-z](?:[a-z0-9]|-(?!-)){0,61}[a-z0-9]$/;
  const cluster = (id: string) => ({ "db.my.domain/cluster": id });
  fc.assert(fc.property(fc.string({ unit: "binary" }), fc.string(), (token, id) => {
    const identifier = instanceIdentifier(token, cluster(id));
    assertMatch(identifier, valid);
    assertEquals(instanceIdentifier(token, cluster(id)), identifier);
    assertNotEquals(instanceIdentifier(`${token}-2`, cluster(id)), identifier);
    assertNotEquals(instanceIdentifier(token, cluster(`${id}2`)), identifier);
  }));
  const uid = "0b7e4c39-9c1e-4a52-8d3e-2f5a6b7c8d9e";
  const identifier = instanceIdentifier(`${uid}-${2 ** 31 - 1}`, cluster("a"));
  assertMatch(identifier, valid);
  assertStringIncludes(identifier, uid);
});

Deno.test("a create carries identity, tags, sizes and the parameters", async () => {
  const sent = await sentCreate({
    instanceClass: "db.m7g.large",
    subnetGroup: "private",
    securityGroups: "sg-1, sg-2",
    parameterGroup: "edb-{engine}-{major}",
    maxAllocatedStorage: "100",
    kmsKeyId: "alias/rds",
    multiAz: "true",
    port: "5433",
    storageType: "gp3",
    backupRetentionDays: 7,
  }, { password: "a-Password-0123456789", deletionProtection: true });
  const expected: Record<string, string> = {
    DBInstanceIdentifier: instanceIdentifier("u-1-1", TAGS),
    Engine: "postgres",
    EngineVersion: "16",
    AllocatedStorage: "20",
    MaxAllocatedStorage: "100",
    MasterUsername: "dbadmin",
    MasterUserPassword: "a-Password-0123456789",
    DBName: "app",
    DeletionProtection: "true",
    DBInstanceClass: "db.m7g.large",
    DBSubnetGroupName: "private",
    "VpcSecurityGroupIds.VpcSecurityGroupId.1": "sg-1",
    "VpcSecurityGroupIds.VpcSecurityGroupId.2": "sg-2",
    DBParameterGroupName: "edb-postgres-16",
    KmsKeyId: "alias/rds",
    MultiAZ: "true",
    Port: "5433",
    StorageType: "gp3",
    BackupRetentionPeriod: "7",
    StorageEncrypted: "true",
    PubliclyAccessible: "false",
    AutoMinorVersionUpgrade: "true",
    CopyTagsToSnapshot: "true",
    "Tags.Tag.1.Key": "db.my.domain/uid",
    "Tags.Tag.1.Value": "u-1",
  };
  for (const [key, value] of Object.entries(expected)) assertEquals(sent[key], value, key);
});

Deno.test("a create without a password sends one that nobody knows, or lets RDS manage it", async () => {
  const [first, second] = [await sentCreate(), await sentCreate()];
  assertMatch(first["MasterUserPassword"]!, /^[A-Za-z0-9]{30}$/);
  assertNotEquals(first["MasterUserPassword"], second["MasterUserPassword"]);
  const managed = await sentCreate({ managedMasterPassword: true, masterPasswordKmsKeyId: "k" });
  assertEquals([
    managed["ManageMasterUserPassword"],
    managed["MasterUserPassword"],
    managed["MasterUserSecretKmsKeyId"],
  ], [
    "true",
    undefined,
    "k",
  ]);
  const { provider } = rdsOn(({ action }) => {
    return ok(action, "<Account>123456789012</Account>");
  }, { parameters: { managedMasterPassword: "true" } });
  assertEquals((await provider.info(CALL)).passwords, undefined);
});

Deno.test("an account is named by number and region; RDS says what it promises", async () => {
  const { provider, arrived } = rdsOn(({ action }) =>
    ok(action, "<Account>123456789012</Account><UserId>u</UserId>")
  );
  assertEquals(await provider.info(CALL), {
    account: "aws/123456789012/eu-west-1",
    clientTokens: true,
    readLagSeconds: 30,
    effectBoundSeconds: 300,
    passwords: "always",
    snapshots: true,
    deletionProtection: true,
  });
  assertEquals(arrived[0]!.url, "https://sts.eu-west-1.amazonaws.com/");
  const places: readonly [Record<string, string>, string, string][] = [
    [{ endpointUrl: "http://127.0.0.1:1" }, "http://127.0.0.1:1/", "http://127.0.0.1:1/"],
    [
      { endpointUrl: "https://vpce-1.rds.eu-west-1.vpce.amazonaws.com" },
      "https://vpce-1.rds.eu-west-1.vpce.amazonaws.com/",
      "https://sts.eu-west-1.amazonaws.com/",
    ],
    [{ endpointUrl: "http://a.test", stsEndpointUrl: "http://b.test" }, "http://a.test/", "http://b.test/"],
  ];
  for (const [parameters, rds, sts] of places) {
    const asked = rdsOn(({ action }) => {
      return action === "GetCallerIdentity" ? ok(action, "<Account>123456789012</Account>") : described();
    }, { parameters });
    await asked.provider.info(CALL);
    await asked.provider.list({ ...CALL, tags: {} });
    assertEquals(asked.arrived.map(({ url }) => url), [sts, rds]);
  }
  const nameless = rdsOn(({ action }) => ok(action));
  assertEquals((await failure(nameless.provider.info(CALL))).slice(0, 2), ["retryable", "InvalidAnswer"]);
});

Deno.test("what RDS cannot make is refused before anything is sent", async () => {
  const { provider, arrived } = rdsOn(() => ok("CreateDBInstance", instance()));
  const cases: readonly [Partial<CreateRequest>, string][] = [
    [{ engine: "postgresql" }, 'write "postgres"'],
    [{ engine: "aurora-postgresql" }, "clusters"],
    [{ engine: "redis" }, "there are postgres, mysql"],
    [{ engine: "constructor" }, "no engine"],
    [{ tags: { "a&b": "x" } }, "has a key"],
    [{ tags: { "aws:x": "x" } }, "has a key"],
    [{ tags: { a: "x".repeat(257) } }, "has a value"],
  ];
  for (const [change, text] of cases) {
    const [errorClass, , message] = await failure(provider.create(request(change), CALL));
    assertEquals(errorClass, "rejected");
    assertStringIncludes(message, text);
  }
  assertEquals(arrived, []);
});

Deno.test("C1: a create that meets its own instance gives it; another's, or one asked for otherwise, is in the way", async () => {
  const meet = async (found: string | undefined, change: Partial<CreateRequest> = {}) => {
    const { provider, arrived } = rdsOn(({ action, parameters }): Answer => {
      if (action === "CreateDBInstance") return refusal(400, "DBInstanceAlreadyExists");
      assertEquals(parameters.get("DBInstanceIdentifier"), instanceIdentifier("u-1-1", TAGS));
      return found === undefined ? refusal(404, "DBInstanceNotFound") : described(found);
    });
    const result = await provider.create(request(change), CALL).then(
      ({ id }) => id,
      (e) => [e.errorClass, e.code],
    );
    assertEquals(arrived.map(({ action }) => action), ["CreateDBInstance", "DescribeDBInstances"]);
    return result;
  };
  const DBInstanceIdentifier = instanceIdentifier("u-1-1", TAGS);
  const mine = { DBInstanceIdentifier, TagList: tagList(TAGS) };
  assertEquals(await meet(instance(mine)), "db-AAAA");
  assertEquals(await meet(instance({ ...mine, DBInstanceStatus: "deleting" })), "db-AAAA");
  assertEquals(await meet(undefined), ["exists", "AlreadyExists"]);
  for (const key of Object.keys(TAGS)) {
    const TagList = tagList({ ...TAGS, [key]: "other" });
    assertEquals(await meet(instance({ ...mine, TagList })), ["exists", "AlreadyExists"]);
  }
  assertEquals(await meet(instance(mine), { sizeGb: 21 }), ["exists", "IdempotencyMismatch"]);
  assertEquals(await meet(instance(mine), { version: "17" }), ["exists", "IdempotencyMismatch"]);
  assertEquals(await meet(instance(mine), { version: "1" }), ["exists", "IdempotencyMismatch"]);
});

Deno.test("S6: instances are read in RDS's words; what cannot be read hides no other", async () => {
  const states: readonly [string, string, true | undefined][] = [
    ["creating", "Provisioning", undefined],
    ["available", "Available", undefined],
    ["storage-optimization", "Available", undefined],
    ["storage-full", "Available", undefined],
    ["modifying", "Modifying", undefined],
    ["upgrading", "Modifying", undefined],
    ["backing-up", "Modifying", undefined],
    ["configuring-enhanced-monitoring", "Modifying", undefined],
    ["resetting-master-credentials", "Modifying", undefined],
    ["maintenance", "Modifying", undefined],
    ["deleting", "Deleting", undefined],
    ["failed", "Failed", undefined],
    ["stopped", "Failed", undefined],
    ["incompatible-parameters", "Failed", undefined],
    ["inaccessible-encryption-credentials", "Failed", undefined],
    ["rebooting", "Modifying", true],
    ["starting", "Modifying", true],
    ["a-word-of-tomorrow", "Modifying", true],
  ];
  for (const [DBInstanceStatus, state, unknownState] of states) {
    const { provider } = rdsOn(() => described(instance({ DBInstanceStatus })));
    const read = await provider.get("db-AAAA", CALL);
    assertEquals([read.state, read.unknownState, read.providerState], [
      state,
      unknownState,
      DBInstanceStatus,
    ]);
  }
  const faults: readonly Record<string, string | undefined>[] = [
    { DbiResourceId: undefined },
    { DbiResourceId: "x" },
    { EngineVersion: undefined },
    { AllocatedStorage: undefined },
    { DBInstanceStatus: "" },
    { TagList: undefined },
  ];
  for (const fault of faults) {
    const { provider } = rdsOn(() => described(instance(fault), instance({ DbiResourceId: "db-GOOD" })));
    const page = await provider.list({ ...CALL, tags: {} });
    assertEquals([page.items.map(({ id }) => id), page.unreadable?.length], [["db-GOOD"], 1]);
  }
});

Deno.test("R2, R4: what RDS grew by itself and what it has not begun yet are shown; a new password counts as a change", async () => {
  const read = async (fields: Record<string, string | undefined>) => {
    const { provider } = rdsOn(() => described(instance(fields)));
    return await provider.get("db-AAAA", CALL);
  };
  assertEquals((await read({ AllocatedStorage: "35" })).sizeGb, 35);
  const PendingModifiedValues = "<AllocatedStorage>40</AllocatedStorage><EngineVersion>17.2</EngineVersion>";
  const pending = await read({ PendingModifiedValues });
  assertEquals([pending.state, pending.pending], ["Available", { sizeGb: 40, version: "17.2" }]);
  const changed = await read({ PendingModifiedValues: "<MasterUserPassword>****</MasterUserPassword>" });
  assertEquals([changed.state, changed.pending], ["Modifying", undefined]);
  const young = await read({
    DBInstanceStatus: "creating",
    Endpoint: undefined,
    InstanceCreateTime: undefined,
  });
  assertEquals(young.endpoint, undefined);
  assert(Math.abs(Date.parse(young.createdAt) - Date.now()) < 60_000);
  assertEquals(young.access, { type: "postgresql", database: "app", username: "dbadmin" });
  assertEquals((await read({ DBName: undefined })).access?.database, "postgres");
  assertEquals((await read({ Engine: "mysql", DBName: undefined })).access, undefined);
  assertEquals((await read({ DeletionProtection: "true" })).deletionProtection, true);
});

Deno.test("S3, S6: a list keeps what carries all the tags, page by page, in pages as small as are asked for", async () => {
  const all = Array.from({ length: 45 }, (_, i) =>
    instance({
      DBInstanceIdentifier: `edb-${i}`,
      DbiResourceId: `db-${1000 + i}`,
      TagList: tagList({ a: i % 3 === 0 ? "x" : "y" }),
    }));
  const serve = ({ parameters }: Arrived) => {
    const size = Number(parameters.get("MaxRecords"));
    assert(size >= 20 && size <= 100);
    const at = Number(parameters.get("Marker") ?? 0);
    const next = at + size < all.length ? `<Marker>${at + size}</Marker>` : "";
    return ok(
      "DescribeDBInstances",
      `<DBInstances>${all.slice(at, at + size).join("")}</DBInstances>${next}`,
    );
  };
  for (const limit of [1, 2, 7, 20, 33, 100]) {
    const { provider } = rdsOn(serve);
    const ids: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await provider.list({ ...CALL, tags: { a: "x" }, limit, pageToken });
      assert(page.items.length <= limit);
      ids.push(...page.items.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    assertEquals(ids, Array.from({ length: 15 }, (_, i) => `db-${1000 + 3 * i}`));
  }
  const circle =
    rdsOn(() => ok("DescribeDBInstances", "<DBInstances></DBInstances><Marker>m</Marker>")).provider;
  const { nextPageToken } = await circle.list({ ...CALL, tags: {} });
  assertEquals((await failure(circle.list({ ...CALL, tags: {}, pageToken: nextPageToken })))[0], "retryable");
  const { provider } = rdsOn(serve);
  const first = await provider.list({ ...CALL, tags: {}, limit: 1 });
  all.shift();
  assertEquals(
    (await failure(provider.list({ ...CALL, tags: {}, pageToken: first.nextPageToken })))[1],
    "InvalidPageToken",
  );
});

Deno.test("R3: a change of version says that it is a major one where it is, by the engine's way of counting", async () => {
  const sent = async (Engine: string, EngineVersion: string, version: string, parameters = {}) => {
    const { provider, arrived } = rdsOn(({ action }) => {
      const found = instance({ Engine, EngineVersion });
      return action === "DescribeDBInstances" ? described(found) : ok(action, found);
    }, { parameters });
    await provider.modify("db-AAAA", { version }, CALL);
    const { parameters: said } = arrived[1]!;
    assertEquals([said.get("EngineVersion"), said.get("ApplyImmediately")], [version, "true"]);
    return [said.get("AllowMajorVersionUpgrade"), said.get("DBParameterGroupName")];
  };
  const groups = { parameterGroup: "edb-{engine}-{major}" };
  assertEquals(await sent("postgres", "16.4", "17", groups), ["true", "edb-postgres-17"]);
  assertEquals(await sent("postgres", "16.4", "16.6", groups), [null, null]);
  assertEquals(await sent("mysql", "8.0.39", "8.4", groups), ["true", "edb-mysql-8-4"]);
  assertEquals(await sent("mysql", "8.0.39", "8.0.40", groups), [null, null]);
  assertEquals(await sent("postgres", "16.4", "17", { parameterGroup: "fixed" }), ["true", null]);
});

Deno.test("R2: storage that is asked beyond the limit of its own growing takes the limit along", async () => {
  const sent = async (MaxAllocatedStorage: string | undefined, sizeGb: number) => {
    const { provider, arrived } = rdsOn(({ action }) => {
      const found = instance({ MaxAllocatedStorage });
      return action === "DescribeDBInstances" ? described(found) : ok(action, found);
    });
    await provider.modify("db-AAAA", { sizeGb }, CALL);
    return arrived[1]!.parameters.get("MaxAllocatedStorage");
  };
  assertEquals(await sent(undefined, 50), null);
  assertEquals(await sent("100", 50), null);
  assertEquals(await sent("52", 50), "50");
});

Deno.test("K1: a password and a protection are sent without what would begin changes that wait for their window", async () => {
  const { provider, arrived } = rdsOn(({ action }) => {
    return action === "DescribeDBInstances" ? described(instance()) : ok(action, instance());
  });
  await provider.modify("db-AAAA", { password: "a-Password-0123456789", deletionProtection: true }, CALL);
  const { parameters } = arrived[1]!;
  assertEquals(parameters.get("MasterUserPassword"), "a-Password-0123456789");
  assertEquals([parameters.get("DeletionProtection"), parameters.get("ApplyImmediately")], ["true", null]);
  const managed =
    rdsOn(() => described(instance()), { parameters: { managedMasterPassword: true } }).provider;
  assertEquals((await failure(managed.modify("db-AAAA", { password: "x" }, CALL))).slice(0, 2), [
    "rejected",
    "ManagedPassword",
  ]);
});

Deno.test("tags that are as asked for are not sent", async () => {
  const { provider, arrived } = rdsOn(({ action }) => {
    return action === "DescribeDBInstances"
      ? described(instance({ TagList: tagList({ a: "1" }) }))
      : ok(action);
  });
  assertEquals((await provider.modify("db-AAAA", { tags: { a: "1", b: null } }, CALL)).tags, { a: "1" });
  assertEquals(arrived.map(({ action }) => action), ["DescribeDBInstances"]);
});

Deno.test("D5, D7: a delete is refused by protection, takes its snapshot, and accepts that it goes on already", async () => {
  interface Way {
    readonly found?: Record<string, string>;
    readonly again?: Record<string, string>;
    readonly answers: readonly Response[];
    readonly snapshot?: string;
    readonly finalSnapshot?: string;
  }
  const way = async ({ found, again, answers, snapshot, finalSnapshot }: Way) => {
    const left = [...answers];
    let looks = 0;
    const { provider, arrived } = rdsOn(({ action }): Answer => {
      if (action === "DescribeDBInstances") {
        return described(instance(looks++ === 0 ? found : again ?? found));
      }
      if (action === "DescribeDBSnapshots") return ok(action, `<DBSnapshots>${snapshot}</DBSnapshots>`);
      return left.shift() ?? ok(action, instance());
    });
    const outcome = await provider.delete("db-AAAA", { ...CALL, finalSnapshot })
      .then(() => "done", (e) => `${e.errorClass} ${e.code}`);
    const deletes = arrived.filter(({ action }) => action === "DeleteDBInstance");
    return [
      outcome,
      ...deletes.map(({ parameters }) => parameters.get("FinalDBSnapshotIdentifier") ?? "skipped"),
    ];
  };
  const snapshot = (id: string, status: string) =>
    `<DBSnapshot><DBSnapshotIdentifier>final-1</DBSnapshotIdentifier><DbiResourceId>${id}</DbiResourceId>` +
    `<Status>${status}</Status></DBSnapshot>`;
  const exists = refusal(400, "DBSnapshotAlreadyExists");
  const finalSnapshot = "Final-1";
  const protection = () =>
    refusal(
      400,
      "InvalidParameterCombination",
      "Cannot delete protected DB Instance, please disable deletion protection and try again.",
    );
  assertEquals(await way({ answers: [] }), ["done", "skipped"]);
  assertEquals(await way({ answers: [protection()] }), ["rejected DeletionProtected", "skipped"]);
  assertEquals(
    await way({
      found: { DeletionProtection: "true" },
      answers: [refusal(400, "InvalidParameterCombination")],
    }),
    [
      "rejected DeletionProtected",
      "skipped",
    ],
  );
  assertEquals(await way({ found: { DBInstanceStatus: "deleting" }, answers: [] }), ["done"]);
  const busy = () => refusal(400, "InvalidDBInstanceState");
  assertEquals(await way({ again: { DBInstanceStatus: "deleting" }, answers: [busy()] }), [
    "done",
    "skipped",
  ]);
  assertEquals(await way({ again: { DBInstanceStatus: "modifying" }, answers: [busy()] }), [
    "busy InvalidDBInstanceState",
    "skipped",
  ]);
  assertEquals(await way({ finalSnapshot, answers: [] }), ["done", "Final-1"]);
  assertEquals(
    await way({ finalSnapshot, answers: [exists.clone()], snapshot: snapshot("db-AAAA", "available") }),
    [
      "done",
      "Final-1",
      "skipped",
    ],
  );
  assertEquals(
    await way({ finalSnapshot, answers: [exists.clone()], snapshot: snapshot("db-AAAA", "creating") }),
    [
      "busy SnapshotCreating",
      "Final-1",
    ],
  );
  assertEquals(
    await way({ finalSnapshot, answers: [exists.clone()], snapshot: snapshot("db-AAAA", "failed") }),
    [
      "rejected SnapshotFailed",
      "Final-1",
    ],
  );
  assertEquals(
    await way({ finalSnapshot, answers: [exists.clone()], snapshot: snapshot("db-BBBB", "available") }),
    [
      "rejected SnapshotExists",
      "Final-1",
    ],
  );
  assertEquals(await way({ finalSnapshot, again: { DBInstanceStatus: "storage-full" }, answers: [busy()] }), [
    "busy InvalidDBInstanceState",
    "Final-1",
  ]);
  assertEquals(await way({ finalSnapshot, found: { DBInstanceStatus: "failed" }, answers: [busy()] }), [
    "rejected SnapshotFailed",
    "Final-1",
  ]);
  assertEquals(await way({ finalSnapshot: "no.dots", answers: [] }), ["rejected InvalidSnapshotName"]);
  assert(isSnapshotName("orders-0b7e4c39-1") && !isSnapshotName("a--b") && !isSnapshotName("1a"));
});

Deno.test("parameters are checked by name and kind, as text and as JSON", () => {
  assertEquals(parseRdsParameters({}).instanceClass, "db.t4g.micro");
  assertEquals(parseRdsParameters({ multiAz: "true", securityGroups: "a, b", port: "5433" }).securityGroups, [
    "a",
    "b",
  ]);
  assertEquals(parseRdsParameters({ multiAz: true, securityGroups: ["a"], port: 5433 }).port, 5433);
  const faults: readonly [Record<string, unknown>, string][] = [
    [{ instanceclass: "x" }, 'there is no parameter "instanceclass"'],
    [{ region: "Europe" }, "region: is not a region"],
    [{ multiAz: "yes" }, "multiAz"],
    [{ port: "80" }, "port"],
    [{ endpointUrl: "https://key:secret@x" }, "endpointUrl"],
    [{ masterPasswordKmsKeyId: "k" }, "goes with managedMasterPassword"],
    [{ assumeRoleExternalId: "xx" }, "goes with assumeRoleArn"],
  ];
  for (const [value, text] of faults) {
    const { message } = assertThrows(() => parseRdsParameters(value), Error);
    assertStringIncludes(message, text);
    assert(!message.includes("secret"), message);
  }
});
