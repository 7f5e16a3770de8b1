import { assert, assertEquals } from "@std/assert";
import {
  type CreateRequest,
  type Database,
  type DatabaseProvider,
  ProviderError,
} from "../../src/providers/port.ts";
import type { RdsServer } from "../support/rds.ts";
import { classOf, cutAt, type Fate } from "../support/cuts.ts";
import { type Proxy, serveProxy } from "./proxy.ts";
import { CALL, emptyRds, eventually, listAll, providerAt, requestFor, USUAL_TIMING } from "./support.ts";

/** How often each cut is made; more for a campaign: `EDB_CUT_ROUNDS=100`. */
const ROUNDS = Number(Deno.env.get("EDB_CUT_ROUNDS") ?? 1);
const FATES: readonly Fate[] = Array.from({ length: ROUNDS }, () => ["before", "after"] as const).flat();

interface Stage {
  readonly server: RdsServer;
  readonly proxy: Proxy;
  /** Through the proxy: the process that is killed. */
  readonly first: DatabaseProvider;
  /** The process after it. */
  readonly second: DatabaseProvider;
}

/** Sends again until it is done, as the operator does after `busy` and what is not known. */
async function persist<T>(
  what: string,
  send: () => Promise<T>,
  done: (value: T) => boolean,
): Promise<T | undefined> {
  return (await eventually<{ readonly value?: T }>(what, async () => {
    try {
      const value = await send();
      return done(value) ? { value } : undefined;
    } catch (error) {
      assert(error instanceof ProviderError, String(error));
      if (error.errorClass === "absent") return {};
      assert(["busy", "retryable", "unknown"].includes(error.errorClass), error.message);
      return undefined;
    }
  })).value;
}

async function available(provider: DatabaseProvider, id: string): Promise<Database> {
  const found = await persist(
    "the instance",
    () => provider.get(id, CALL),
    ({ state }) => state === "Available",
  );
  assert(found !== undefined, `${id} is gone`);
  return found;
}

/** Deletes what carries the tags of a request, and awaits that nothing is left. */
async function removeAll({ second, server }: Stage, request: CreateRequest): Promise<void> {
  for (const { id } of await listAll(second, { "db.my.domain/uid": request.tags["db.my.domain/uid"]! })) {
    await persist("the delete", () => second.delete(id, CALL), () => false);
  }
  assertEquals(await server.instances(), []);
}

/** The actions that a call asks for when nothing is in the way. */
async function rehearse(proxy: Proxy, call: () => Promise<unknown>): Promise<string[]> {
  proxy.asked.length = 0;
  await call();
  return proxy.asked.map(({ action }) => action);
}

async function onStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  const server = await emptyRds();
  await server.timing({ create: 0.05, begin: 0.02, modify: 0.05, optimise: 0.02, delete: 0.05 });
  const proxy = serveProxy(server.url);
  try {
    await work({ server, proxy, first: providerAt(proxy.url), second: providerAt(server.url) });
    assertEquals(await server.instances(), []);
  } finally {
    await proxy.close();
    await server.timing(USUAL_TIMING);
  }
}

/** What a cut at the nth of these actions leaves to be known of the call. */
function expected(actions: readonly string[], n: number): string {
  return actions.slice(0, n + 1).some((action) => !action.startsWith("Describe")) ? "unknown" : "retryable";
}

Deno.test("C1: a create of RDS cut at every request is finished by its repetition and leaves one instance", async () => {
  await onStage(async (stage) => {
    const { server, proxy, first, second } = stage;
    const rehearsed = requestFor();
    const actions = await rehearse(proxy, () => first.create(rehearsed, CALL));
    assertEquals(actions, ["CreateDBInstance"]);
    assertEquals(await rehearse(proxy, () => first.create(rehearsed, CALL)), [
      "CreateDBInstance",
      "DescribeDBInstances",
    ]);
    await removeAll(stage, rehearsed);
    for (const fate of FATES) {
      const request = requestFor({ password: "first-Password-0123456789" });
      cutAt(proxy, 0, fate);
      assertEquals(await classOf(first.create(request, CALL)), "unknown");
      assertEquals((await server.instances()).length, fate === "after" ? 1 : 0);
      // Its repetition is cut too: it meets the first, or is the first, and nothing of it is known.
      cutAt(proxy, fate === "after" ? 1 : 0, "after");
      assertEquals(await classOf(first.create(request, CALL)), fate === "after" ? "retryable" : "unknown");
      const made = await second.create(request, CALL);
      assertEquals((await listAll(second)).map(({ id }) => id), [made.id]);
      const { tags, endpoint } = await available(second, made.id);
      assertEquals(tags, request.tags);
      assert(endpoint !== undefined);
      assertEquals((await server.instances()).map(({ password }) => password), [request.password!]);
      await removeAll(stage, request);
    }
  });
});

