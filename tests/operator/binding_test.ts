/**
 * The connection Secret (behaviours K1 to K4) in virtual time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { ANNOTATION, MANAGED_BY, OPERATOR_NAME, SECRET_ANNOTATION } from "../../src/api/constants.ts";
import { ProviderError } from "../../src/providers/port.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import { KubeError } from "../../src/kube/port.ts";
import { assertQuiet, databaseOf, message, MINUTE, modifies, PERIOD } from "../support/fleet.ts";
import { inWorld, type World } from "../support/world.ts";

const NAME = "orders-connection";
const KEY = { namespace: "default", name: NAME };

/** A CR that asks for a Secret, ready. */
async function bound(world: World, spec: Parameters<World["cluster"]["create"]>[2] = {}): Promise<void> {
  world.cluster.create("default", "orders", { connectionSecretRef: {}, ...spec });
  await world.available("orders");
}

/** Whether what the Secret says logs in at the cloud. */
function logsIn(world: World, name = NAME): boolean {
  const { password } = world.secrets.read(name) ?? {};
  return password !== undefined && world.cloud.loginWorks(databaseOf(world, "orders").id, password);
}

/** Refuses every list of Secrets until what it returns is called. */
function refuseLists(world: World): () => void {
  let refused = true;
  world.secrets.fault = ({ verb }) => {
    if (verb === "list" && refused) throw new KubeError("unavailable", "service unavailable");
  };
  return () => refused = false;
}

/** Changes that set a password, and creates that carried one. */
function passwords(world: World): string[] {
  return world.cloud.ledger.mutatingCalls().filter((c) => JSON.stringify(c).includes("masterPassword"))
    .map((c) => c.verb);
}

Deno.test("K4: a resource that asks for a Secret is ready with all that servicebinding.io names, by one create and no change", () =>
  inWorld({}, async (world) => {
    world.start();
    await bound(world);
    const { id, endpoint = "" } = databaseOf(world, "orders");
    const [host = "", port = ""] = endpoint.split(":");
    const secret = world.secrets.store.get(KEY);
    const { password, uri, ...rest } = world.secrets.read(NAME) ?? {};
    assertEquals(rest, {
      type: "postgresql",
      provider: "simulated",
      host,
      port,
      database: "orders",
      username: "dbadmin",
    });
    assertMatch(password ?? "", /^[A-Za-z0-9]{32}$/);
    assertEquals(uri, `postgresql://dbadmin:${password}@${endpoint}/orders`);
    assertEquals(secret.type, "servicebinding.io/postgresql");
    assertEquals(secret.metadata.labels?.[MANAGED_BY], OPERATOR_NAME);
    const { apiVersion, kind, metadata, status } = world.get("orders") ?? {};
    assertEquals(secret.metadata.ownerReferences, [
      { apiVersion, kind, name: "orders", uid: metadata?.uid, controller: true } as never,
    ]);
    assertEquals(status?.binding, {
      name: NAME,
      id,
      revision: secret.metadata.annotations?.[SECRET_ANNOTATION.revision] ?? "",
    });
    assert(logsIn(world));
    assertEquals([world.effects(), modifies(world)], [[`create ${id}`], []]);
    await assertQuiet(world, 5 * PERIOD);
  }));

Deno.test("K4: a resource that asks for none gets none, and no Secret is ever listed or read", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    await world.run(2 * PERIOD);
    assertEquals([world.secrets.calls, world.cluster.writes.length], [[], 3]);
    assertEquals(world.get("orders")?.status?.binding, undefined);
  }));

Deno.test("K4: where databases are of no use without a password there is a Secret by default", () =>
  inWorld({ passwords: "always" }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    assert(logsIn(world));
  }));

Deno.test("K1: while the Secret cannot be written no database is created, and the status says why", () =>
  inWorld({}, async (world) => {
    world.start();
    world.secrets.fault = ({ verb, phase }) => {
      if (verb === "create" && phase === "before") {
        throw new KubeError("forbidden", "secrets is forbidden", { status: 403 });
      }
    };
    world.cluster.create("default", "orders", { connectionSecretRef: {} });
    await world.until("told", () => world.condition("orders", "Ready").endsWith("/SecretPending"));
    assertStringIncludes(message(world, "orders", "Ready"), "secrets is forbidden");
    await world.run(MINUTE);
    assertEquals(world.effects(), []);
    world.secrets.fault = () => {};
    await world.available("orders");
    assert(logsIn(world));
  }));

