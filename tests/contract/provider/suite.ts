/**
 * What every provider must do, whatever is behind it.
 *
 * @module
 */
import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import type { CreateRequest, Database, DatabaseProvider } from "../../../src/providers/port.ts";
import { ProviderError, type ProviderErrorClass } from "../../../src/providers/port.ts";

/** A provider with a cloud behind it, new for each test. */
export interface ContractStage {
  readonly provider: DatabaseProvider;
  /** Mutating requests that reached the cloud so far. */
  mutations(): number;
  /** Makes every later answer come this late, in milliseconds. */
  slow(ms: number): void;
  /** Calls `fn` whenever a request is handed to the transport. Absent: cannot be seen here. */
  readonly onSend?: ((fn: () => void) => void) | undefined;
  /**
   * A version that this cloud has, and one that a database of it can be changed to; without the second, a change of
   * version is refused. @default 14.2 and 15.1
   */
  readonly versions?: { readonly first: string; readonly next?: string } | undefined;
  /** An operation has ended when it is answered: there is no time in which another could be refused. @default false */
  readonly instant?: boolean | undefined;
  /** A change of size has ended when it is answered, though a create has not. @default false */
  readonly quickChanges?: boolean | undefined;
  /** Whether a client gets in with this password, by a look that does not go through the provider. Absent: cannot be seen here. */
  readonly logsIn?: ((database: Database, password: string) => boolean | Promise<boolean>) | undefined;
  /** Names of the final snapshots that were taken. Absent: cannot be seen here. */
  readonly snapshots?: (() => readonly string[]) | undefined;
  /** Makes the next final snapshot fail. Absent: cannot be made here. */
  readonly failSnapshot?: (() => void) | undefined;
  /** A tag's value with characters that are hard to send, as far as this cloud takes them in tags. @default all kinds */
  readonly oddTag?: string | undefined;
  /** Two passwords that this cloud takes. @default with characters of all kinds */
  readonly passwords?: readonly [string, string] | undefined;
  close(): Promise<void>;
}

/** Longest wait for a condition, in milliseconds. */
const PATIENCE_MS = 60_000;

const NEVER = new AbortController().signal;
const CALL = { signal: NEVER };
const STATES = ["Provisioning", "Available", "Modifying", "Deleting", "Failed"];

let count = 0;
/** Of the stage in use: tests run one after the other. */
let versions: { readonly first: string; readonly next?: string } = { first: "14.2", next: "15.1" };

function request(change: Partial<CreateRequest> = {}): CreateRequest {
  const uid = `uid-${++count}`;
  const tags = { "db.my.domain/uid": uid, "kubernetes.io/cr-name": "orders" };
  return {
    name: "orders",
    engine: "postgres",
    version: versions.first,
    sizeGb: 20,
    tags,
    clientToken: `${uid}-1`,
    ...change,
  };
}

