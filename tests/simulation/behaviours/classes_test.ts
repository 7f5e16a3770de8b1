/**
 * Several accounts side by side: what befalls one disturbs no other, and no resource moves between them, wherever the
 * operator dies.
 *
 * Both accounts are parts of the world's one cloud, each blind to the other's databases, so that the judges of the
 * campaign count over both: a database that was made anew elsewhere is one too many (S1).
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { OperatorDeps } from "../../../src/operator/operator.ts";
import { ClassError } from "../../../src/providers/from_class.ts";
import { type Database, type DatabaseProvider, ProviderError } from "../../../src/providers/port.ts";
import { createSimulatedProvider } from "../../../src/providers/simulated/provider.ts";
import { ModelClasses } from "../../support/model_classes.ts";
import { MINUTE, play, playAtEveryCrash, type Scene, SECOND, type Stage } from "./support.ts";

/** Says on a database which account it is in. */
const ACCOUNT_TAG = "test/account";

/** Accounts in one cloud. */
class Accounts {
  #stage: Stage | undefined;
  #classes: ModelClasses | undefined;
  /** Accounts that do not answer. */
  readonly down = new Set<string>();
  /** The token that an account takes; absent: any. */
  readonly tokens = new Map<string, string>();

  get stage(): Stage {
    assert(this.#stage !== undefined, "The stage is not set yet");
    return this.#stage;
  }

  get classes(): ModelClasses {
    return this.#classes ??= new ModelClasses(this.stage.world.clock);
  }

  set(stage: Stage): void {
    this.#stage = stage;
  }

  /** Names of an account's databases. */
  names(account: string): readonly string[] {
    return this.stage.cloud.databases().filter((d) => d.tags[ACCOUNT_TAG] === account).map((d) => d.name)
      .toSorted();
  }

  /** The provider of an account. */
  provider(account: string, token: () => Promise<string | undefined>): DatabaseProvider {
    const { cloud, clock } = this.stage.world;
    const inner = createSimulatedProvider(cloud, { clock, caller: account });
    const pass = async (id?: string) => {
      if (this.down.has(account)) throw new ProviderError("retryable", `The account "${account}" is down`);
      const wanted = this.tokens.get(account);
      const given = await token().catch(() => undefined);
      if (wanted !== undefined && given !== wanted) {
        throw new ProviderError("unauthorised", `The token of "${account}" is refused`);
      }
      if (id !== undefined && cloud.get(id)?.tags[ACCOUNT_TAG] !== account) {
        throw new ProviderError("absent", `There is no database "${id}" in "${account}"`);
      }
    };
    const isOwn = (d: Database) => d.tags[ACCOUNT_TAG] === account;
    return {
      name: "simulated",
      info: async (o) => (await pass(), await inner.info(o)),
      get: async (id, o) => (await pass(id), await inner.get(id, o)),
      list: async (o) => {
        await pass();
        const page = await inner.list(o);
        return { ...page, items: page.items.filter(isOwn) };
      },
      create: async (request, o) => {
        await pass();
        return await inner.create({ ...request, tags: { ...request.tags, [ACCOUNT_TAG]: account } }, o);
      },
      modify: async (id, request, o) => (await pass(id), await inner.modify(id, request, o)),
      delete: async (id, o) => (await pass(id), await inner.delete(id, o)),
    };
  }
}

const gold = { provider: "simulated", parameters: { account: "gold" } } as const;
const silver = { provider: "simulated", parameters: { account: "silver" } } as const;

/** What a process is given of the accounts of the run that it is in. */
function classesOf(current: () => Accounts): OperatorDeps["classes"] {
  return {
    ownNamespace: "operator-system",
    port: {
      classes: {
        get: (...a) => current().classes.classes.get(...a),
        list: (...a) => current().classes.classes.list(...a),
        watch: (...a) => current().classes.classes.watch(...a),
      },
      patchStatus: (name, operations) => current().classes.patchStatus(name, operations),
      secret: (key) => current().classes.secret(key),
    },
    provide: ({ parameters: { account }, credentials }) => {
      if (account === undefined) throw new ClassError("parameters.account is missing");
      return current().provider(account, async () => (await credentials?.())?.["token"]);
    },
  };
}

/** Runs a script among two accounts, the classes gold and silver; each run has its own. */
async function among(
  scene: Scene,
  how: (scene: Scene, body: (stage: Stage) => Promise<void>) => Promise<unknown>,
  script: (stage: Stage, accounts: Accounts) => Promise<void>,
): Promise<void> {
  let accounts = new Accounts();
  const deps = { classes: classesOf(() => accounts) };
  await how({ ...scene, deps }, async (stage) => {
    accounts = new Accounts();
    accounts.set(stage);
    accounts.classes.apply("gold", gold);
    accounts.classes.apply("silver", silver);
    await script(stage, accounts);
  });
}

Deno.test("Classes: two accounts converge side by side, wherever the operator dies", () =>
  among(
    { minutes: 10 },
    (scene, body) => playAtEveryCrash(scene, body, 12),
    async (stage, accounts) => {
      stage.create("a", { className: "gold" });
      stage.create("b", { className: "silver" });
      stage.create("c");
      await stage.available(["a", "b", "c"], 3 * MINUTE);
      stage.edit("a", { sizeGb: 40 });
      stage.remove("b");
      await stage.gone("b", 3 * MINUTE);
      await stage.available(["a", "c"], 3 * MINUTE);
      assertEquals([accounts.names("gold"), accounts.names("silver")], [["a"], []]);
      assertEquals(stage.database("a").sizeGb, 40);
      assertEquals(stage.find("a")?.status?.className, "gold");
    },
  ));

Deno.test("Classes: an outage of one account disturbs no other: creates, edits and deletes there go on as ever", () =>
  among({ minutes: 20 }, play, async (stage, accounts) => {
    stage.create(["a", "b"], { className: "gold" });
    stage.create(["x", "y"], { className: "silver" });
    await stage.available(["a", "b", "x", "y"]);
    accounts.down.add("gold");
    stage.create("c", { className: "gold" });
    await stage.until("told", () => stage.condition("c", "Synced").startsWith("False"), 3 * MINUTE);
    const told = stage.condition("x", "Synced");
    stage.create("z", { className: "silver" });
    const took = await stage.until("made", () => stage.condition("z", "Ready") === "True/Available", MINUTE);
    assert(took < 5 * SECOND, `${took} ms`);
    stage.edit("y", { sizeGb: 50 });
    stage.remove("x");
    await stage.gone("x", 10 * SECOND);
    await stage.until("grown", () => stage.database("y").sizeGb === 50, 10 * SECOND);
    assertEquals(told, "True/Available");
    await stage.pause(5 * MINUTE);
    for (const name of ["y", "z"]) assertEquals(stage.condition(name, "Synced"), "True/Available");
    assertEquals(accounts.names("gold"), ["a", "b"]);
    accounts.down.delete("gold");
    await stage.available(["a", "b", "c", "y", "z"], 5 * MINUTE);
  }));

Deno.test("Classes: another default class moves nothing, wherever the operator dies while it changes", () =>
  among(
    { minutes: 12 },
    (scene, body) => playAtEveryCrash(scene, body, 12),
    async (stage, accounts) => {
      accounts.classes.apply("gold", gold, { isDefault: true });
      accounts.classes.remove("silver"); // to be the newer one
      await stage.pause(SECOND);
      stage.create(["a", "b"]);
      // In the middle of the creates.
      await stage.pause(60);
      accounts.classes.apply("silver", silver, { isDefault: true });
      await stage.available(["a", "b"], 4 * MINUTE);
      stage.create("c");
      await stage.available(["a", "b", "c"], 4 * MINUTE);
      assertEquals(accounts.names("silver").includes("c"), true);
      const before = ["a", "b", "c"].map((n) => [stage.id(n), stage.find(n)?.status?.className]);
      accounts.classes.apply("gold", gold, { isDefault: false });
      accounts.classes.apply("silver", silver, { isDefault: false });
      await stage.pause(2 * MINUTE);
      assertEquals(["a", "b", "c"].map((n) => [stage.id(n), stage.find(n)?.status?.className]), before);
      for (const name of ["a", "b", "c"]) stage.remove(name);
      for (const name of ["a", "b", "c"]) await stage.gone(name, 4 * MINUTE);
      assertEquals(stage.cloud.databases(), []);
    },
  ));

Deno.test("Classes: credentials are rotated, and a class goes and comes back, wherever the operator dies", () =>
  among(
    { minutes: 25 },
    (scene, body) => playAtEveryCrash(scene, body, 12),
    async (stage, accounts) => {
      const { classes, tokens } = accounts;
      tokens.set("gold", "one");
      classes.write("operator-system", "gold", { token: "one" });
      classes.apply("gold", { ...gold, credentialsSecretRef: { name: "gold" } });
      stage.create(["a", "b"], { className: "gold" });
      stage.create("x", { className: "silver" });
      await stage.available(["a", "b", "x"], 4 * MINUTE);
      tokens.set("gold", "two");
      await stage.pause(2 * MINUTE);
      classes.write("operator-system", "gold", { token: "two" });
      stage.edit("a", { sizeGb: 40 });
      await stage.until("grown", () => stage.database("a").sizeGb === 40, 3 * MINUTE);
      classes.remove("gold");
      await stage.pause(5 * SECOND);
      const mark = stage.mark();
      stage.remove("b");
      await stage.until("told", () => stage.condition("b", "Synced") === "False/ClassMissing", 3 * MINUTE);
      stage.create("c", { className: "gold" });
      await stage.pause(3 * MINUTE);
      assertEquals(stage.mutations(mark), []);
      assertEquals(stage.condition("c", "Synced"), "False/ClassMissing");
      assertEquals(stage.condition("x", "Synced"), "True/Available");
      classes.apply("gold", { ...gold, credentialsSecretRef: { name: "gold" } });
      await stage.gone("b", 4 * MINUTE);
      await stage.available(["a", "c", "x"], 4 * MINUTE);
      assertEquals([accounts.names("gold"), accounts.names("silver")], [["a", "c"], ["x"]]);
    },
  ));