Deno.test("K1: a create whose answer was lost is found, and its password is set anew if it may be another one", () =>
  inWorld({ clientTokens: false }, async (world) => {
    world.start();
    world.cloud.faults.add(
      { verbs: ["create"], times: 1, fault: { answer: "lost", effect: "done" } },
    );
    await bound(world);
    assert(logsIn(world));
    assertEquals(world.effects().filter((e) => e.startsWith("create")).length, 1);
  }));

for (
  const [harm, act] of Object.entries<(world: World) => void>({
    "deleted": ({ secrets }) => secrets.store.delete(KEY, undefined, "user"),
    "robbed of its password": ({ secrets }) => secrets.store.edit(KEY, { password: undefined }),
    "given another password": ({ secrets }) => secrets.store.edit(KEY, { password: btoa("hunter2") }),
    "robbed of its revision": ({ secrets }) =>
      void secrets.store.patch(KEY, [{ op: "remove", path: "/metadata/annotations" }], "user"),
  })
) {
  Deno.test(`K2: a Secret that is ${harm} is rebuilt within seconds, with a new password that logs in`, () =>
    inWorld({}, async (world) => {
      world.start();
      await bound(world);
      const before = world.secrets.read(NAME)?.["password"];
      act(world);
      await world.until(
        "rebuilt",
        () => (world.secrets.read(NAME)?.["password"] ?? before) !== before && logsIn(world),
        10_000,
      );
      await world.available("orders");
      assertEquals(modifies(world).length, 1);
      await assertQuiet(world, 5 * PERIOD);
    }));
}

Deno.test("K2: a Secret that lost a key, its URI or its label is completed, with the password that it has", () =>
  inWorld({}, async (world) => {
    world.start();
    await bound(world);
    const before = world.secrets.read(NAME);
    for (const key of ["host", "type", "uri"]) {
      world.secrets.store.edit(KEY, { [key]: undefined });
      await world.until(`${key} is back`, () => world.secrets.read(NAME)?.[key] !== undefined, 10_000);
    }
    world.secrets.store.edit(KEY, { uri: btoa("mysql://elsewhere") });
    await world.until(
      "the URI is right",
      () => world.secrets.read(NAME)?.["uri"] === before?.["uri"],
      10_000,
    );
    world.secrets.store.patch(KEY, [{ op: "remove", path: "/metadata/labels" }], "user");
    await world.until(
      "the label is back",
      () => world.secrets.store.get(KEY).metadata.labels?.[MANAGED_BY] === OPERATOR_NAME,
      10_000,
    );
    assertEquals([world.secrets.read(NAME), modifies(world)], [before, []]);
    await assertQuiet(world, 5 * PERIOD);
  }));

Deno.test("K2: a foreign Secret of that name is not touched; its owner is named, and it is made once that is gone", () =>
  inWorld({}, async (world) => {
    world.start();
    const foreign = {
      metadata: {
        ...KEY,
        ownerReferences: [{
          apiVersion: "apps/v1",
          kind: "Deployment",
          name: "web",
          uid: "u-1",
          controller: true,
        }],
      },
      type: "Opaque",
      data: { key: btoa("mine") },
    };
    world.secrets.store.create({ ...foreign, metadata: KEY }, "user");
    const { data } = world.secrets.store.get(KEY);
    world.cluster.create("default", "orders", { connectionSecretRef: {} });
    await world.until("told", () => world.condition("orders", "Ready") === "False/SecretConflict");
    assertStringIncludes(message(world, "orders", "Ready"), `The Secret "${NAME}" has no owner reference`);
    await world.run(30 * MINUTE);
    assertEquals([world.secrets.store.get(KEY).data, world.effects()], [data, []]);
    const reads = world.secrets.calls.filter((c) => c === `get ${NAME}`).length;
    assert(reads < 12, `${reads} reads in half an hour`);
    world.cluster.edit("default", "orders", { connectionSecretRef: { name: "orders-login" } });
    await world.available("orders");
    assert(logsIn(world, "orders-login"));
    assertEquals(world.secrets.store.get(KEY).data, data);
  }));

