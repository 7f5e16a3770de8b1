/**
 * What a person sees of it with kubectl alone, from create to delete: tables, conditions, Events, and waits that end.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { applyResource, installCrd, SEED_SPEC } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { fastCloud, read } from "../support/operator.ts";
import { startOperator } from "../support/operator_process.ts";
import { inOrder } from "../support/steps.ts";

Deno.test("kubectl alone tells what becomes of a resource: created, refused, mended, repaired, protected, paused, deleted", async (t) => {
  const step = inOrder(t);
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube, "seen");
  const cloud = fastCloud({ engines: { postgres: ["14", "15"] } });
  const server = serveCloud(cloud);
  const child = startOperator(kube, { cloudUrl: server.url, namespace: ns, args: ["--poll-interval=10s"] });

  const kubectl = async (...args: string[]) => {
    const output = await kube.kubectl(...args);
    if (output.code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${output.stderr}`);
    return output.stdout;
  };
  /** The line of a table that begins with these words. */
  const line = (table: string, start: string) =>
    table.split("\n").find((text) => text.trimStart().startsWith(start)) ?? table;
  /** The Events of a resource as `TYPE REASON MESSAGE`, oldest first; awaits that there are so many. */
  const events = async (name: string, count: number) => {
    const columns = "custom-columns=T:.type,R:.reason,M:.message";
    const selector = `--field-selector=involvedObject.name=${name}`;
    let lines: string[] = [];
    await eventually(`${count} Events of ${name}`, async () => {
      const table = await kubectl("get", "events", "-n", ns, selector, "--no-headers", "-o", columns);
      lines = table.trim().split("\n").map((text) => text.replace(/ +/g, " "));
      return lines.length >= count;
    });
    assertEquals(lines.length, count, lines.join("\n"));
    return lines;
  };
  const describe = (name: string) => kubectl("describe", "edb", name, "-n", ns);
  const ready = (name: string) =>
    kubectl("wait", "--for=condition=Ready", `edb/${name}`, "-n", ns, "--timeout=20s");
  const apply = async (name: string, spec: unknown) => {
    const applied = await applyResource(kube, ns, name, spec);
    assertEquals(applied.code, 0, applied.stderr);
  };

  try {
    await step("created: kubectl wait ends, the tables show it, two Events tell it", async () => {
      await apply("orders", SEED_SPEC);
      assertMatch(await ready("orders"), /orders condition met/);
      const id = (await read(kube, ns, "orders"))?.status?.providerId;
      const all = await kubectl("get", "edb", "-A");
      assertMatch(all, /^NAMESPACE +NAME +ENGINE +VERSION +SIZE +STATE +READY +SYNCED +ENDPOINT +AGE\n/);
      const row = `${ns} +orders +postgres +14\\.2 +20 +Available +True +True +${id}\\.db\\.example:5432 +`;
      assertMatch(line(all, ns), new RegExp(`^${row}\\d+s$`));
      assertMatch(
        line(await kubectl("get", "edb", "-A", "-o", "wide"), ns),
        new RegExp(`^${row}${id} +Available +Available +\\d+s$`),
      );
      const text = await describe("orders");
      assertMatch(
        text,
        new RegExp(`Message: +The database accepts connections at ${id}\\.db\\.example:5432\\n`),
      );
      assertMatch(text, /Message: +The database is as the spec asks\n/);
      assertMatch(text, /Normal +Created +.* my\.domain\/externaldatabase-operator +Created the database/);
      assertEquals((await events("orders", 2)).toSorted(), [
        `Normal Available The database accepts connections at ${id}.db.example:5432; the database is as the spec asks`,
        `Normal Created Created the database "${id}" (postgres 14.2, 20 GiB)`,
      ]);
    });

    await step("refused: the provider's own words, once; mended by an edit, without waiting", async () => {
      await apply("wrong", { ...SEED_SPEC, version: "99" });
      const refusal =
        "Creating the database failed: InvalidParameter: Version 99 of postgres is not offered; an edit of the spec is tried at once (retry step 1, the next within 15 s)";
      assertEquals(await events("wrong", 1), [`Warning CreateFailed ${refusal}`]);
      assertMatch(
        line(await kubectl("get", "edb", "-n", ns, "-o", "wide"), "wrong"),
        / Creating +False +False +CreateFailed +CreateFailed +/,
      );
      assert((await describe("wrong")).includes(refusal));
      await apply("wrong", { ...SEED_SPEC, version: "15" });
      await ready("wrong");
      assertEquals((await events("wrong", 3)).map((text) => text.split(" ")[1]).toSorted(), [
        "Available",
        "CreateFailed",
        "Created",
      ]);
      await kubectl("delete", "edb", "wrong", "-n", ns, "--timeout=20s");
    });

    await step("repaired: one Event says what was changed from what to what", async () => {
      const id = (await read(kube, ns, "orders"))?.status?.providerId ?? "";
      cloud.edit(id, { sizeGb: 10 });
      await kubectl("annotate", "edb", "orders", "-n", ns, "db.my.domain/reconcile=now");
      await eventually(
        "it is repaired",
        () => cloud.get(id)?.sizeGb === 20 && cloud.get(id)?.state === "Available",
      );
      await kubectl("wait", "--for=condition=Synced", "edb/orders", "-n", ns, "--timeout=20s");
      const told = await events("orders", 3); // the second Available is counted on the first
      assertEquals(told.filter((text) => text.includes("Updating")), [
        "Normal Updating Changing sizeGb 10 → 20: at the provider it is not as the spec asks",
      ]);
    });

    await step(
      "protected: the deletion waits, says why and what helps, and goes on when it can",
      async () => {
        const id = (await read(kube, ns, "orders"))?.status?.providerId ?? "";
        cloud.edit(id, { protected: true });
        await kubectl("delete", "edb", "orders", "-n", ns, "--wait=false");
        const told = (await events("orders", 4)).find((text) => text.startsWith("Warning"));
        assertMatch(
          told ?? "",
          /^Warning DeletionProtected Deleting the database failed: DeletionProtected: Database db-\S+ has deletion protection; set spec\.deletionProtection to false, lift the protection at the provider, or set deletionPolicy to Retain \(retry step 1, the next within \d+ s\)$/,
        );
        assertMatch(
          line(await kubectl("get", "edb", "-n", ns, "-o", "wide"), "orders"),
          / Deleting +False +False +\S+ +\S+ +DeletionProtected +DeletionProtected +/,
        );
        await kubectl(
          "patch",
          "edb",
          "orders",
          "-n",
          ns,
          "--type=merge",
          "-p",
          '{"spec":{"deletionPolicy":"Retain"}}',
        );
        await kubectl("wait", "--for=delete", "edb/orders", "-n", ns, "--timeout=20s");
        assertEquals(cloud.get(id)?.state, "Available");
        assertEquals((await events("orders", 5)).filter((text) => text.includes("Retained")), [
          `Normal Retained The database "${id}" is kept (deletionPolicy Retain) and marked as retained`,
        ]);
        cloud.remove(id);
      },
    );

    await step("D4: paused: its deletion waits and says so in condition and Event", async () => {
      await apply("held", { ...SEED_SPEC, paused: false });
      await ready("held");
      await apply("held", { ...SEED_SPEC, paused: true });
      await events("held", 3);
      await kubectl("delete", "edb", "held", "-n", ns, "--wait=false");
      const waits = "Deletion waits, as spec.paused is true: set it to false to let the database go";
      assert((await events("held", 4)).includes(`Normal Paused ${waits}`));
      assert((await describe("held")).includes(waits));
      await apply("held", { ...SEED_SPEC, paused: false });
      await kubectl("wait", "--for=delete", "edb/held", "-n", ns, "--timeout=20s");
      assertEquals(cloud.databases(), []);
    });
  } finally {
    await child.end();
    await server.close();
  }
});