Deno.test("C1, S2: what a create of RDS cut at any request has left is found by its tags and can be deleted", async () => {
  await onStage(async (stage) => {
    const { proxy, first, second } = stage;
    for (const fate of FATES) {
      const request = requestFor();
      cutAt(proxy, 0, fate);
      await classOf(first.create(request, CALL));
      const found = await listAll(second, request.tags);
      assertEquals(found.length, fate === "after" ? 1 : 0);
      await removeAll(stage, request);
    }
  });
});

Deno.test("K1: a change of password at RDS cut at every request is finished by its repetition", async () => {
  await onStage(async (stage) => {
    const { server, proxy, first, second } = stage;
    const request = requestFor({ password: "first-Password-0123456789" });
    const { id } = await second.create(request, CALL);
    await available(second, id);
    let count = 0;
    const next = () => `next-Password-${String(++count).padStart(10, "0")}`;
    const change = () => ({ password: next(), tags: { round: String(count), [`old-${count - 1}`]: null } });
    await second.modify(id, { tags: { "old-0": "x" } }, CALL);
    const actions = await rehearse(proxy, () => first.modify(id, change(), CALL));
    assertEquals(actions, [
      "DescribeDBInstances",
      "ModifyDBInstance",
      "AddTagsToResource",
      "RemoveTagsFromResource",
    ]);
    for (let n = 0; n < actions.length; n++) {
      for (const fate of FATES) {
        await available(second, id);
        await second.modify(id, { tags: { [`old-${count}`]: "x" } }, CALL);
        const wanted = change();
        cutAt(proxy, n, fate);
        assertEquals(
          await classOf(first.modify(id, wanted, CALL)),
          expected(actions, n),
          `${fate} ${actions[n]}`,
        );
        await persist("the change", () => second.modify(id, wanted, CALL), () => true);
        const { tags } = await available(second, id);
        assertEquals(tags, { ...request.tags, round: String(count) });
        const [instance] = await server.instances();
        assertEquals([instance?.resourceId, instance?.password], [id, wanted.password]);
      }
    }
    await removeAll(stage, request);
  });
});

Deno.test("R4: a change of size and version at RDS cut at every request is finished by its repetition", async () => {
  await onStage(async (stage) => {
    const { server, proxy, first, second } = stage;
    for (let n = 0; n < 2; n++) {
      for (const fate of FATES) {
        const request = requestFor();
        const { id } = await second.create(request, CALL);
        await available(second, id);
        cutAt(proxy, n, fate);
        const change = { sizeGb: 40, version: "17" };
        assertEquals(await classOf(first.modify(id, change, CALL)), n === 0 ? "retryable" : "unknown");
        const seen = await second.get(id, CALL);
        // The operator compares and sends what is lacking.
        if (seen.pending === undefined && seen.sizeGb < 40) await second.modify(id, change, CALL);
        await persist("the change", () => second.get(id, CALL), ({ sizeGb, version }) => {
          return sizeGb === 40 && version === "17.2";
        });
        assertEquals((await server.instances()).length, 1);
        await removeAll(stage, request);
      }
    }
  });
});

Deno.test("D1: a delete at RDS cut at every request is finished by its repetition and leaves nothing", async () => {
  await onStage(async (stage) => {
    const { proxy, first, second } = stage;
    const actions = ["DescribeDBInstances", "DeleteDBInstance"];
    for (let n = 0; n < actions.length; n++) {
      for (const fate of FATES) {
        const request = requestFor();
        const { id } = await second.create(request, CALL);
        await available(second, id);
        proxy.asked.length = 0;
        cutAt(proxy, n, fate);
        assertEquals(await classOf(first.delete(id, CALL)), expected(actions, n), `${fate} ${actions[n]}`);
        await removeAll(stage, request);
        assertEquals(await classOf(second.get(id, CALL)), "absent");
      }
    }
  });
});

Deno.test("D7: a delete at RDS with a final snapshot, cut at every request, takes it once", async () => {
  await onStage(async (stage) => {
    const { server, proxy, first, second } = stage;
    let count = 0;
    for (let n = 0; n < 2; n++) {
      for (const fate of FATES) {
        const request = requestFor();
        const { id } = await second.create(request, CALL);
        await available(second, id);
        const finalSnapshot = `orders-final-${++count}`;
        cutAt(proxy, n, fate);
        const outcome = await classOf(first.delete(id, { ...CALL, finalSnapshot }));
        assertEquals(outcome, n === 0 ? "retryable" : "unknown");
        await persist("the delete", () => second.delete(id, { ...CALL, finalSnapshot }), () => false);
        assertEquals((await server.snapshots()).filter(({ name }) => name === finalSnapshot), [
          { name: finalSnapshot, resourceId: id, status: "available" },
        ]);
        assertEquals((await server.snapshots()).length, count);
      }
    }
  });
});

Deno.test("S1: ten creates of one token at once make one instance", async () => {
  await onStage(async (stage) => {
    const { server, second } = stage;
    const request = requestFor();
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => second.create(request, CALL)));
    const ids = outcomes.map((each) => each.status === "fulfilled" ? each.value.id : each.reason.errorClass);
    assertEquals(new Set(ids).size, 1, JSON.stringify(ids));
    assertEquals((await server.instances()).length, 1);
    await removeAll(stage, request);
  });
});