Deno.test("K2: of two resources that ask for one Secret the second is told whose it is", () =>
  inWorld({}, async (world) => {
    world.start();
    await bound(world, { connectionSecretRef: { name: "login" } });
    const before = world.secrets.read("login");
    world.cluster.create("default", "bills", { connectionSecretRef: { name: "login" } });
    await world.until("told", () => world.condition("bills", "Ready") === "False/SecretConflict");
    assertStringIncludes(message(world, "bills", "Ready"), "belongs to ExternalDatabase orders");
    assertEquals(world.secrets.read("login"), before);
    world.cluster.delete("default", "orders");
    await world.until("gone", () => world.get("orders") === undefined);
    world.secrets.store.collectLater();
    await world.until("made", () => world.condition("bills", "Ready") === "True/Available", 11 * MINUTE);
  }));

Deno.test("K3: where the endpoint changes status and Secret follow within one poll, and the password stays", () =>
  inWorld({}, async (world) => {
    world.start();
    await bound(world);
    const before = world.secrets.read(NAME);
    const { id } = databaseOf(world, "orders");
    world.cloud.edit(id, { endpoint: "standby.example:6432" });
    await world.until(
      "the Secret follows",
      () => world.secrets.read(NAME)?.["host"] === "standby.example",
      PERIOD * 1.2,
    );
    await world.available("orders");
    const after = world.secrets.read(NAME);
    assertEquals([after?.["port"], after?.["password"]], ["6432", before?.["password"]]);
    assertStringIncludes(after?.["uri"] ?? "", "@standby.example:6432/");
    assertEquals(world.get("orders")?.status?.endpoint, "standby.example:6432");
    assertEquals(modifies(world), []);
  }));

Deno.test("K1: a rotation puts a new password into the Secret, then into the database, once for each value", () =>
  inWorld({}, async (world) => {
    world.start();
    await bound(world);
    const before = world.secrets.read(NAME)?.["password"] ?? "";
    world.cluster.annotate("default", "orders", { [ANNOTATION.rotatePassword]: "1" });
    await world.until("acknowledged", () => world.get("orders")?.status?.binding?.rotation === "1", 10_000);
    await world.available("orders");
    assertNotEquals(world.secrets.read(NAME)?.["password"], before);
    assert(logsIn(world) && !world.cloud.loginWorks(databaseOf(world, "orders").id, before));
    assertEquals(world.events.filter((e) => e.reason === "PasswordRotated").length, 1);
    await assertQuiet(world, 5 * PERIOD);
    assertEquals(modifies(world).length, 1);
  }));

Deno.test("K1: a password that the provider takes its time for is not called set before, nor sent twice", () =>
  inWorld({ modifyMs: 60_000 }, async (world) => {
    world.start();
    await bound(world);
    world.cluster.annotate("default", "orders", { [ANNOTATION.rotatePassword]: "1" });
    await world.until("told", () => world.condition("orders", "Ready") === "False/SecretPending", 10_000);
    assertEquals(logsIn(world), false);
    await world.available("orders");
    assert(logsIn(world));
    assertEquals(modifies(world).length, 1);
  }));

Deno.test("K1: a change of unknown outcome is sent again, and never while an earlier one may still take effect", () =>
  inWorld({ effectBoundMs: 20_000 }, async (world) => {
    world.start();
    await bound(world);
    const sent: number[] = [];
    world.cloud.faults.add(
      { verbs: ["modify"], times: 2, fault: { answer: "lost", effect: "done" } },
    );
    world.cluster.annotate("default", "orders", { [ANNOTATION.rotatePassword]: "1" });
    await world.available("orders");
    await world.until("acknowledged", () => world.get("orders")?.status?.binding?.rotation === "1");
    assert(logsIn(world));
    for (const call of world.cloud.ledger.mutatingCalls()) if (call.verb === "modify") sent.push(call.at);
    for (let i = 1; i < sent.length; i++) assert((sent[i] ?? 0) - (sent[i - 1] ?? 0) >= 20_000, `${sent}`);
  }));

Deno.test("K2: another name moves the password to another Secret; no name asked for any more removes it", () =>
  inWorld({}, async (world) => {
    world.start();
    await bound(world);
    const password = world.secrets.read(NAME)?.["password"];
    world.cluster.edit("default", "orders", { connectionSecretRef: { name: "login" } });
    await world.until("moved", () => world.get("orders")?.status?.binding?.name === "login", 10_000);
    await world.available("orders");
    assertEquals([world.secrets.read("login")?.["password"], world.secrets.read(NAME)], [
      password,
      undefined,
    ]);
    world.cluster.edit("default", "orders", { connectionSecretRef: undefined } as never);
    await world.until("removed", () => world.get("orders")?.status?.binding === undefined, 10_000);
    assertEquals([world.secrets.store.all(), modifies(world)], [[], []]);
    await world.available("orders");
    await assertQuiet(world, 5 * PERIOD);
  }));

