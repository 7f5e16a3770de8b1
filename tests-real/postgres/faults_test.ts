import { assert, assertEquals } from "@std/assert";
// @ts-types="@types/pg"
import pg from "pg";
import {
  type CreateRequest,
  type Database,
  type DatabaseProvider,
  ProviderError,
} from "../../src/providers/port.ts";
import { IDLE_SECONDS } from "../../src/providers/postgres/session.ts";
import { classOf, cutAt, type Fate } from "../support/cuts.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { type Proxy, serveProxy } from "./proxy.ts";
import { CALL, leftovers, listAll, OPERATOR, providerOn, requestFor, serverOf, sql } from "./support.ts";

const MAJORS = [14, 18] as const;
const [PASSWORD, RENEWED] = ["first-0123456789abcdef", "second-0123456789abcdef"];

/** Whether the owner of a database gets in with a password. */
async function logsIn(server: PostgresServer, { access }: Database, password: string): Promise<boolean> {
  const { username: user, database } = access!;
  return await sql(server, "SELECT 1", { user, database, password }).then(
    () => true,
    (error: { code?: string }) => {
      assertEquals(error.code, "28P01");
      return false;
    },
  );
}

/** Statements that change something. */
const MUTATES = /^(CREATE|COMMENT|ALTER|REVOKE|DROP)/;
const PATIENCE_MS = 180_000;
/** How often each cut is made; more for a campaign: `EDB_CUT_ROUNDS=100`. */
const ROUNDS = Number(Deno.env.get("EDB_CUT_ROUNDS") ?? 1);
const FATES = Array.from({ length: ROUNDS }, () => ["before", "after"] as const).flat();
/** Cuts at the same time, each of a database of its own: most of a cut is waiting for the server. */
const AT_ONCE = 8;
/** Time-out of calls that are cut, in milliseconds: a busy machine is not what is tried here. */
const ROOMY = { timeoutMs: 120_000 };

/** Where one cut is made, and the provider that comes after the one that is cut. */
interface Stage {
  readonly server: PostgresServer;
  readonly proxy: Proxy;
  readonly first: DatabaseProvider;
  readonly second: DatabaseProvider;
  /** Roles and databases of the UID of a request. */
  names(request: CreateRequest): Promise<string[]>;
}

/** Sends again while the session of the first is still at it: what the operator does with `busy`. */
async function persist<T>(send: () => Promise<T>, done: (value: T) => boolean): Promise<T | undefined> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      const value = await send();
      if (done(value)) return value;
    } catch (error) {
      assert(error instanceof ProviderError, String(error));
      if (error.errorClass === "absent") return undefined;
      assert(["busy", "retryable", "unknown"].includes(error.errorClass), error.message);
    }
    if (performance.now() > end) throw new Error("Sending it again: not done in time");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What the operator does with what it finds: waits for a state that can be deleted, and deletes. */
async function removeAll(provider: DatabaseProvider, uid: string): Promise<void> {
  await persist(async () => {
    const { items } = await listAll(provider, { "db.my.domain/uid": uid });
    assert(items.length <= 1, "one UID, two databases");
    for (const { id } of items) {
      const { state } = await provider.get(id, CALL);
      if (state === "Available" || state === "Failed") await provider.delete(id, CALL);
    }
    return items.length;
  }, (left) => left === 0);
}

/** The statements of one create, one change of password and one delete, as they go when nothing is in the way. */
async function rehearse(
  server: PostgresServer,
): Promise<{ create: string[]; renew: string[]; remove: string[] }> {
  const create: string[] = [];
  const renew: string[] = [];
  const remove: string[] = [];
  let into = create;
  const provider = providerOn(server.urlOf(OPERATOR), { onStatement: (text) => into.push(text) });
  await provider.info(CALL); // so that the server is known, as it is to a process that has just restarted and listed
  create.length = 0;
  const { id } = await provider.create(requestFor(server, { password: PASSWORD }), CALL);
  into = renew;
  await provider.modify(id, { password: RENEWED }, CALL);
  into = remove;
  await provider.delete(id, CALL);
  await provider.close();
  return { create, renew, remove };
}

/** Roles and databases whose record holds a UID. */
const NAMES = `SELECT 'role ' || rolname AS name FROM pg_roles r
    WHERE strpos(shobj_description(r.oid, 'pg_authid'), $1) > 0
  UNION ALL SELECT 'database ' || datname FROM pg_database d
    WHERE strpos(shobj_description(d.datdba, 'pg_authid'), $1) > 0`;

/**
 * Makes every cut at each of `statements`: a provider through a proxy, ended as a killed process is; then another, that
 * of a process which has run for a while, finds what is there. Resolves when nothing is left on the server.
 */
