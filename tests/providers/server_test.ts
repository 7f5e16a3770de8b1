import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { cloudFlags, runCloud, toCloudOptions } from "../../src/cli/cloud.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLogger } from "../../src/core/log.ts";
import { seededRandom } from "../../src/core/random.ts";
import { createHttpProvider } from "../../src/providers/http.ts";
import { ProviderError } from "../../src/providers/port.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { type CloudHandlerOptions, serveCloud } from "../../src/providers/simulated/server.ts";

const CALL = { signal: new AbortController().signal };

async function served(
  body: (base: string, cloud: SimulatedCloud) => Promise<void>,
  options: CloudHandlerOptions = {},
): Promise<void> {
  const cloud = new SimulatedCloud({
    clock: systemClock,
    random: seededRandom(1),
    latencyMs: 0,
    provisionMs: 20,
    readLagMs: 0,
  });
  const errors: unknown[] = [];
  const server = serveCloud(cloud, { ...options, onError: (e) => errors.push(e) });
  try {
    await body(server.url, cloud);
  } finally {
    await server.close();
  }
  assertEquals(errors, []);
}

async function ask(url: string, method = "GET", body?: unknown): Promise<[number, Record<string, unknown>]> {
  const init = body === undefined
    ? { method }
    : { method, body: typeof body === "string" ? body : JSON.stringify(body) };
  const response = await fetch(url, init);
  return [response.status, await response.json()];
}

Deno.test("statuses, bodies and error codes are those of the cloud's API", async () => {
  await served(async (base, cloud) => {
    cloud.configure({ provisionMs: 60_000 }); // longer than all these calls take on a busy machine
    const db = `${base}/v1/databases`;
    assertEquals(await ask(`${base}/v1`), [200, {
      account: "simulated",
      clientTokens: true,
      readLagSeconds: 0,
      effectBoundSeconds: 10,
      passwords: "asked",
      snapshots: true,
    }]);
    const wanted = {
      name: "o",
      engine: "postgres",
      version: "14.2",
      sizeGb: 20,
      tags: { a: "b c" },
      clientToken: "t",
    };
    const [status, made] = await ask(db, "POST", wanted);
    assertEquals([status, made["state"], made["endpoint"]], [201, "Provisioning", undefined]);
    assertEquals((await ask(db, "POST", wanted))[0], 200);
    const mismatch = await ask(db, "POST", { ...wanted, sizeGb: 21 });
    assertEquals([mismatch[0], (mismatch[1]["error"] as { code: string }).code], [
      409,
      "IdempotencyMismatch",
    ]);
    const page = await ask(`${db}?tag=a%3Db%20c&limit=1`);
    assertEquals((page[1]["items"] as { id: string }[]).map((d) => d.id), [made["id"]]);
    assertEquals((await ask(`${db}?tag=a%3Dother`))[1], { items: [] });
    const id = String(made["id"]);
    assertEquals((await ask(`${db}/${id}`, "DELETE"))[0], 409);
    cloud.edit(id, { state: "Available", endpoint: "here:5432" });
    assertEquals((await ask(`${db}/${id}`, "PATCH", { sizeGb: 30 }))[1]["state"], "Modifying");
    assertEquals((await ask(`${db}/none`))[0], 404);
    for (const bad of ["{", "[]", "null", '{"name":1}', "x".repeat(1_100_000)]) {
      const [code, body] = await ask(db, "POST", bad);
      assertEquals([code, (body["error"] as { code: string }).code], [400, "InvalidParameter"]);
    }
    for (const query of ["limit=0", "limit=101", "limit=x", "tag=novalue", "pageToken=zzz"]) {
      assertEquals((await ask(`${db}?${query}`))[0], 400, query);
    }
    assertEquals((await ask(`${base}/v2`))[0], 404);
    cloud.configure({ describesItself: false });
    assertEquals((await ask(`${base}/v1`))[0], 404);
  });
});