Deno.test("K1: a restart reads no Secret alone, sets no password again, and leaves the resource ready", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    await bound(world);
    const { resourceVersion } = world.get("orders")?.metadata ?? {};
    first.crash();
    world.secrets.calls.length = 0;
    world.start();
    await world.run(3 * PERIOD);
    assertEquals(world.secrets.calls.filter((c) => c !== "list *"), []);
    assertEquals([world.get("orders")?.metadata.resourceVersion, modifies(world)], [resourceVersion, []]);
  }));

Deno.test("K2: what was done to a Secret while no operator ran is mended by the next", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    await bound(world);
    first.crash();
    world.secrets.store.delete(KEY, undefined, "user");
    world.start();
    await world.until("rebuilt", () => world.secrets.read(NAME) !== undefined && logsIn(world), 5 * MINUTE);
    await world.available("orders");
  }));

Deno.test("K2: a Secret that goes while its password is being set is rebuilt, though its last read is answered after that (found by simulation, seed 3681)", () =>
  inWorld({ latencyMs: 400 }, async (world) => {
    world.start();
    await bound(world);
    world.cluster.annotate("default", "orders", { [ANNOTATION.rotatePassword]: "1" });
    await world.until("the change is sent", () => modifies(world).length > 0, PERIOD, 5);
    world.secrets.store.delete(KEY, undefined, "user");
    await world.until("rebuilt", () => world.secrets.read(NAME) !== undefined && logsIn(world), PERIOD);
    await world.available("orders");
  }));

Deno.test("K2: a Secret that went before a list could show it is rebuilt once the list has come (found by simulation, seed 3681)", () =>
  inWorld({}, async (world) => {
    const answer = refuseLists(world);
    world.start();
    await bound(world);
    world.secrets.store.delete(KEY, undefined, "user");
    await world.run(1_000);
    answer();
    await world.until("rebuilt", () => world.secrets.read(NAME) !== undefined && logsIn(world), PERIOD);
    await world.available("orders");
  }));

Deno.test("K2: a Secret that a restored cluster has as it was before a write which no watch had told is completed once the list has come (found by simulation, seed 27986)", () =>
  inWorld({}, async (world) => {
    const answer = refuseLists(world);
    world.start();
    await bound(world);
    const last = world.secrets.store.since(0).at(-1);
    world.secrets.store.restore((last?.at ?? 0) - 1, 0);
    assert(world.secrets.read(NAME) !== undefined && !("host" in (world.secrets.read(NAME) ?? {})));
    answer();
    await world.until("completed", () => "host" in (world.secrets.read(NAME) ?? {}), PERIOD);
    await world.available("orders");
    assert(logsIn(world));
  }));

for (const paused of [false, true]) {
  Deno.test(
    `K4: whose Secret could never be written is not called ready by a restart while the provider says nothing${
      paused ? ", paused" : ""
    } (found by simulation, seed 1851)`,
    () =>
      inWorld({ passwords: "always" }, async (world) => {
        const first = world.start();
        world.cluster.create("default", "orders");
        await world.available("orders");
        world.secrets.store.delete(KEY, undefined, "user");
        world.secrets.store.create({ metadata: KEY, type: "Opaque", data: {} }, "user");
        const told = () => world.condition("orders", "Ready");
        await world.until("told", () => told() === "False/SecretConflict", PERIOD);
        // As where it was foreign from the first: then nothing was ever written.
        const { binding: _, ...status } = world.get("orders")?.status ?? {};
        first.crash();
        world.cluster.setStatus("default", "orders", status);
        if (paused) world.cluster.edit("default", "orders", { paused: true });
        const denied = { status: 403, code: "Forbidden", message: "no" };
        const end = world.cloud.faults.add({ verbs: ["info"], fault: { answer: denied, effect: "none" } });
        world.start();
        for (let i = 0; i < 100; i++) {
          await world.run(PERIOD / 50);
          assert(!told()?.startsWith("True"), told());
        }
        end();
        world.cluster.edit("default", "orders", { paused: false });
        await world.until("told again", () => told() === "False/SecretConflict", 2 * PERIOD);
      }),
  );
}