async function cutEach(
  major: (typeof MAJORS)[number],
  statements: readonly string[],
  work: (stage: Stage, n: number, fate: Fate) => Promise<void>,
  finish: (second: DatabaseProvider) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const server = await serverOf(major);
  let made = 0;
  const cuts = FATES.flatMap((fate) => statements.map((_, n) => ({ n, fate }))).values();
  const worker = async () => {
    const second = providerOn(server.urlOf(OPERATOR), ROOMY);
    const admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    const names = async ({ tags }: CreateRequest) => {
      const uid = JSON.stringify(tags["db.my.domain/uid"]);
      return (await admin.query<{ name: string }>(NAMES, [uid])).rows.map(({ name }) => name);
    };
    try {
      for (const { n, fate } of cuts) {
        const proxy = serveProxy(server.port);
        const first = providerOn(server.urlOf({ ...OPERATOR, port: proxy.port }), ROOMY);
        try {
          await first.info(CALL);
          await work({ server, proxy, first, second, names }, n, fate);
          if (++made % 100 === 0) console.log(`PostgreSQL ${major}: ${made} cuts`);
        } catch (error) {
          // Told at once: of a campaign nobody awaits the end.
          console.error(`Cut ${made + 1}, ${fate} "${statements[n]}":`, error);
          throw error;
        } finally {
          await first.close();
          await proxy.close();
        }
      }
      await finish(second);
    } finally {
      await admin.end();
      await second.close();
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  assertEquals(await leftovers(server), []);
  assertEquals(made, FATES.length * statements.length);
  if (ROUNDS > 1) console.log(`PostgreSQL ${major}: ${made} cuts at ${statements.length} statements`);
}

for (const major of MAJORS) {
  Deno.test(`C1: PostgreSQL ${major}: a create cut at every statement, before and after it arrives, is finished by its repetition and leaves one database`, async () => {
    const { create } = await rehearse(await serverOf(major));
    const firstMutation = create.findIndex((text) => MUTATES.test(text));
    assert(create.filter((text) => MUTATES.test(text)).length === 3 && firstMutation > 0, create.join("\n"));
    await cutEach(major, create, async ({ server, proxy, first, second, names }, n, fate) => {
      const request = requestFor(server, { password: PASSWORD });
      cutAt(proxy, n, fate);
      const outcome = await classOf(first.create(request, CALL));
      // The last statement gives the lock back: the database is there and its answer known.
      const expected = n === create.length - 1 ? "done" : n < firstMutation ? "retryable" : "unknown";
      assertEquals(outcome, expected, `cut ${fate} ${create[n]}`);
      const made = await persist(
        () => second.create(request, CALL),
        ({ state }) => state === "Available",
      );
      const uid = request.tags["db.my.domain/uid"]!;
      assertEquals((await listAll(second, { "db.my.domain/uid": uid })).items, [made]);
      assertEquals(made?.tags, request.tags);
      assertEquals(await logsIn(server, made!, PASSWORD), true, `cut ${fate} ${create[n]}`);
      assertEquals((await names(request)).length, 2); // one role, one database
      await second.delete(made!.id, CALL);
      assertEquals(await names(request), []);
    });
  });

  Deno.test(`C1, S2: PostgreSQL ${major}: what a create cut at any statement has left is found by its tags, finished by who reads it, and can be deleted`, async () => {
    const { create } = await rehearse(await serverOf(major));
    await cutEach(major, create, async ({ server, proxy, first, second, names }, n, fate) => {
      const request = requestFor(server, { password: PASSWORD });
      cutAt(proxy, n, fate);
      await classOf(first.create(request, CALL));
      // What the operator does with one that it finds: it reads it until it is there.
      const { items: [found] } = await listAll(second, {
        "db.my.domain/uid": request.tags["db.my.domain/uid"]!,
      });
      if (found !== undefined) {
        const whole = await persist(
          () => second.get(found.id, CALL),
          ({ state }) => state === "Available",
        );
        assertEquals(await logsIn(server, whole!, PASSWORD), true, `cut ${fate} ${create[n]}`);
        assertEquals((await names(request)).length, 2);
      }
      await removeAll(second, request.tags["db.my.domain/uid"]!);
      assertEquals(await names(request), []);
    });
  });

  Deno.test(`C1: PostgreSQL ${major}: a change of password cut at every statement leaves the old or the new one, and its repetition the new`, async () => {
    const { renew } = await rehearse(await serverOf(major));
    const mutation = renew.findIndex((text) => MUTATES.test(text));
    assert(renew.filter((text) => MUTATES.test(text)).length === 1 && mutation > 0, renew.join("\n"));
    const databases = new Map<DatabaseProvider, Database>();
    await cutEach(major, renew, async ({ server, proxy, first, second }, n, fate) => {
      const known = databases.get(second);
      const made = known ?? await second.create(requestFor(server, { password: PASSWORD }), CALL);
      databases.set(second, made);
      if (known !== undefined) await second.modify(made.id, { password: PASSWORD }, CALL);
      cutAt(proxy, n, fate);
      const outcome = await classOf(first.modify(made.id, { password: RENEWED }, CALL));
      const expected = n === renew.length - 1 ? "done" : n < mutation ? "retryable" : "unknown";
      assertEquals(outcome, expected, `cut ${fate} ${renew[n]}`);
      const works = [await logsIn(server, made, PASSWORD), await logsIn(server, made, RENEWED)];
      assertEquals(works.filter(Boolean).length, 1, `cut ${fate} ${renew[n]}: ${works}`);
      await persist(() => second.modify(made.id, { password: RENEWED }, CALL), () => true);
      assertEquals([await logsIn(server, made, PASSWORD), await logsIn(server, made, RENEWED)], [
        false,
        true,
      ]);
    }, (second) => persist(() => second.delete(databases.get(second)!.id, CALL), () => true));
  });

  Deno.test(`D1: PostgreSQL ${major}: a delete cut at every statement is finished by its repetition and leaves nothing`, async () => {
    const { remove } = await rehearse(await serverOf(major));
    const firstMutation = remove.findIndex((text) => MUTATES.test(text));
    assert(remove.filter((text) => MUTATES.test(text)).length === 3 && firstMutation > 0, remove.join("\n"));
    await cutEach(major, remove, async ({ server, proxy, first, second }, n, fate) => {
      const request: CreateRequest = requestFor(server);
      const { id } = await second.create(request, CALL);
      cutAt(proxy, n, fate);
      const outcome = await classOf(first.delete(id, CALL));
      const expected = n === remove.length - 1 ? "done" : n < firstMutation ? "retryable" : "unknown";
      assertEquals(outcome, expected, `cut ${fate} ${remove[n]}`);
      await removeAll(second, request.tags["db.my.domain/uid"]!);
      assertEquals(await classOf(second.get(id, CALL)), "absent");
    });
  });
}

Deno.test("S1: ten creates with one token at once make one database", async () => {
  const server = await serverOf(16);
  const providers = [1, 2].map(() => providerOn(server.urlOf(OPERATOR)));
  const request = requestFor(server);
  const sent = Array.from(
    { length: 10 },
    (_, n) => persist(() => providers[n % 2]!.create(request, CALL), ({ state }) => state === "Available"),
  );
  const ids = new Set((await Promise.all(sent)).map((made) => made?.id));
  assertEquals(ids.size, 1);
  assertEquals((await leftovers(server)).length, 2);
  await providers[0]!.delete([...ids][0]!, CALL);
  assertEquals(await leftovers(server), []);
  for (const provider of providers) await provider.close();
});

Deno.test("Q4: while one session works on a database, others are told so; what takes too long is ended by the server", async () => {
  const server = await serverOf(16);
  const provider = providerOn(server.urlOf(OPERATOR));
  const hasty = providerOn(server.urlOf(OPERATOR), { timeoutMs: 3_000 });
  const { id } = await provider.create(requestFor(server), CALL);
  const name = id.split("/")[1]!;
  const blocker = new pg.Client({ connectionString: server.url });
  await blocker.connect();
  await blocker.query(`BEGIN; COMMENT ON ROLE "${name}" IS 'in the way'`);
  const active = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'externaldatabase-operator'
    AND state = 'active' AND query LIKE 'COMMENT%'`;
  const changing = classOf(hasty.modify(id, { sizeGb: 30 }, CALL));
  await persist(() => sql(server, active), (rows) => rows.length === 1);
  assertEquals(await classOf(provider.modify(id, { sizeGb: 40 }, CALL)), "busy");
  assertEquals(await classOf(provider.delete(id, CALL)), "busy");
  assertEquals(await changing, "retryable"); // the server ended it, and says so
  await persist(() => sql(server, active), (rows) => rows.length === 0);
  await blocker.query("ROLLBACK");
  await blocker.end();
  assertEquals((await provider.get(id, CALL)).sizeGb, 20);
  await persist(() => provider.delete(id, CALL), () => true);
  assertEquals(await leftovers(server), []);
  await provider.close();
  await hasty.close();
});

Deno.test("H1: a process that is frozen between its fence and the socket finds its session ended: its statement does nothing", async () => {
  const server = await serverOf(16);
  const provider = providerOn(server.urlOf(OPERATOR), { timeoutMs: 60_000 });
  const request = requestFor(server);
  const { effectBoundSeconds } = await provider.info(CALL);
  assertEquals(effectBoundSeconds, 60 + IDLE_SECONDS);
  const beforeSend = () => {
    // Blocks the whole process, as a frozen machine does.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, (IDLE_SECONDS + 2) * 1_000);
  };
  assertEquals(await classOf(provider.create(request, { ...CALL, beforeSend })), "unknown");
  assertEquals(await leftovers(server), []);
  await provider.close();
});
