/**
 * Behaviours of behaviours.md that must hold whatever the provider: the operator over real databases. Which provider
 * proves which is in docs/providers.md, by the titles.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { ANNOTATION, FINALIZER, TAG } from "../../src/api/constants.ts";
import { AT, CALL, type Ground, SECRETS, Stage } from "./stage.ts";

/** Registers the tests for one provider; `upgrades` tells whether its ground can `upgrade`. */
export function behaviours(
  provider: string,
  ground: () => Promise<Ground>,
  { upgrades }: { readonly upgrades: boolean },
): void {
  const test = (title: string, work: (stage: Stage) => Promise<void>) =>
    Deno.test(`${title} (${provider})`, async () => await Stage.play(await ground(), work));

  test("K2, K4: Ready comes with a whole Secret that logs in; deleted it is rebuilt, robbed of a key completed; a foreign one is never touched", async (stage) => {
    await stage.create("orders");
    await stage.ready("orders");
    const first = await stage.secret("orders-connection");
    const keys = ["database", "host", "password", "port", "provider", "type", "uri", "username"];
    assertEquals(Object.keys(first).sort(), keys);
    assertEquals(await stage.logsIn("orders"), true);

    await stage.ask("DELETE", `${SECRETS}/orders-connection`);
    await stage.until("it is rebuilt", async () => {
      const is = (await stage.secret("orders-connection"))["password"];
      return is !== undefined && is !== first["password"];
    });
    await stage.ready("orders");
    await stage.until("it logs in", () => stage.logsIn("orders"));
    const second = await stage.secret("orders-connection");
    await stage.ask("PATCH", `${SECRETS}/orders-connection`, { data: { host: null } });
    await stage.until(
      "it is completed",
      async () => (await stage.secret("orders-connection"))["host"] !== undefined,
    );
    assertEquals(await stage.secret("orders-connection"), second);

    await stage.ask("POST", SECRETS, {
      ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "mine", namespace: "default" } },
      data: { key: btoa("value") },
    });
    await stage.edit("orders", { connectionSecretRef: { name: "mine" } });
    await stage.until(
      "the conflict",
      async () => await stage.condition("orders", "Ready") === "False/SecretConflict",
    );
    assertEquals(await stage.secret("mine"), { key: "value" });
    await stage.remove("orders");
    await stage.gone("orders");
    assertEquals(await stage.secret("mine"), { key: "value" });
    assertEquals(await stage.databases(), []);
  });

  test("A1, D4, D8: retained, observed, adopted; who names it too is told whose it is, and its end touches nothing", async (stage) => {
    await stage.create("first", { deletionPolicy: "Retain" });
    const { metadata, status } = await stage.ready("first");
    const id = status!.providerId!;
    await stage.remove("first");
    await stage.gone("first");
    assertEquals((await stage.databases()).map((d) => [d.id, d.tags[TAG.retained]]), [[id, metadata.uid]]);

    const before = await stage.ground.provider.get(id, CALL);
    stage.changes = [];
    await stage.create("watching", {
      managementPolicy: "ObserveOnly",
      providerId: id,
      connectionSecretRef: undefined,
    });
    await stage.until(
      "it is shown",
      async () => /^available$/i.test((await stage.get("watching"))?.status?.providerState ?? ""),
    );
    await stage.quiet();
    await stage.remove("watching");
    await stage.gone("watching");
    assertEquals(stage.changes, []);
    assertEquals(await stage.ground.provider.get(id, CALL), before);

    await stage.create("second", { providerId: id, sizeGb: 30, connectionSecretRef: undefined });
    await stage.says("second", "DriftReported"); // an adopted database that differs is only reported
    assertEquals(stage.changes, ["modify tags"]);
    assertEquals((await stage.database("second")).tags[TAG.uid], (await stage.get("second"))?.metadata.uid);
    await stage.create("third", { providerId: id, connectionSecretRef: undefined });
    await stage.says("third", "Conflict");
    await stage.remove("third");
    await stage.gone("third");
    await stage.quiet();
    assertEquals(stage.changes, ["modify tags"]);

    await stage.edit("second", { sizeGb: 20, deletionPolicy: "Delete", paused: true });
    await stage.remove("second");
    await stage.says("second", "Paused"); // and so does its deletion
    await stage.quiet();
    assertEquals((await stage.databases()).length, 1);
    await stage.edit("second", { paused: false });
    await stage.gone("second");
    assertEquals(await stage.databases(), []);
  });

  test("A2, A4: credentials of another account change nothing; a stripped finalizer and a wiped status come back by lookup", async (stage) => {
    await stage.create("orders");
    const { status } = await stage.ready("orders");
    stage.changes = [];
    stage.account = stage.ground.other;
    await stage.says("orders", "Conflict");
    await stage.remove("orders"); // nor does its deletion
    await stage.quiet();
    assert(await stage.get("orders") !== undefined);
    assertEquals([(await stage.databases()).length, stage.changes.length], [1, 0]);
    stage.account = stage.ground.provider;
    await stage.gone("orders");
    assertEquals(await stage.databases(), []);
    assertNotEquals(status?.account, undefined);

    await stage.create("wiped");
    const { status: had } = await stage.ready("wiped");
    stage.changes = [];
    await stage.ask("PATCH", `${AT}/wiped/status`, { status: null });
    await stage.ask("PATCH", `${AT}/wiped`, { metadata: { finalizers: null } });
    await stage.until("id and finalizer are back", async () => {
      const { metadata, status } = (await stage.get("wiped"))!;
      return status?.providerId === had?.providerId && metadata.finalizers?.includes(FINALIZER) === true;
    });
    await stage.ready("wiped");
    assertEquals(stage.changes.filter((change) => change !== "modify password"), []);
    assertEquals(await stage.logsIn("wiped"), true);
    await stage.remove("wiped");
    await stage.gone("wiped");
  });

  test("D2, D5: what was refused goes at once; what is protected waits and says so, until the protection is lifted", async (stage) => {
    await stage.create("wrong", { version: "9.6" });
    await stage.until(
      "the refusal",
      async () => (await stage.condition("wrong", "Ready")) === "False/CreateFailed",
    );
    await stage.remove("wrong");
    await stage.gone("wrong");
    assertEquals(await stage.databases(), []);

    await stage.create("kept", { deletionProtection: true });
    await stage.until(
      "kept to be Ready",
      async () => await stage.condition("kept", "Ready") === "True/Available",
    );
    await stage.remove("kept");
    await stage.says("kept", "DeletionProtected");
    await stage.quiet();
    assertEquals((await stage.databases()).length, 1);
    assertEquals(await stage.logsIn("kept"), true);
    await stage.edit("kept", { deletionProtection: false });
    await stage.gone("kept");

    // Deleted while it is made.
    await stage.create("brief");
    await stage.until(
      "it is begun",
      async () => (await stage.get("brief"))?.metadata.finalizers !== undefined,
    );
    await stage.remove("brief");
    await stage.gone("brief");
    assertEquals(await stage.databases(), []);
  });

  test("R4, R5, R6: a change is sent once, what the provider spells otherwise is no difference, another engine is refused, and a version that cannot be had holds up nothing else", async (stage) => {
    await stage.create("orders", { engine: "Postgres", version: stage.ground.version.split(".")[0]! });
    await stage.ready("orders");
    stage.changes = [];
    await stage.quiet();
    const { metadata } = (await stage.get("orders"))!;
    await stage.quiet();
    assertEquals(
      (await stage.get("orders"))?.metadata.resourceVersion,
      metadata.resourceVersion,
      "no write in silence",
    );
    await stage.edit("orders", { sizeGb: 40 });
    await stage.until("40 GiB", async () => (await stage.database("orders")).sizeGb === 40);
    await stage.ready("orders");
    await stage.quiet();
    assertEquals(stage.changes, ["modify sizeGb"]);
    const refused = await stage.edit("orders", { engine: "mysql" }).then(
      () => "",
      (error: Error) => error.message,
    );
    assertStringIncludes(refused, "engine");
    // A version that cannot be had is told, and holds up no other field.
    const { version } = (await stage.get("orders"))!.spec;
    await stage.edit("orders", { version: "99", sizeGb: 60 });
    await stage.until("60 GiB", async () => (await stage.database("orders")).sizeGb === 60);
    await stage.says("orders", "UpdateFailed");
    assertEquals(await stage.condition("orders", "Ready"), "True/Available");
    await stage.edit("orders", { version });
    await stage.ready("orders");
    // A rotation in which the resource is deleted.
    await stage.ask("PATCH", `${AT}/orders`, {
      metadata: { annotations: { [ANNOTATION.rotatePassword]: "1" } },
    });
    await stage.remove("orders");
    await stage.gone("orders");
    assertEquals(await stage.databases(), []);
  });

  test("K3, D9: an address that changed is in status and Secret, and the password stays; one that somebody dropped is deleted beside a healthy one", async (stage) => {
    for (const name of ["orders", "other"]) await stage.create(name);
    for (const name of ["orders", "other"]) await stage.ready(name);
    const { status } = (await stage.get("orders"))!;
    const had = await stage.secret("orders-connection");
    stage.changes = [];
    await stage.ground.move(await stage.database("orders"));
    await stage.until("the other address", async () => {
      const endpoint = (await stage.get("orders"))?.status?.endpoint;
      return endpoint !== undefined && endpoint !== status?.endpoint;
    });
    const moved = await stage.ready("orders");
    await stage.until("the Secret's address", async () => {
      const { host, port } = await stage.secret("orders-connection");
      return `${host}:${port}` === moved.status?.endpoint;
    });
    const has = await stage.secret("orders-connection");
    const { host: _host, port: _port, uri: _uri, ...kept } = has;
    const { host: _was, port: _at, uri: _by, ...keptBefore } = had;
    assertEquals(kept, keptBefore);
    assertEquals(has["uri"]!.includes(`@${moved.status?.endpoint}/`), true, "the URI has it too");
    assertEquals(await stage.logsIn("orders"), true);
    assertEquals(moved.status?.providerId, status?.providerId);
    await stage.quiet();
    assertEquals(stage.changes, []);

    await stage.ready("other");
    const other = await stage.database("other");
    await stage.ground.drop(await stage.database("orders"));
    await stage.remove("orders");
    await stage.gone("orders");
    assertEquals(await stage.databases(), [other]);
    assertEquals(await stage.condition("other", "Ready"), "True/Available");
    assertEquals(await stage.logsIn("other"), true);
    await stage.remove("other");
    await stage.gone("other");
    assertEquals(await stage.databases(), []);
  });

  test("A3: an account that shows nothing any more makes nothing and lets nothing go; what comes back goes on, and what was to be deleted is", async (stage) => {
    const names = ["a", "b", "c", "d", "e"]; // more than three that are gone at once are not believed (rule 12)
    await stage.ground.backUp();
    for (const name of names) await stage.create(name);
    const ids = new Map<string, string | undefined>();
    for (const name of names) ids.set(name, (await stage.ready(name)).status?.providerId);
    const databases = await stage.databases();
    stage.changes = [];
    const undo = await stage.ground.restore();
    try {
      for (const name of names) await stage.says(name, "MassAbsence");
      await stage.remove("e");
      await stage.quiet();
      for (const name of names) {
        const { metadata, status } = (await stage.get(name))!;
        assertEquals([metadata.finalizers, status?.providerId], [[FINALIZER], ids.get(name)]);
      }
      assertEquals([await stage.databases(), stage.changes], [[], []]);
    } finally {
      await undo();
    }
    await stage.gone("e");
    for (const name of names.slice(0, -1)) {
      assertEquals((await stage.ready(name)).status?.providerId, ids.get(name));
    }
    assertEquals(stage.changes, ["delete"]);
    assertEquals(await stage.databases(), databases.filter(({ id }) => id !== ids.get("e")));
    for (const name of names.slice(0, -1)) assertEquals(await stage.logsIn(name), true);
    for (const name of names.slice(0, -1)) await stage.remove(name);
    for (const name of names.slice(0, -1)) await stage.gone(name);
    assertEquals(await stage.databases(), []);
  });

  test("D7: a final snapshot is taken before the database goes, or nothing goes, and it is said", async (stage) => {
    await stage.create("orders", { deletionPolicy: "Snapshot" });
    const { status } = await stage.ready("orders");
    stage.changes = [];
    await stage.remove("orders");
    if (!stage.ground.snapshots) {
      await stage.says("orders", "SnapshotUnsupported");
      await stage.quiet();
      assertEquals((await stage.databases()).map(({ id }) => id), [status!.providerId!]);
      assertEquals(await stage.logsIn("orders"), true);
      await stage.edit("orders", { deletionPolicy: "Delete" });
    }
    await stage.gone("orders");
    assertEquals(await stage.databases(), []);
  });

  if (!upgrades) return;
  test("R3: a newer minor version is in step: shown, never taken back, and the rest stays managed", async (stage) => {
    await stage.create("orders");
    const { status } = await stage.ready("orders");
    const before = await stage.database("orders");
    stage.changes = [];
    await stage.ground.upgrade!(before);
    await stage.until("the newer version", async () => {
      const { observed } = (await stage.get("orders"))!.status!;
      return observed?.version !== undefined && observed.version !== status?.observed?.version;
    });
    await stage.ready("orders");
    await stage.quiet();
    assertEquals(stage.changes, []);
    const { version } = await stage.database("orders");
    const [major, minor] = version.split(".");
    const [majorBefore, minorBefore] = before.version.split(".");
    assert(major === majorBefore && Number(minor) > Number(minorBefore), `${before.version}, ${version}`);
    await stage.edit("orders", { sizeGb: 40 });
    await stage.until("40 GiB", async () => (await stage.database("orders")).sizeGb === 40);
    await stage.ready("orders");
    assertEquals((await stage.database("orders")).version, version);
    assertEquals(stage.changes, ["modify sizeGb"]);
    assertEquals(await stage.logsIn("orders"), true);
    await stage.remove("orders");
    await stage.gone("orders");
    assertEquals(await stage.databases(), []);
  });
}
