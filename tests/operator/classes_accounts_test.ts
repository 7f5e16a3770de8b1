/** Classes: each account by itself, its credentials, parameters and bounds, and what it is protected by. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { NotSentError } from "../../src/operator/gateway.ts";
import { createNoProvider } from "../../src/providers/none.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import { Accounts, amongAccounts, OWN_NAMESPACE } from "./classes_support.ts";

const gold = { provider: "simulated", parameters: { cloud: "gold" } } as const;
const silver = { provider: "simulated", parameters: { cloud: "silver" } } as const;

/** The message of `Synced`. */
function message({ world }: Accounts, name: string): string {
  return world.get(name)?.status?.conditions?.find((c) => c.type === "Synced")?.message ?? "";
}

Deno.test("Classes: a rotation of the credentials is used at once, also where those before were refused", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    accounts.tokens.set("gold", "first");
    classes.write(OWN_NAMESPACE, "gold-token", { token: "first" });
    classes.apply("gold", { ...gold, credentialsSecretRef: { name: "gold-token" } });
    accounts.start();
    world.cluster.create("default", "a", { className: "gold" });
    await world.available("a");
    assertEquals(classes.followed, [`${OWN_NAMESPACE}/gold-token`], "that Secret and no other is watched");
    accounts.tokens.set("gold", "second");
    world.cluster.create("default", "b", { className: "gold" });
    await world.until("refused", () => world.condition("b", "Synced").startsWith("False"), 200_000);
    await world.until("told", () => classes.condition("gold", "Ready") === "False/Unauthorised", 200_000);
    await world.run(60_000); // into a long back-off
    classes.write(OWN_NAMESPACE, "gold-token", { token: "second" });
    await world.until("ready", () => classes.condition("gold", "Ready") === "True/Available", 10_000);
    await world.until("made", () => accounts.names("gold").length === 2, 5_000);
    await world.available("a", "b");
    classes.erase(OWN_NAMESPACE, "gold-token");
    await world.until(
      "told",
      () => classes.condition("gold", "Ready") === "False/CredentialsMissing",
      10_000,
    );
    await world.run(20_000);
    assertEquals(accounts.names("gold"), ["a", "b"], "without credentials nothing is taken for gone");
    const lines = JSON.stringify([world.lines, world.events, classes.get("gold"), world.get("a")]);
    for (const token of ["first", "second"]) {
      assert(!lines.includes(`"${token}"`), "a token is written nowhere");
    }
  }));

Deno.test("Classes: parameters that are not right are named in the class's status, and a class that was mended is used", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", { provider: "simulated" });
    accounts.start();
    world.cluster.create("default", "a", { className: "gold" });
    await world.until("told", () => classes.condition("gold", "Accepted") === "False/Invalid", 10_000);
    assertMatch(classes.get("gold")?.status?.conditions?.[0]?.message ?? "", /parameters\.cloud is missing/);
    await world.until("told", () => world.condition("a", "Synced") === "False/ClassMissing");
    assertMatch(message(accounts, "a"), /cannot be used: parameters\.cloud is missing/);
    classes.apply("gold", gold);
    await world.available("a");
    await world.until("told", () => classes.condition("gold", "Ready") === "True/Available", 20_000);
    const writes = classes.writes.length;
    await world.run(300_000);
    assertEquals(classes.writes.length, writes, "nothing new is to say");
  }));

Deno.test("A2: parameters that lead to another account change nothing there: the resources say that it is another", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", gold);
    accounts.start();
    for (const name of ["a", "b"]) world.cluster.create("default", name, { className: "gold" });
    await world.available("a", "b");
    classes.apply("gold", { ...gold, parameters: { cloud: "other" } });
    world.cluster.edit("default", "a", { sizeGb: 40 });
    world.cluster.delete("default", "b");
    await world.until("told", () => world.condition("a", "Synced") === "False/Conflict");
    await world.run(400_000);
    assertEquals([accounts.names("gold"), accounts.names("other")], [["a", "b"], []]);
    assertEquals(accounts.cloud("other").ledger.effects({ by: "api" }), []);
    classes.apply("gold", gold);
    await world.until("gone", () => world.get("b") === undefined);
    await world.available("a");
    assertEquals(accounts.names("gold"), ["a"]);
  }));

Deno.test("S2: a database without resource is reported, whatever account it is in", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", { ...gold, defaults: { pollInterval: "10s" } });
    const { operator } = accounts.start();
    world.cluster.create("default", "a", { className: "gold" });
    await world.available("a");
    world.cluster.vanish("default", "a");
    await world.until("reported", () => operator.orphans.orphans.length === 1, 60_000);
    assertEquals(accounts.names("gold"), ["a"]);
  }));