Deno.test("A1: the password of an adopted database is changed only where a Secret is asked for", () =>
  inWorld({ passwords: "always" }, async (world) => {
    const found = world.cloud.insert({ name: "legacy", engine: "postgres", version: "14.2", sizeGb: 20 });
    world.start();
    world.cluster.create("default", "orders", { providerId: found.id });
    await world.available("orders");
    assertEquals([passwords(world), world.secrets.store.all()], [[], []]);
    world.cluster.edit("default", "orders", { connectionSecretRef: {} });
    await world.until("bound", () => world.get("orders")?.status?.binding?.revision !== undefined);
    await world.available("orders");
    assert(logsIn(world));
  }));

Deno.test("D3: a deletion reads and writes no Secret, also where none can be read; the Secret goes with its owner", () =>
  inWorld({}, async (world) => {
    world.start();
    await bound(world);
    world.secrets.calls.length = 0;
    world.secrets.fault = () => {
      throw new KubeError("forbidden", "secrets is forbidden", { status: 403 });
    };
    world.cluster.delete("default", "orders");
    await world.until("gone", () => world.get("orders") === undefined);
    world.secrets.store.collectLater();
    await world.until("collected", () => world.secrets.store.all().length === 0);
    assertEquals(world.secrets.calls.filter((c) => c !== "list *"), []);
  }));

Deno.test("D3: in a namespace that is terminating the Secret is refused, and the deletion ends all the same", () =>
  inWorld({}, async (world) => {
    world.start();
    world.secrets.fault = ({ verb }) => {
      if (verb === "create") {
        throw new KubeError("forbidden", "the namespace is being terminated", { status: 403 });
      }
    };
    world.cluster.create("default", "orders", { connectionSecretRef: {} });
    await world.until("refused", () => world.condition("orders", "Ready").endsWith("/SecretPending"));
    world.cluster.delete("default", "orders");
    await world.until("gone", () => world.get("orders") === undefined);
    assertEquals(world.effects(), []);
  }));

Deno.test("K4: a default name that is too long is refused in words", () =>
  inWorld({}, async (world) => {
    world.start();
    const name = "o".repeat(250);
    world.cluster.create("default", name, { connectionSecretRef: {} });
    await world.until("told", () => world.condition(name, "Ready") === "False/InvalidSpec");
    assertStringIncludes(message(world, name, "Ready"), "set spec.connectionSecretRef.name");
    world.cluster.edit("default", name, { connectionSecretRef: { name: "login" } });
    await world.available(name);
  }));

Deno.test("rule 25: no password is in any log line, Event, status, or call of the cloud's books, whatever fails", () =>
  inWorld({}, async (world) => {
    const inner = createSimulatedProvider(world.cloud, { clock: world.clock });
    let echoes = 0;
    // A cloud that says again what it was told.
    const echo = (password: string | undefined) => {
      if (password === undefined || echoes++ % 2 === 1) return;
      throw new ProviderError("rejected", `The password ${password} is too short`, { code: password });
    };
    world.start({
      provider: {
        ...inner,
        create: (request, o) => {
          echo(request.password);
          return inner.create(request, o);
        },
        modify: (id, request, o) => {
          echo(request.password);
          return inner.modify(id, request, o);
        },
      },
    });
    const known = new Set<string>();
    world.secrets.store.listen(({ object }) => {
      const password = object.data?.["password"];
      if (password !== undefined) known.add(atob(password));
    });
    await bound(world);
    world.cluster.annotate("default", "orders", { [ANNOTATION.rotatePassword]: "1" });
    await world.until("acknowledged", () => world.get("orders")?.status?.binding?.rotation === "1");
    world.secrets.store.delete(KEY, undefined, "user");
    await world.until("rebuilt", () => world.secrets.read(NAME) !== undefined && logsIn(world));
    assert(known.size >= 3 && echoes >= 6, `${known.size} passwords, ${echoes} sent`);
    const told = JSON.stringify([
      world.lines,
      world.events,
      world.transitions,
      world.cluster.all(),
      world.cluster.writes,
      world.cloud.ledger.calls(),
      world.cloud.ledger.effects(),
    ]);
    assertStringIncludes(told, "The password [password] is too short");
    for (const password of known) {
      assertEquals(told.includes(password), false, "a password is told");
      assertEquals(told.includes(btoa(password)), false, "a password is told in base64");
    }
  }));
