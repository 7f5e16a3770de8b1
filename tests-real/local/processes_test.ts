import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { buildOf } from "../../src/providers/local/binaries.ts";
import { processesOf } from "../../src/providers/local/processes.ts";
import { removeLocalFolder } from "../../src/providers/local/provider.ts";
import { ProviderError } from "../../src/providers/port.ts";
import { formatVersion } from "../../src/providers/postgres/versions.ts";
import { olderBuild } from "../support/postgres.ts";
import { CALL, eventually, inState, logsIn, newFolder, providerIn, requestFor, sql } from "./support.ts";

const PASSWORD = requestFor().password!;
const tools = { clock: systemClock, random: systemRandom };

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await newFolder();
  try {
    await work(folder);
  } finally {
    await removeLocalFolder(folder, tools);
  }
}

function serverPids(folder: string, id: string): Promise<number[]> {
  return processesOf(`${folder}/servers/${id}/data`);
}

Deno.test("data, port and tags survive an end of the provider; a delete leaves neither process nor folder", async () => {
  await inFolder(async (folder) => {
    const first = await providerIn(folder);
    const request = requestFor();
    const { id } = await first.create(request, CALL);
    const made = await inState(first, id, "Available");
    await sql(made, PASSWORD, "CREATE TABLE kept AS SELECT 42 AS n");
    await first.close();
    assertEquals(await serverPids(folder, id), []);
    const second = await providerIn(folder);
    try {
      const { items } = await second.list({ ...CALL, tags: request.tags });
      assertEquals(items.map((d) => d.id), [id]);
      const again = await inState(second, id, "Available");
      assertEquals(again, made);
      assertEquals(await sql(again, PASSWORD, "SELECT n FROM kept"), [{ n: 42 }]);
      await second.delete(id, CALL);
      await eventually(
        "its end",
        async () => (await second.list({ ...CALL, tags: {} })).items.length === 0 || undefined,
      );
      assertEquals(await serverPids(folder, id), []);
      assertEquals([...Deno.readDirSync(`${folder}/servers`)], []);
      const error = await assertRejects(() => second.create(request, CALL), ProviderError);
      assertEquals([error.errorClass, error.code], ["exists", "TokenUsed"]);
    } finally {
      await second.close();
    }
  });
});

Deno.test("a database whose record is lost is not deleted: its data are there when the record is, and its id is not given again", async () => {
  await inFolder(async (folder) => {
    const request = requestFor();
    const first = await providerIn(folder);
    const { id } = await first.create(request, CALL);
    const made = await inState(first, id, "Available");
    await sql(made, PASSWORD, "CREATE TABLE kept AS SELECT 42 AS n");
    await first.close();
    await Deno.rename(`${folder}/records/${id}.json`, `${folder}/../${id}.json`);
    const second = await providerIn(folder);
    assertEquals((await second.list({ ...CALL, tags: {} })).items, []);
    const again = await assertRejects(() => second.create(request, CALL), ProviderError);
    assertEquals([again.errorClass, again.code], ["exists", "TokenUsed"]);
    await second.close();
    await Deno.rename(`${folder}/../${id}.json`, `${folder}/records/${id}.json`);
    const third = await providerIn(folder, { keep: false });
    try {
      assertEquals(
        await sql(await inState(third, id, "Available"), PASSWORD, "SELECT n FROM kept"),
        [{ n: 42 }],
      );
    } finally {
      await third.close();
    }
  });
});

Deno.test("a server that is killed is noticed, shown and started again with its data", async () => {
  await inFolder(async (folder) => {
    const provider = await providerIn(folder);
    try {
      const { id } = await provider.create(requestFor(), CALL);
      const made = await inState(provider, id, "Available");
      await sql(made, PASSWORD, "CREATE TABLE kept AS SELECT 42 AS n");
      const [pid] = await serverPids(folder, id);
      Deno.kill(pid!, "SIGKILL");
      const down = await inState(provider, id, "Restarting");
      assertEquals([down.state, down.unknownState, down.endpoint], ["Modifying", true, made.endpoint]);
      const back = await inState(provider, id, "Available");
      assertEquals(back.endpoint, made.endpoint);
      assertEquals(await sql(back, PASSWORD, "SELECT n FROM kept"), [{ n: 42 }]);
      assert((await serverPids(folder, id))[0] !== pid);
    } finally {
      await provider.close();
    }
  });
});

