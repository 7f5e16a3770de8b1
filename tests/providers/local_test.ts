import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { type Build, buildOf, buildsFor } from "../../src/providers/local/binaries.ts";
import { closedOnTheWay, LocalFolder } from "../../src/providers/local/folder.ts";
import {
  databaseNameFor,
  type LocalRecord,
  parseRecord,
  requestDigest,
} from "../../src/providers/local/record.ts";
import { changed, checked, deleted, idOf } from "../../src/providers/local/requests.ts";
import { Turns } from "../../src/providers/local/turns.ts";
import { type CreateRequest, type Database, ProviderError } from "../../src/providers/port.ts";

const BUILDS: readonly Build[] = [
  { specifier: "npm:x@15", version: { major: 15, minor: 18 } },
  { specifier: "npm:x@16", version: { major: 16, minor: 14 } },
];
const REQUEST: CreateRequest = {
  ...{ name: "orders", engine: "postgres", version: "16", sizeGb: 20, tags: { a: "1" }, clientToken: "u-1" },
};
const RECORD: LocalRecord = {
  ...{
    format: 1,
    id: idOf("u-1"),
    name: "orders",
    engine: "postgres",
    version: "16.14",
    sizeGb: 20,
    tags: { a: "1" },
  },
  ...{
    createdAt: "2026-01-01T00:00:00Z",
    request: "r",
    protected: false,
    phase: "ready",
    superuserPassword: "s",
  },
  ...{ database: "orders", username: "dbadmin" },
};

function inState(state: Database["state"]): Database {
  const { id, name, engine, version, sizeGb, tags, createdAt } = RECORD;
  return { id, name, engine, version, sizeGb, tags, createdAt, state, providerState: state };
}

function refusal(work: () => unknown): [string, string | undefined] {
  const error = assertThrows(work, ProviderError);
  return [error.errorClass, error.code];
}

