import { assert, assertEquals, assertMatch } from "@std/assert";
import { PINNED_CLASS } from "../../src/api/constants.ts";
import { seededRandom } from "../../src/core/random.ts";
import { KubeError } from "../../src/kube/port.ts";
import { type Accounts, amongAccounts } from "./classes_support.ts";

const gold = { provider: "simulated", parameters: { cloud: "gold" } } as const;
const silver = { provider: "simulated", parameters: { cloud: "silver" } } as const;

/** The message of `Synced`. */
function message({ world }: Accounts, name: string): string {
  return world.get(name)?.status?.conditions?.find((c) => c.type === "Synced")?.message ?? "";
}

Deno.test("Classes: each resource's database is made in the account of its class; one without class in that of the flags", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", gold);
    classes.apply("silver", silver);
    accounts.start();
    world.cluster.create("default", "a", { className: "gold" });
    world.cluster.create("default", "b", { className: "silver" });
    world.cluster.create("default", "c");
    await world.available("a", "b", "c");
    assertEquals([accounts.names("gold"), accounts.names("silver")], [["a"], ["b"]]);
    assertEquals(world.cloud.databases().map((d) => d.name), ["c"]);
    const { status, metadata } = world.get("a")!;
    assertEquals([status?.className, status?.account, metadata.annotations?.[PINNED_CLASS]], [
      "gold",
      "account-gold",
      "gold",
    ]);
    const plain = world.get("c")!;
    assertEquals([plain.status?.className, plain.metadata.annotations], [undefined, undefined]);
    await world.until("told", () => classes.condition("gold", "Ready") === "True/Available", 20_000);
    assertEquals(classes.condition("gold", "Accepted"), "True/Accepted");
    assertEquals(classes.get("gold")?.status?.account, "account-gold");
    for (const name of ["a", "b", "c"]) world.cluster.delete("default", name);
    await world.until("gone", () => world.cluster.all().length === 0);
    assertEquals([accounts.names("gold"), accounts.names("silver")], [[], []]);
  }));

Deno.test("Classes: the newest of those that are marked is the default, and another default moves no database", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", gold, { isDefault: true });
    const process = accounts.start();
    world.cluster.create("default", "a");
    await world.available("a");
    assertEquals(accounts.names("gold"), ["a"]);
    await world.run(5_000);
    classes.apply("silver", silver, { isDefault: true });
    await world.until("another default", () => process.operator.classes.defaultClass === "silver", 10_000);
    assert(world.lines.some((l) => l.level === "warn" && l.message.startsWith("Several classes are marked")));
    await world.until("told", () => {
      const conditions = classes.get("gold")?.status?.conditions ?? [];
      return conditions.some((c) => c.message.includes('"silver" is too and is newer'));
    }, 20_000);
    world.cluster.create("default", "b");
    await world.available("a", "b");
    process.crash();
    accounts.start();
    world.cluster.edit("default", "a", { sizeGb: 40 });
    await world.until("grown", () => accounts.cloud("gold").databases()[0]?.sizeGb === 40);
    await world.available("a", "b");
    assertEquals([accounts.names("gold"), accounts.names("silver")], [["a"], ["b"]]);
    assertEquals(world.cloud.databases(), []);
  }));

Deno.test("S1: another default class while a create has no answer yet, then a crash: the database is found where it was made", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", gold, { isDefault: true });
    accounts.cloud("gold").configure({ latencyMs: 3_000 });
    const process = accounts.start();
    world.cluster.create("default", "a");
    await world.until("made", () => accounts.names("gold").length === 1);
    assertEquals(world.get("a")?.status?.providerId, undefined, "the answer is still under way");
    process.crash();
    classes.apply("silver", silver, { isDefault: true });
    accounts.start();
    await world.available("a");
    assertEquals([accounts.names("gold"), accounts.names("silver")], [["a"], []]);
    assertEquals(world.get("a")?.status?.className, "gold");
  }));