Deno.test("tests reach the ledger, the faults and the databases by /admin/", async () => {
  await served(async (base, cloud) => {
    const admin = `${base}/admin`;
    const provider = createHttpProvider({ url: base, clock: systemClock, caller: "one" });
    const rule = { verbs: ["create"], times: 1, fault: { answer: "lost", effect: "done" } };
    assertEquals((await ask(`${admin}/faults`, "POST", rule))[0], 200);
    const request = {
      name: "o",
      engine: "postgres",
      version: "14",
      sizeGb: 1,
      tags: { [TAG.uid]: "u" },
      clientToken: "t",
    };
    const error = await assertRejects(() => provider.create(request, CALL), ProviderError);
    assertEquals(error.errorClass, "unknown");
    const effects = (await ask(`${admin}/effects?kind=create&uid=u`))[1]["items"] as {
      id: string;
      caller: string;
    }[];
    assertEquals([effects.length, effects[0]?.caller], [1, "one"]);
    const calls = (await ask(`${admin}/calls?verb=create`))[1]["items"] as {
      outcome: string;
      effect: string;
    }[];
    assertEquals(calls.map((c) => [c.outcome, c.effect]), [["lost", "done"]]);
    const { id } = effects[0]!;
    assertEquals(
      (await ask(`${admin}/databases/${id}`, "PATCH", { sizeGb: 35, state: "Available" }))[0],
      200,
    );
    assertEquals((await provider.get(id, CALL)).sizeGb, 35);
    assertEquals((await ask(`${admin}/databases/${id}`, "DELETE"))[0], 200);
    assertEquals(cloud.get(id), undefined);
    assertEquals(
      (await ask(`${admin}/databases`, "POST", { name: "f", tags: { x: "1" } }))[1]["state"],
      "Available",
    );
    assertEquals((await ask(`${admin}/settings`, "PATCH", { loseAnswers: 0.5 }))[1]["loseAnswers"], 0.5);
    for (const bad of [{ loseAnswers: 2 }, { loseAnswers: "1" }, { nothing: 1 }, { latencyMs: -1 }]) {
      assertEquals((await ask(`${admin}/settings`, "PATCH", bad))[0], 400, JSON.stringify(bad));
    }
    assertEquals((await ask(`${admin}/faults`, "POST", { fault: { answer: "never" } }))[0], 400);
    assertEquals((await ask(`${admin}/databases/none`, "DELETE"))[0], 400);
  });
});

Deno.test("a bearer token is asked for where tokens are set, and /admin/ can be left out", async () => {
  const options = { tokens: () => ["good"], admin: false };
  await served(async (base) => {
    const provider = (token?: string) => createHttpProvider({ url: base, clock: systemClock, token });
    assertEquals((await provider("good").info(CALL)).account, "simulated");
    for (const token of ["bad", undefined]) {
      const error = await assertRejects(() => provider(token).info(CALL), ProviderError);
      assertEquals(error.errorClass, "unauthorised");
    }
    const response = await fetch(`${base}/admin/settings`);
    await response.body?.cancel();
    assertEquals(response.status, 401);
  }, options);
});

Deno.test("D2b: a call whose client left goes on at the served cloud", async () => {
  await served(async (base, cloud) => {
    cloud.configure({ latencyMs: 200, jitter: 0 });
    const provider = createHttpProvider({ url: base, clock: systemClock, timeoutMs: 50 });
    const request = {
      name: "o",
      engine: "postgres",
      version: "14",
      sizeGb: 1,
      tags: { [TAG.uid]: "u" },
      clientToken: "t",
    };
    const error = await assertRejects(() => provider.create(request, CALL), ProviderError);
    assertEquals([error.errorClass, error.code], ["unknown", "Timeout"]);
    const end = performance.now() + 5_000;
    while (cloud.liveByUid().get("u") === undefined) {
      assert(performance.now() < end, "the create never took effect");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
});

Deno.test("the cloud command keeps its state over a restart, and ends when told", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const state = `${directory}/cloud.json`;
    const values = Object.fromEntries(cloudFlags.map((f) => {
      const text = f.name === "listen" ? "127.0.0.1:0" : f.default;
      if (text === undefined) return [f.name, undefined];
      return [f.name, f.parse?.(text) ?? (f.value === undefined ? text === "true" : text)];
    }));
    const options = { ...toCloudOptions(values), state };
    const session = async (use: (url: string) => Promise<void>) => {
      const abort = new AbortController();
      const random = seededRandom(1);
      let listening = (_url: string) => {};
      const url = new Promise<string>((resolve) => listening = resolve);
      const onListen = (u: string) => listening(u);
      const ended = runCloud(options, {
        log: silentLogger,
        signal: abort.signal,
        clock: systemClock,
        random,
        onListen,
      });
      try {
        await use(await Promise.race([url, ended.then(() => "")]));
      } finally {
        abort.abort();
        await ended;
      }
    };
    const request = {
      name: "o",
      engine: "postgres",
      version: "14",
      sizeGb: 1,
      tags: { a: "1" },
      clientToken: "t",
    };
    let id = "";
    await session(async (url) => {
      id = (await createHttpProvider({ url, clock: systemClock }).create(request, CALL)).id;
    });
    await session(async (url) => {
      const provider = createHttpProvider({ url, clock: systemClock });
      assertEquals((await provider.get(id, CALL)).tags, { a: "1" });
      assertEquals((await provider.create(request, CALL)).id, id);
    });
    await Deno.writeTextFile(state, '{"half');
    const error = await assertRejects(() => session(() => Promise.resolve()), Error);
    assertStringIncludes(error.message, "Loading the cloud's state");
    assertEquals([...Deno.readDirSync(directory)].map((e) => e.name), ["cloud.json"]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