Deno.test("R3: a server keeps the minor version that it was made with, and its data, when there are newer binaries", async () => {
  await inFolder(async (folder) => {
    const [older, newest] = [olderBuild(), buildOf("16")!];
    assert(older.version.minor < newest.version.minor);
    const first = await providerIn(folder, { builds: [older] });
    const { id } = await first.create(requestFor(), CALL);
    const made = await inState(first, id, "Available");
    assertEquals(made.version, formatVersion(older.version));
    await sql(made, PASSWORD, "CREATE TABLE kept AS SELECT 42 AS n");
    await first.close();
    const second = await providerIn(folder, { builds: [newest] });
    try {
      const again = await inState(second, id, "Available");
      assertEquals(again, made);
      const [row] = await sql<{ n: number; version: string }>(
        again,
        PASSWORD,
        "SELECT n, current_setting('server_version') AS version FROM kept",
      );
      assertEquals(row, { n: 42, version: made.version });
      const { id: next } = await second.create(requestFor(), CALL);
      assertEquals((await inState(second, next, "Available")).version, formatVersion(newest.version));
    } finally {
      await second.close();
    }
  });
});

Deno.test("a second process is kept off the folder, and a folder with other things in it is left alone", async () => {
  await inFolder(async (folder) => {
    const provider = await providerIn(folder);
    const error = await assertRejects(() => providerIn(folder), Error);
    assert(error.message.startsWith("Another process works with the folder"), error.message);
    await provider.close();
  });
  const folder = await newFolder();
  await Deno.writeTextFile(`${folder}/mine.txt`, "mine");
  await assertRejects(() => providerIn(folder), Error, "mine.txt");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("what can never be had is refused by name, and passwords are nowhere on disk", async () => {
  await inFolder(async (folder) => {
    const provider = await providerIn(folder);
    try {
      const refused = async (change: Parameters<typeof requestFor>[0]) => {
        const error = await assertRejects(() => provider.create(requestFor(change), CALL), ProviderError);
        assertEquals(error.errorClass, "rejected");
        return error.message;
      };
      assert(
        /version "13" cannot be had; there are (14\.\d+, )?15\.\d+/.test(await refused({ version: "13" })),
      );
      assert((await refused({ version: "16.99" })).includes('"16.99"'));
      assert((await refused({ engine: "mysql", version: "8.0" })).includes('engine "mysql"'));
      const { id } = await provider.create(requestFor({ name: "postgres" }), CALL);
      const made = await inState(provider, id, "Available");
      assertEquals(made.access, { type: "postgresql", database: "postgres_db", username: "dbadmin" });
      assertEquals([await logsIn(made, PASSWORD), await logsIn(made, `${PASSWORD}x`)], [true, false]);
      const upgrade = await assertRejects(() => provider.modify(id, { version: "17" }, CALL), ProviderError);
      assertEquals(upgrade.errorClass, "rejected");
      const grep = await new Deno.Command("grep", {
        args: ["-rlaF", "--", PASSWORD, `${folder}/records`, `${folder}/servers`],
      })
        .output();
      assertEquals(new TextDecoder().decode(grep.stdout), "");
    } finally {
      await provider.close();
    }
  });
});

Deno.test("the tenant is no superuser, and nobody gets in from outside or to another database", async () => {
  await inFolder(async (folder) => {
    const provider = await providerIn(folder);
    try {
      const { id } = await provider.create(requestFor(), CALL);
      const made = await inState(provider, id, "Available");
      const [role] = await sql(
        made,
        PASSWORD,
        "SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user",
      );
      assertEquals(role, { rolsuper: false, rolcreaterole: false, rolcreatedb: false });
      assertEquals(
        await sql(made, PASSWORD, "SELECT setting FROM pg_settings WHERE name = 'listen_addresses'"),
        [
          { setting: "127.0.0.1" },
        ],
      );
      const other = { ...made, access: { ...made.access!, database: "postgres" } };
      await assertRejects(() => sql(other, PASSWORD, "SELECT 1"), Error, "permission denied");
    } finally {
      await provider.close();
    }
  });
});