Deno.test("S1: another spec.className while a create has no answer yet is told as a conflict, and moves nothing", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", gold);
    classes.apply("silver", silver);
    accounts.cloud("gold").configure({ latencyMs: 3_000 });
    const process = accounts.start();
    world.cluster.create("default", "a", { className: "gold" });
    await world.until("made", () => accounts.names("gold").length === 1);
    world.cluster.edit("default", "a", { className: "silver" });
    process.crash();
    accounts.start();
    await world.until("told", () => world.condition("a", "Synced") === "False/Conflict");
    assertMatch(message(accounts, "a"), /spec\.className is "silver".* class "gold"/);
    assertEquals(accounts.names("silver"), []);
    world.cluster.edit("default", "a", { className: "gold" });
    await world.available("a");
    assertEquals(accounts.names("gold"), ["a"]);
  }));

Deno.test("Classes: of a class that is not there nothing is begun, and the resource can be deleted at once; when the class comes, it goes on", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    accounts.start();
    world.cluster.create("default", "a", { className: "gold" });
    world.cluster.create("default", "b", { className: "gold" });
    await world.until("told", () => world.condition("a", "Synced") === "False/ClassMissing");
    assertEquals(world.get("a")?.metadata.finalizers ?? [], []);
    world.cluster.delete("default", "b");
    await world.until("gone", () => world.get("b") === undefined, 5_000);
    classes.apply("gold", gold);
    await world.available("a");
    assertEquals(accounts.names("gold"), ["a"]);
  }));

Deno.test("Classes: when the class goes, its databases stay as they are and deletions wait, over a restart too, until it is back", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", gold);
    const process = accounts.start();
    for (const name of ["a", "b", "c"]) world.cluster.create("default", name, { className: "gold" });
    await world.available("a", "b", "c");
    classes.remove("gold");
    await world.until("told", () => world.condition("a", "Synced") === "False/ClassMissing", 10_000);
    assertEquals(world.condition("a", "Ready"), "True/Available");
    world.cluster.edit("default", "a", { sizeGb: 50 });
    world.cluster.delete("default", "b");
    const waits = /^Deletion waits: .*"gold" is not there; create the class again/;
    await world.until("told", () => waits.test(message(accounts, "b")), 10_000);
    process.crash();
    accounts.start();
    await world.run(120_000);
    assertEquals(accounts.names("gold"), ["a", "b", "c"]);
    assertEquals(accounts.cloud("gold").databases().map((d) => d.sizeGb), [20, 20, 20]);
    const { metadata } = world.get("c")!;
    world.cluster.delete("default", "c");
    world.cluster.annotate("default", "c", { "db.my.domain/abandon": metadata.uid });
    await world.until("abandoned", () => world.get("c") === undefined, 10_000);
    classes.apply("gold", gold);
    await world.until("deleted", () => world.get("b") === undefined);
    await world.available("a");
    assertEquals(accounts.names("gold"), ["a", "c"]);
    assertEquals(accounts.cloud("gold").databases().find((d) => d.name === "a")?.sizeGb, 50);
  }));