async function withFolder(work: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempDir();
  await Deno.chmod(path, 0o711);
  try {
    await work(path);
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}

Deno.test("a version picks the build of its major; what there is not is refused with what there is", () => {
  assertEquals(buildOf("16", BUILDS), BUILDS[1]);
  assertEquals(buildOf("15.3", BUILDS), BUILDS[0]);
  assertEquals([buildOf("16.15", BUILDS), buildOf("17", BUILDS), buildOf("1", BUILDS)], [
    undefined,
    undefined,
    undefined,
  ]);
  assertEquals(buildsFor("plan9-x64"), []);
  assertEquals(buildsFor("linux-x64").map(({ version }) => version.major), [14, 15, 16, 17, 18]);
  assertEquals(buildsFor("darwin-arm64").map(({ version }) => version.major), [15, 16, 17, 18]);
  const error = assertThrows(() => checked({ ...REQUEST, version: "9.6" }, BUILDS), ProviderError);
  assertEquals([error.errorClass, error.message.includes('"9.6" cannot be had; there are 15.18, 16.14')], [
    "rejected",
    true,
  ]);
});

Deno.test("what a create can never have is rejected", () => {
  for (
    const change of [{ engine: "mysql" }, { sizeGb: 0 }, { sizeGb: 1.5 }, { name: "" }, { clientToken: "" }, {
      password: "ü",
    }]
  ) {
    assertEquals(refusal(() => checked({ ...REQUEST, ...change }, BUILDS)), ["rejected", "InvalidParameter"]);
  }
  assertEquals(checked({ ...REQUEST, engine: "PostgreSQL" }, BUILDS), BUILDS[1]);
});

Deno.test("a change merges tags, grows the quota, marks a new password, and refuses the rest", () => {
  const ready = inState("Available");
  assertEquals(changed(ready, RECORD, { tags: { a: null, b: "2" }, sizeGb: 30 }, undefined), {
    ...RECORD,
    tags: { b: "2" },
    sizeGb: 30,
  });
  assertEquals(changed(ready, RECORD, { version: "16", sizeGb: 20, tags: { a: "1" } }, undefined), undefined);
  const renewed = changed(ready, RECORD, { password: "p" }, "SCRAM");
  assertEquals([renewed?.verifier, renewed?.stale], ["SCRAM", true]);
  assertEquals(refusal(() => changed(ready, RECORD, { sizeGb: 10 }, undefined)), [
    "rejected",
    "InvalidParameter",
  ]);
  for (const version of ["15", "17", "16.99"]) {
    assertEquals(refusal(() => changed(ready, RECORD, { version }, undefined)), [
      "rejected",
      "InvalidParameter",
    ]);
  }
  for (const state of ["Provisioning", "Modifying", "Failed"] as const) {
    assertEquals(refusal(() => changed(inState(state), RECORD, { sizeGb: 30 }, undefined)), [
      "busy",
      "InvalidState",
    ]);
    assertEquals(changed(inState(state), RECORD, { tags: { b: "2" } }, undefined)?.tags, { a: "1", b: "2" });
  }
});

Deno.test("a delete is taken once, of what is available or failed, and not through protection", () => {
  assertEquals(deleted(inState("Available"), RECORD, undefined)?.phase, "deleting");
  assertEquals(deleted(inState("Failed"), RECORD, undefined)?.phase, "deleting");
  assertEquals(deleted(inState("Deleting"), { ...RECORD, phase: "deleting" }, undefined), undefined);
  assertEquals(refusal(() => deleted(inState("Provisioning"), RECORD, undefined)), ["busy", "InvalidState"]);
  assertEquals(refusal(() => deleted(inState("Available"), RECORD, "final")), [
    "rejected",
    "SnapshotUnsupported",
  ]);
  assertEquals(
    refusal(() => deleted(inState("Available"), { ...RECORD, protected: true }, undefined)),
    ["rejected", "DeletionProtected"],
  );
});

Deno.test("ids come from the token alone, and a token stands for one request, its password included", () => {
  assertEquals(idOf("u-1"), idOf("u-1"));
  assert(idOf("u-1") !== idOf("u-2"));
  assert(/^local-[a-z2-7]{20}$/.test(idOf("")));
  const digest = (change: Partial<CreateRequest>) => requestDigest({ ...REQUEST, ...change }, "key");
  assertEquals(digest({ tags: { a: "1" } }), digest({}));
  const all = [{}, { password: "a" }, { password: "b" }, { sizeGb: 21 }, { tags: {} }].map(digest);
  assertEquals(new Set(all).size, all.length);
});

Deno.test("the database's name is the resource's, cut and cleaned, and never one that every server has", () => {
  assertEquals(databaseNameFor("orders.eu-1"), "orders.eu-1");
  assertEquals(databaseNameFor(`x"; DROP TABLE t; --ü`), "x_DROP_TABLE_t_--_");
  assertEquals(databaseNameFor("a".repeat(253)).length, 63);
  assertEquals(["postgres", "template0", "template1"].map(databaseNameFor), [
    "postgres_db",
    "template0_db",
    "template1_db",
  ]);
});

Deno.test("a folder keeps its identity and its records, is one process's at a time, and is removed without a trace", async () => {
  await withFolder(async (path) => {
    const first = await LocalFolder.open(`${path}/f`, "account-1");
    await first.save(RECORD);
    await first.save({ ...RECORD, sizeGb: 30 });
    await Deno.writeTextFile(`${path}/f/records/torn.json.new`, "{"); // of a process that was killed while it wrote
    await assertRejects(() => LocalFolder.open(`${path}/f`, "other"), Error, "Another process");
    first.release();
    const second = await LocalFolder.open(`${path}/f`, "account-2");
    assertEquals(second.account, "account-1");
    assertEquals(await second.records(), [{ ...RECORD, sizeGb: 30 }]);
    for (const { name } of Deno.readDirSync(`${path}/f/records`)) {
      assertEquals((await Deno.stat(`${path}/f/records/${name}`)).mode! & 0o777, 0o600);
    }
    await second.forget(RECORD.id);
    assertEquals([await second.records(), [...await second.gone()]], [[], [RECORD.id]]);
    await second.remove();
    assertEquals([...Deno.readDirSync(path)], []);
  });
});

Deno.test("S6: a record that cannot be read stops the provider: its database would look as if it were gone", async () => {
  await withFolder(async (path) => {
    const folder = await LocalFolder.open(path, "a");
    await Deno.writeTextFile(`${path}/records/${RECORD.id}.json`, '{"format":1,"superuserPassword":"geheim"');
    const error = await assertRejects(() => folder.records(), Error, "it is not JSON");
    assert(!error.message.includes("geheim"));
    assertThrows(() => parseRecord(JSON.stringify({ ...RECORD, phase: "odd" })), Error, "phase is not valid");
    folder.release();
  });
  await withFolder(async (path) => {
    await Deno.writeTextFile(`${path}/letters.txt`, "mine");
    await assertRejects(() => LocalFolder.open(path, "a"), Error, '"letters.txt"');
  });
});

Deno.test("root looks for a way on which its servers' user gets through; others need none", async () => {
  await withFolder(async (path) => {
    await Deno.mkdir(`${path}/a/b`, { recursive: true });
    await Deno.chmod(`${path}/a`, 0o700);
    const real = await Deno.realPath(path);
    assertEquals(await closedOnTheWay(`${real}/a/b`), Deno.uid() === 0 ? `${real}/a` : undefined);
  });
});

Deno.test("turns: no more at a time than allowed, in order, and none after the end", async () => {
  const turns = new Turns(2);
  const order: string[] = [];
  let running = 0;
  const job = (name: string) => async () => {
    assert(++running <= 2);
    order.push(name);
    await Promise.resolve();
    running--;
  };
  await Promise.all(["a", "b", "c", "d"].map((name) => turns.run(job(name))));
  assertEquals(order, ["a", "b", "c", "d"]);
  await assertRejects(() => turns.run(job("e"), AbortSignal.abort(new Error("over"))), Error, "over");
  await turns.run(job("f"));
  assertEquals(order.at(-1), "f");
});