Deno.test("Classes: an operator without an account of its own begins nothing for a resource without class", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", gold);
    accounts.start({ provider: createNoProvider("none") });
    world.cluster.create("default", "a");
    world.cluster.create("default", "b", { className: "gold" });
    await world.available("b");
    await world.until("told", () => world.condition("a", "Synced") === "False/ClassMissing");
    assertMatch(message(accounts, "a"), /names no class, no class is the default/);
    assertEquals(world.get("a")?.metadata.finalizers ?? [], []);
    classes.apply("gold", gold, { isDefault: true });
    await world.available("a");
    assertEquals([accounts.names("gold"), world.cloud.databases()], [["a", "b"], []]);
    assertEquals(world.lines.filter((l) => l.message === "Provider does not answer"), []);
  }));

Deno.test("A2: nothing is changed at an account that has not said its name since its class changed", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", gold);
    const { operator } = accounts.start();
    world.cluster.create("default", "a", { className: "gold" });
    await world.available("a");
    accounts.cloud("other").configure({ latencyMs: 4_000 });
    classes.apply("gold", { ...gold, parameters: { cloud: "other" } });
    await world.until("another provider", () => accounts.made.includes("other"), 5_000, 10);
    const [site] = [...operator.classes.sites()];
    const request = {
      name: "x",
      engine: "postgres",
      version: "14",
      sizeGb: 20,
      tags: {},
      clientToken: "x-1",
    };
    const { signal } = new AbortController();
    const create = () => site!.gateway.create(request, "create", signal, () => {});
    await assertRejects(create, NotSentError, "has not said its name since");
    await world.until("it has", () => site!.account.info?.account === "account-other", 10_000);
    const created = create();
    await world.run(10_000);
    assertEquals((await created).value.name, "x");
  }));

Deno.test("rule 12: databases that turn absent together in one account hold back none of another", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    const often = { defaults: { pollInterval: "10s" } };
    classes.apply("gold", { ...gold, ...often });
    classes.apply("silver", { ...silver, ...often });
    const { operator } = accounts.start();
    const many = ["a", "b", "c", "d", "e"];
    for (const name of many) world.cluster.create("default", name, { className: "gold" });
    for (const name of ["x", "y"]) world.cluster.create("default", name, { className: "silver" });
    await world.available(...many, "x", "y");
    for (const { id } of accounts.cloud("gold").databases()) accounts.cloud("gold").remove(id);
    await world.until(
      "held",
      () => many.every((n) => world.condition(n, "Synced") === "False/MassAbsence"),
      90_000,
    );
    assertEquals([...operator.classes.sites()].map((s) => [s.name, s.absences.active]), [
      ["gold", true],
      ["silver", false],
    ]);
    const [lost] = accounts.cloud("silver").databases();
    accounts.cloud("silver").remove(lost!.id);
    await world.until("made anew", () => accounts.names("silver").length === 2, 120_000);
    await world.available("x", "y");
    assertEquals(accounts.names("gold"), [], "nothing is made anew while it is not sure");
  }));

Deno.test("Q2: an account that throttles pauses its own calls alone, and a class bounds its own rate", () =>
  amongAccounts(async (accounts) => {
    const { world, classes } = accounts;
    classes.apply("gold", { ...gold, rateLimit: { perSecond: 2, concurrency: 1 } });
    classes.apply("silver", silver);
    const { operator } = accounts.start();
    for (let n = 0; n < 8; n++) {
      world.cluster.create("default", `g${n}`, { className: "gold" });
      world.cluster.create("default", `s${n}`, { className: "silver" });
    }
    await world.until("silver is done", () => accounts.names("silver").length === 8, 3_000);
    assert(accounts.names("gold").length < 8, "gold may start two calls a second");
    const [slow] = [...operator.classes.sites()].filter((s) => s.name === "gold");
    slow!.scheduler.pause(60_000);
    world.cluster.create("default", "late", { className: "silver" });
    await world.until("made", () => accounts.names("silver").includes("late"), 2_000);
    classes.apply("gold", gold);
    await world.available(...Array.from({ length: 8 }, (_, n) => `g${n}`), "late");
  }));

Deno.test("Classes: the provider of a class that is deleted and used by nobody is closed", async () => {
  const accounts = new Accounts();
  const { world, classes } = accounts;
  let opened = 0;
  let closed = 0;
  try {
    classes.apply("gold", { provider: "simulated" });
    world.start({
      classes: {
        port: classes,
        ownNamespace: OWN_NAMESPACE,
        provide: () => {
          opened++;
          const inner = createSimulatedProvider(accounts.cloud("gold"), { clock: world.clock });
          return { ...inner, close: () => Promise.resolve(void closed++) };
        },
      },
    });
    await world.run(20_000);
    classes.remove("gold");
    await world.run(120_000);
    assertEquals([opened, closed], [1, 1]);
  } finally {
    world.end();
  }
});