Deno.test("Classes: what a class does not allow is not created; what is there already is told of and left", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    const allowed = { engines: ["postgres"], versions: ["14", "15.2"], sizeGb: { min: 10, max: 40 } };
    classes.apply("gold", { ...gold, allowed });
    accounts.start();
    const asked = {
      engine: [{ engine: "mysql" }, /spec\.engine is "mysql".*may only be postgres/],
      version: [{ version: "15.3" }, /spec\.version is "15\.3".*14, 15\.2/],
      small: [{ sizeGb: 9 }, /spec\.sizeGb is 9.*10 or more/],
      large: [{ sizeGb: 41 }, /spec\.sizeGb is 41.*40 at most/],
    } as const;
    for (const [name, [spec]] of Object.entries(asked)) {
      world.cluster.create("default", name, { className: "gold", ...spec });
    }
    world.cluster.create("default", "good", { className: "gold" });
    await world.available("good");
    for (const [name, [, why]] of Object.entries(asked)) {
      await world.until(`${name} is told`, () => world.condition(name, "Synced") === "False/NotAllowed");
      assertEquals(world.condition(name, "Ready"), "False/NotAllowed");
      assertMatch(message(accounts, name), why);
    }
    assertEquals(accounts.names("gold"), ["good"]);
    world.cluster.edit("default", "good", { sizeGb: 60 });
    await world.until("told", () => world.condition("good", "Synced") === "False/NotAllowed");
    assertEquals(world.condition("good", "Ready"), "True/Available");
    world.cluster.edit("default", "good", { sizeGb: 40 });
    world.cluster.edit("default", "large", { sizeGb: 30 });
    await world.available("good", "large");
    classes.apply("gold", { ...gold, allowed: { sizeGb: { max: 35 } } });
    await world.until("told", () => world.condition("good", "Synced") === "False/NotAllowed");
    await world.available("large", "engine", "version", "small");
    assertEquals(accounts.cloud("gold").databases().find((d) => d.name === "good")?.sizeGb, 40);
    world.cluster.delete("default", "good");
    await world.until("gone", () => world.get("good") === undefined);
  }));

Deno.test("Classes: a class's policies hold where a resource names none, and never for one that was adopted", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", { ...gold, defaults: { deletionPolicy: "Retain", driftPolicy: "Report" } });
    accounts.start();
    world.cluster.create("default", "kept", { className: "gold" });
    world.cluster.create("default", "own", {
      className: "gold",
      deletionPolicy: "Delete",
      driftPolicy: "Repair",
    });
    await world.available("kept", "own");
    for (const name of ["kept", "own"]) world.cluster.edit("default", name, { sizeGb: 30 });
    await world.until("told", () => world.condition("kept", "Synced") === "False/DriftReported");
    await world.available("own");
    for (const name of ["kept", "own"]) world.cluster.delete("default", name);
    await world.until("gone", () => world.cluster.all().length === 0);
    const left = accounts.cloud("gold").databases();
    assertEquals(left.map((d) => [d.name, d.tags["db.my.domain/retained"] !== undefined]), [["kept", true]]);
    classes.apply("gold", { ...gold, defaults: { deletionPolicy: "Delete" } });
    world.cluster.create("default", "adopted", { className: "gold", providerId: left[0]!.id, sizeGb: 20 });
    await world.until("adopted", () => world.get("adopted")?.status?.adopted === true);
    world.cluster.delete("default", "adopted");
    await world.until("gone", () => world.get("adopted") === undefined);
    assertEquals(accounts.names("gold"), ["kept"]);
  }));

Deno.test("Classes: until they are listed nothing is decided by them, and a cluster without their CRD has none", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", gold, { isDefault: true });
    classes.fault = new KubeError("unavailable", "Listing the classes: the API server is not there");
    accounts.start();
    world.cluster.create("default", "a");
    await world.run(20_000);
    assertEquals([world.cloud.databases().length, accounts.names("gold").length], [0, 0]);
    classes.fault = undefined;
    await world.available("a");
    assertEquals(accounts.names("gold"), ["a"]);
  }).then(() =>
    amongAccounts(async (accounts) => {
      const { world, classes } = accounts;
      classes.fault = new KubeError("notFound", "Listing the classes: not found");
      accounts.start();
      world.cluster.create("default", "a");
      await world.available("a");
      assertEquals(world.cloud.databases().map((d) => d.name), ["a"]);
    })
  ));

Deno.test("Classes: an operator that is refused their list serves none after ten seconds, whatever its back-off draws", async () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    await amongAccounts(async (accounts) => {
      const { world, classes } = accounts;
      classes.fault = new KubeError("forbidden", "Listing the classes: cannot list resource");
      accounts.start({ random: seededRandom(seed) });
      world.cluster.create("default", "a");
      await world.run(9_000);
      assertEquals(world.get("a")?.metadata.finalizers ?? [], [], "a right that is late is waited for");
      await world.until("begun", () => world.get("a")?.metadata.finalizers?.length === 1, 3_000);
      await world.available("a");
    });
  }
});
