import { assert, assertEquals } from "@std/assert";
import { ProviderError } from "../../src/providers/port.ts";
import { serveProxy } from "./proxy.ts";
import { CALL, leftovers, listAll, newServer, OPERATOR, providerOn, requestFor, sql } from "./support.ts";

Deno.test("A server that stops and starts again, orderly and by a crash, is read again; calls meanwhile are retryable", async () => {
  const server = await newServer(16);
  const provider = providerOn(server.urlOf(OPERATOR));
  try {
    const made = await provider.create(requestFor(server), CALL);
    for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
      // Several connections lie in the pool when the server goes.
      await Promise.all([1, 2, 3].map(() => provider.get(made.id, CALL)));
      await server.halt(signal);
      const calls = [
        provider.get(made.id, CALL),
        provider.list({ ...CALL, tags: {} }),
        provider.info(CALL),
        provider.modify(made.id, { sizeGb: 99 }, CALL),
        provider.delete(made.id, CALL),
      ];
      const errors = await Promise.all(
        calls.map((call) => call.then(() => undefined, (error: unknown) => error)),
      );
      for (const error of errors) {
        assert(error instanceof ProviderError && error.errorClass === "retryable", `${signal}: ${error}`);
        assert(!error.message.includes(OPERATOR.password));
      }
      await server.start();
      assertEquals(await provider.get(made.id, CALL), made);
    }
    await provider.delete(made.id, CALL);
    assertEquals((await listAll(provider)).items, []);
  } finally {
    await provider.close();
    await server.stop();
  }
});

Deno.test("S6: of a server that is down nothing is absent, and the databases of the others are seen", async () => {
  const [old, young] = await Promise.all([newServer(14), newServer(18)]);
  const urls = [old.urlOf(OPERATOR), young.urlOf(OPERATOR)];
  const provider = providerOn(urls);
  try {
    const first = await provider.create(requestFor(old), CALL);
    const second = await provider.create(requestFor(young), CALL);
    assertEquals([first.version, second.version], [old.version, young.version]);
    assertEquals((await listAll(provider)).items, [first, second]);
    const { account } = await provider.info(CALL);
    assertEquals(account, `postgres/${first.id.split("/")[0]}`);
    assertEquals((await providerOn(urls.slice(0, 1)).info(CALL)).account, account);

    const refused = await provider.create(requestFor(old, { version: "16" }), CALL).catch((e) => e);
    assertEquals(refused.errorClass, "rejected");
    assert(refused.message.includes(`"16"`) && refused.message.includes(old.version), refused.message);

    await young.halt();
    const { items, unreadable } = await listAll(provider);
    assertEquals(items, [first]);
    assert(unreadable.length === 1 && unreadable[0]?.id === undefined);
    assertEquals(await provider.get(second.id, CALL).catch((e) => e.errorClass), "retryable");
    // A process that has never reached it cannot say where a database is, or is to be made.
    const fresh = providerOn(urls);
    assertEquals(await fresh.get(second.id, CALL).catch((e) => e.errorClass), "retryable");
    assertEquals(await fresh.create(requestFor(old), CALL).catch((e) => e.errorClass), "retryable");
    assertEquals((await fresh.get(first.id, CALL)).id, first.id);
    await fresh.close();
    // Nor one whose file lacks its line.
    const short = providerOn(urls.slice(0, 1));
    assertEquals(await short.get(second.id, CALL).catch((e) => e.errorClass), "retryable");
    await short.close();

    await young.start();
    assertEquals((await listAll(provider)).items, [first, second]);
    // After pg_upgrade the system identifier is another: the line says what stands in the ids.
    const renamed = providerOn([urls[0]!, `${urls[1]}?identity=1234567890123456789`]);
    assertEquals((await listAll(renamed)).items[1]?.id, second.id.replace(/^\d+/, "1234567890123456789"));
    await renamed.close();
  } finally {
    await provider.close();
    await old.stop();
    await young.stop();
  }
});

Deno.test("C1, D1: a server that crashes at any statement of a create, a rotation and a delete is found again as it was, and each is finished", async () => {
  const server = await newServer(17);
  const proxy = serveProxy(server.port);
  const provider = providerOn(server.urlOf({ ...OPERATOR, port: proxy.port }), { timeoutMs: 60_000 });
  /** Sends a call while the server crashes at its nth statement and comes back, then again until it is done. */
  const through = async <T>(n: number, send: () => Promise<T>, done: (value: T) => boolean) => {
    let count = 0;
    let back: Promise<void> | undefined;
    proxy.fate = () => {
      if (count++ === n) back = server.halt("SIGQUIT").then(() => server.start());
      return "pass";
    };
    for (let tries = 0; tries < 600; tries++) {
      const ended = await send().then((value) => done(value) ? { value } : undefined, (error: unknown) => {
        assert(error instanceof ProviderError, String(error));
        if (error.errorClass === "absent") return {};
        assert(["busy", "retryable", "unknown"].includes(error.errorClass), error.message);
        return undefined;
      });
      await back;
      if (ended !== undefined) {
        proxy.fate = () => "pass"; // what a connection says on its way out crashes nothing any more
        await back;
        return { ended, crashed: back !== undefined };
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("Sending it again: not done in time");
  };
  try {
    await provider.info(CALL);
    for (let n = 0, crashed = true; crashed; n++) {
      const request = requestFor(server, { password: "first-0123456789abcdef" });
      const made = await through(
        n,
        () => provider.create(request, CALL),
        ({ state }) => state === "Available",
      );
      const { id, access } = (await listAll(provider, request.tags)).items[0]!;
      const { username: user, database } = access!;
      const renewed = await through(
        n,
        () => provider.modify(id, { password: "second-0123456789abcdef" }, CALL),
        () => true,
      );
      await sql(server, "SELECT 1", { user, database, password: "second-0123456789abcdef" });
      assertEquals((await leftovers(server)).length, 2);
      const removed = await through(n, () => provider.delete(id, CALL), () => false);
      assertEquals(await leftovers(server), []);
      crashed = made.crashed || renewed.crashed || removed.crashed;
      assert(n > 4 || crashed, "nothing crashed");
    }
  } finally {
    await provider.close();
    await proxy.close();
    await server.stop();
  }
});