/** Awaits until `look` gives something. */
async function eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`Waiting for ${what}: not within ${PATIENCE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function inState(provider: DatabaseProvider, id: string, state: string): Promise<Database> {
  return eventually(`${id} to be ${state}`, async () => {
    const database = await provider.get(id, CALL);
    return database.state === state ? database : undefined;
  });
}

/** The error of a call that must fail, checked for what holds of every error. */
async function failure(promise: Promise<unknown>): Promise<ProviderError> {
  let error: unknown;
  try {
    await promise;
  } catch (e) {
    error = e;
  }
  assertInstanceOf(error, ProviderError);
  assert(error.message.length > 0 && error.message.length <= 512, error.message);
  // deno-lint-ignore no-control-regex -- none may be there
  assert(!/[\u0000-\u001f\u007f]/.test(error.message), error.message);
  return error;
}

async function classOf(promise: Promise<unknown>): Promise<ProviderErrorClass> {
  return (await failure(promise)).errorClass;
}

async function created(provider: DatabaseProvider, change: Partial<CreateRequest> = {}): Promise<Database> {
  const made = await provider.create(request(change), CALL);
  return await inState(provider, made.id, "Available");
}

async function idsByTags(
  provider: DatabaseProvider,
  tags: Record<string, string>,
  limit = 100,
): Promise<string[]> {
  const ids: string[] = [];
  let pageToken: string | undefined;
  for (let pages = 0; pages < 1_000; pages++) {
    const page = await provider.list({ ...CALL, tags, limit, pageToken });
    assert(page.items.length <= limit);
    ids.push(...page.items.map((d) => d.id));
    if (page.nextPageToken === undefined) return ids;
    pageToken = page.nextPageToken;
  }
  throw new Error("Listing databases: the pages do not end");
}

async function untilAbsent(provider: DatabaseProvider, id: string): Promise<void> {
  await eventually("absence", async () => {
    const state = await provider.get(id, CALL).then(() => "there", (e: ProviderError) => e.errorClass);
    return state === "absent" || undefined;
  });
}

/** Registers the tests for one provider. */
export function providerContract(name: string, make: () => Promise<ContractStage> | ContractStage): void {
  const test = (title: string, body: (stage: ContractStage) => Promise<void>) =>
    Deno.test(`${name}: ${title}`, async () => {
      const stage = await make();
      versions = stage.versions ?? { first: "14.2", next: "15.1" };
      try {
        await body(stage);
      } finally {
        await stage.close();
      }
    });

  test("says what its account promises", async ({ provider }) => {
    const info = await provider.info(CALL);
    assert(info.readLagSeconds >= 0 && info.effectBoundSeconds >= 0);
    assert(info.account === undefined || info.account.length > 0);
  });

  test("creates, shows, changes and deletes a database", async ({ provider }) => {
    const wanted = request();
    const made = await provider.create(wanted, CALL);
    assert(STATES.includes(made.state));
    const { id } = made;
    const ready = await inState(provider, id, "Available");
    const { engine, version, sizeGb, tags } = ready;
    assertEquals([ready.name, engine, version, sizeGb], [
      wanted.name,
      wanted.engine,
      wanted.version,
      wanted.sizeGb,
    ]);
    assertEquals(tags, wanted.tags);
    assert(/^\S+:\d+$/.test(ready.endpoint ?? ""), ready.endpoint);
    assert(!Number.isNaN(Date.parse(ready.createdAt)));
    const { first, next } = versions;
    const change = { sizeGb: 30, ...(next === undefined ? {} : { version: next }) };
    assertEquals((await provider.modify(id, change, CALL)).id, id);
    const changed = await eventually("the change", async () => {
      const now = await provider.get(id, CALL);
      return now.state === "Available" && now.sizeGb === 30 ? now : undefined;
    });
    assertEquals([changed.version, changed.tags, changed.engine], [next ?? first, wanted.tags, "postgres"]);
    await provider.delete(id, CALL);
    await eventually("absence", async () => {
      try {
        assertEquals((await provider.get(id, CALL)).state, "Deleting");
        return undefined;
      } catch (error) {
        assertInstanceOf(error, ProviderError);
        assertEquals(error.errorClass, "absent");
        return true;
      }
    });
  });

  test("reads its own writes", async ({ provider }) => {
    const { id } = await provider.create(request(), CALL);
    assertEquals((await provider.get(id, CALL)).id, id);
    await inState(provider, id, "Available");
    await provider.modify(id, { tags: { extra: "1" } }, CALL);
    assertEquals((await provider.get(id, CALL)).tags["extra"], "1");
    await provider.delete(id, CALL);
    const after = await provider.get(id, CALL).then((d) => d.state, (e: ProviderError) => e.errorClass);
    assert(after === "Deleting" || after === "absent", after);
  });

  test("merges tags by key, removes by null, and stays Available", async ({ provider }) => {
    const { id, tags } = await created(provider);
    const answer = await provider.modify(id, { tags: { a: "1", "kubernetes.io/cr-name": null } }, CALL);
    assertEquals(answer.state, "Available");
    assertEquals((await provider.get(id, CALL)).tags, {
      "db.my.domain/uid": tags["db.my.domain/uid"]!,
      a: "1",
    });
  });

  test("finds by all tags and by nothing else, with any characters in them", async ({ provider, oddTag }) => {
    const odd = { k: oddTag ?? "a=b&c d/é%41+?#", t: "x" };
    const first = await created(provider, { tags: odd });
    await created(provider, { tags: { ...odd, t: "y" } });
    await created(provider, { tags: {} });
    await eventually(
      "the list",
      async () => (await idsByTags(provider, { t: "y" })).length === 1 || undefined,
    );
    assertEquals(await idsByTags(provider, odd), [first.id]);
    assertEquals(await idsByTags(provider, { k: "a=b" }), []);
    assertEquals((await idsByTags(provider, { k: odd.k })).length, 2);
  });

  test("pages are complete and without repeats", async ({ provider }) => {
    const made: string[] = [];
    for (let i = 0; i < 7; i++) {
      made.push((await provider.create(request({ tags: { group: "g" } }), CALL)).id);
    }
    await eventually("all to be listed", async () => {
      return (await idsByTags(provider, { group: "g" })).length === 7 || undefined;
    });
    for (const limit of [1, 3, 7, 100]) {
      assertEquals((await idsByTags(provider, { group: "g" }, limit)).sort(), [...made].sort());
    }
  });

  test("a repeated create gives the first database where tokens are known, else another", async ({ provider }) => {
    const { clientTokens } = await provider.info(CALL);
    const wanted = request();
    const first = await provider.create(wanted, CALL);
    const second = await provider.create(wanted, CALL);
    assertEquals(second.id === first.id, clientTokens);
    if (!clientTokens) return;
    assertEquals(await classOf(provider.create({ ...wanted, sizeGb: 21 }, CALL)), "exists");
    await inState(provider, first.id, "Available");
    await provider.delete(first.id, CALL);
    const late = await provider.create(wanted, CALL).then((d) => d.id, (e: ProviderError) => e.errorClass);
    assert(late === first.id || late === "exists", late);
  });

  test("never gives an id twice", async ({ provider }) => {
    const ids = new Set<string>();
    for (let i = 0; i < 3; i++) {
      const { id } = await created(provider);
      assert(!ids.has(id));
      ids.add(id);
      await provider.delete(id, CALL);
      await eventually("absence", async () => {
        const state = await provider.get(id, CALL).then(() => "there", (e: ProviderError) => e.errorClass);
        return state === "absent" || undefined;
      });
    }
  });

  test("says absent of what is not there, and of nothing else", async ({ provider }) => {
    const { id } = await created(provider);
    for (const unknown of ["db-unknown", "a/b", "%2F", "ü ?#&", `${id}x`, id.slice(0, -1)]) {
      assertEquals(await classOf(provider.get(unknown, CALL)), "absent", unknown);
      assertEquals(await classOf(provider.modify(unknown, { sizeGb: 50 }, CALL)), "absent", unknown);
      assertEquals(await classOf(provider.delete(unknown, CALL)), "absent", unknown);
    }
    for (const impossible of ["", ".", ".."]) {
      const classes = ["rejected", "absent"];
      assert(classes.includes(await classOf(provider.get(impossible, CALL))));
      assert(classes.includes(await classOf(provider.modify(impossible, { sizeGb: 50 }, CALL))));
      assert(classes.includes(await classOf(provider.delete(impossible, CALL))));
    }
    assertEquals((await provider.list({ ...CALL, tags: { no: "such" } })).items, []);
    assertEquals((await provider.get(id, CALL)).sizeGb, 20);
  });

  test("says busy while an operation goes on", async ({ provider, instant, quickChanges }) => {
    if (instant) return;
    const { id } = await provider.create(request(), CALL);
    const change = classOf(provider.modify(id, { sizeGb: 50 }, CALL));
    const removal = classOf(provider.delete(id, CALL));
    assertEquals(await Promise.all([change, removal]), ["busy", "busy"]);
    await inState(provider, id, "Available");
    if (quickChanges) return;
    await provider.modify(id, { sizeGb: 50 }, CALL);
    assertEquals(await classOf(provider.modify(id, { sizeGb: 60 }, CALL)), "busy");
  });

  test("accepts a delete again while it goes on", async ({ provider, instant }) => {
    const { id } = await created(provider);
    await provider.delete(id, CALL);
    if (instant) assertEquals(await classOf(provider.delete(id, CALL)), "absent");
    else await provider.delete(id, CALL);
  });

  test("says rejected of what can never be", async ({ provider }) => {
    const { id } = await created(provider);
    assertEquals(await classOf(provider.modify(id, { sizeGb: 10 }, CALL)), "rejected");
    assertEquals(await classOf(provider.create(request({ sizeGb: -1 }), CALL)), "rejected");
    if (versions.next === undefined) {
      assertEquals(await classOf(provider.modify(id, { version: "999.1" }, CALL)), "rejected");
    }
    assertEquals((await provider.get(id, CALL)).sizeGb, 20);
  });

  test("calls beforeSend once per mutation, in the tick that sends, and never for reads", async (stage) => {
    const { provider } = stage;
    let told = 0;
    let fresh = false;
    const sentFresh: boolean[] = [];
    stage.onSend?.(() => sentFresh.push(fresh));
    const beforeSend = () => {
      told++;
      fresh = true;
      queueMicrotask(() => {
        fresh = false;
      });
    };
    const call = { ...CALL, beforeSend };
    const { id } = await provider.create(request(), call);
    assertEquals(told, 1);
    await inState(provider, id, "Available");
    assertEquals(told, 1);
    if (stage.onSend !== undefined) assertEquals(sentFresh[0], true);
    sentFresh.length = 0;
    await provider.modify(id, { tags: { a: "1" } }, call);
    await provider.delete(id, call);
    assertEquals(told, 3);
    if (stage.onSend !== undefined) assertEquals(sentFresh, [true, true]);
  });

  test("sends nothing when beforeSend throws, and rethrows it unchanged", async (stage) => {
    const { provider } = stage;
    const { id } = await created(provider);
    const before = stage.mutations();
    const fence = new Error("Not the leader");
    const call = {
      ...CALL,
      beforeSend: () => {
        throw fence;
      },
    };
    const calls = [
      () => provider.create(request({ tags: { fenced: "yes" } }), call),
      () => provider.modify(id, { sizeGb: 99 }, call),
      () => provider.delete(id, call),
    ];
    for (const send of calls) assertEquals(await send().then(() => "sent", (e) => e), fence);
    assertEquals(stage.mutations(), before);
    assertEquals((await provider.get(id, CALL)).sizeGb, 20);
  });

  test("sends nothing under a signal that is already aborted", async (stage) => {
    const { provider } = stage;
    const { id } = await created(provider);
    const before = stage.mutations();
    const call = { signal: AbortSignal.abort() };
    const classes: ProviderErrorClass[] = ["retryable", "unknown"];
    assert(classes.includes(await classOf(provider.create(request(), call))));
    assert(classes.includes(await classOf(provider.modify(id, { sizeGb: 99 }, call))));
    assert(classes.includes(await classOf(provider.delete(id, call))));
    assertEquals(await classOf(provider.get(id, call)), "retryable");
    assertEquals(await classOf(provider.list({ ...call, tags: {} })), "retryable");
    assertEquals(stage.mutations(), before);
  });

  test("lets in with the password of the create, and of a change from then on", async (stage) => {
    const { provider, logsIn } = stage;
    const [first, second] = stage.passwords ?? ["Ab3-_q'\\\"$%&~ x1", "second-Password-0123456789"];
    if ((await provider.info(CALL)).passwords === undefined) return;
    const { id, access, sizeGb, tags } = await created(provider, { password: first });
    assert(access !== undefined);
    assert(/^[a-z][a-z0-9+.-]*$/.test(access.type), access.type);
    assert(access.database !== "" && access.username !== "");
    const passwords = async () => {
      const now = await inState(provider, id, "Available");
      assertEquals(now.access, access);
      return [await logsIn?.(now, first), await logsIn?.(now, second)];
    };
    const known = (...all: boolean[]) => logsIn === undefined ? [undefined, undefined] : all;
    assertEquals(await passwords(), known(true, false));
    assertEquals((await provider.modify(id, { password: second }, CALL)).id, id);
    assertEquals(await passwords(), known(false, true));
    await provider.modify(id, { password: second }, CALL);
    assertEquals(await passwords(), known(false, true));
    await provider.modify(id, { password: first, sizeGb: 30, tags: { a: "1" } }, CALL);
    assertEquals(await passwords(), known(true, false));
    const after = await provider.get(id, CALL);
    assertEquals([after.sizeGb, after.tags], [30, { ...tags, a: "1" }]);
    assert(sizeGb < 30);
    const shown = JSON.stringify([after, (await provider.list({ ...CALL, tags })).items]);
    for (const secret of [first, second]) assert(!shown.includes(JSON.stringify(secret).slice(1, -1)));
  });

  test("sets the first password of a database that was made without", async ({ provider, logsIn }) => {
    if ((await provider.info(CALL)).passwords === undefined) return;
    const { id } = await created(provider);
    await provider.modify(id, { password: "late-Password-0123456789" }, CALL);
    const now = await inState(provider, id, "Available");
    if (logsIn !== undefined) assertEquals(await logsIn(now, "late-Password-0123456789"), true);
  });

  test("names no password in an error", async ({ provider }) => {
    if ((await provider.info(CALL)).passwords === undefined) return;
    const { id } = await created(provider);
    const password = "no-one-may-read-this-0123456789";
    const errors = await Promise.all([
      failure(provider.create(request({ sizeGb: -1, password }), CALL)),
      failure(provider.create(request({ engine: "no such", sizeGb: -1, password }), CALL)),
      failure(provider.modify("db-unknown", { password }, CALL)),
      failure(provider.modify(id, { sizeGb: 1, password }, CALL)),
      failure(provider.modify(id, { password }, { signal: AbortSignal.abort() })),
    ]);
    for (const first of errors) {
      for (let error: unknown = first; error instanceof Error; error = error.cause) {
        assert(!`${error.stack}${JSON.stringify(error)}`.includes(password), error.message);
      }
    }
  });

  test("takes a final snapshot first, or refuses the delete", async (stage) => {
    const { provider, snapshots, failSnapshot } = stage;
    const name = `final-${crypto.randomUUID()}`;
    const { id } = await created(provider);
    if ((await provider.info(CALL)).snapshots !== true) {
      assertEquals(await classOf(provider.delete(id, { ...CALL, finalSnapshot: name })), "rejected");
      assertEquals((await provider.get(id, CALL)).state, "Available");
      return;
    }
    if (failSnapshot !== undefined) {
      failSnapshot();
      assertEquals(await classOf(provider.delete(id, { ...CALL, finalSnapshot: name })), "rejected");
      assertEquals((await provider.get(id, CALL)).state, "Available");
      if (snapshots !== undefined) assertEquals(snapshots().includes(name), false);
    }
    await provider.delete(id, { ...CALL, finalSnapshot: name });
    await untilAbsent(provider, id);
    if (snapshots !== undefined) assertEquals(snapshots().filter((s) => s === name), [name]);
    const other = await created(provider);
    assertEquals(await classOf(provider.delete(other.id, { ...CALL, finalSnapshot: name })), "rejected");
    assertEquals((await provider.get(other.id, CALL)).state, "Available");
  });

  test("says unknown of a mutation that is given up, retryable of a read", async (stage) => {
    const { provider } = stage;
    const { id } = await created(provider);
    const other = await created(provider); // two changes of one database need not go side by side
    const before = stage.mutations();
    stage.slow(5_000);
    const abort = new AbortController();
    const call = { signal: abort.signal };
    const all = Promise.all([
      classOf(provider.create(request(), call)),
      classOf(provider.modify(id, { sizeGb: 99 }, call)),
      classOf(provider.delete(other.id, call)),
      classOf(provider.get(id, call)),
      classOf(provider.list({ ...call, tags: {} })),
      classOf(provider.info(call)),
    ]);
    await eventually(
      "the mutations to be on their way",
      () => Promise.resolve(stage.mutations() >= before + 3 || undefined),
    );
    abort.abort();
    assertEquals(await all, ["unknown", "unknown", "unknown", "retryable", "retryable", "retryable"]);
  });
}
