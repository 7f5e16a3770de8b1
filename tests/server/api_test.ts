/**
 * The HTTP API over a whole operator in a simulated world, asked as the page asks it.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fleetView } from "../../src/cli/fleet_view.ts";
import { History } from "../../src/operator/history/history.ts";
import { databaseOf, fleet, PERIOD } from "../support/fleet.ts";
import { rawGet, whileServed } from "../support/served.ts";
import { inWorld, type World } from "../support/world.ts";

interface Served {
  readonly world: World;
  readonly url: string;
  // deno-lint-ignore no-explicit-any -- answers are looked at field by field
  get(path: string): Promise<any>;
}

function served(work: (s: Served) => Promise<void>): Promise<void> {
  return inWorld({}, async (world) => {
    const history = new History(world.clock);
    const { operator } = world.start({ history, hibernateAfterMs: 24 * 3_600_000 });
    // What is told is of the world's clock; the server's own timers are not.
    const view = fleetView({ operator, history, clock: world.clock, phase: () => "working" });
    await whileServed(
      { view },
      (url) => work({ world, url, get: async (path) => await (await fetch(url + path)).json() }),
    );
  });
}

Deno.test("a database is told whole: configuration, fields, conditions, policies, cache and history", () =>
  served(async ({ world, get, url }) => {
    await fleet(world, 2);
    const detail = await get("/api/databases/default/db-000");
    assertEquals(detail.configuration, ["Available", "Available.idle"]);
    assertEquals(detail.fields.map((f: { field: string; verdict: string }) => `${f.field} ${f.verdict}`), [
      "engine same",
      "version same",
      "sizeGb same",
    ]);
    assertEquals(detail.conditions.map((c: { unwritten: boolean }) => c.unwritten), [false, false]);
    assertEquals([detail.policies.driftPolicy, detail.cache.kind], ["Repair", "present"]);
    assert(detail.history.entries.length > 5);
    assertEquals(
      await get("/api/databases/default/db-000/history"),
      JSON.parse(JSON.stringify(detail.history)),
    );
    for (const path of ["default/none", "default/none/history", "default", "a/b/c/d", "%ff/x"]) {
      const answer = await fetch(`${url}/api/databases/${path}`);
      assertEquals([answer.status, await answer.text()], [404, "Not found\n"], path);
    }
  }));

Deno.test("what differs is told field by field, and counts where it waits for a person", () =>
  served(async ({ world, get }) => {
    await fleet(world, 3, { driftPolicy: "Report" });
    world.cloud.edit(databaseOf(world, "db-001").id, { sizeGb: 10, version: "14.9" });
    await world.run(PERIOD * 1.2);
    const { fields, row } = await get("/api/databases/default/db-001");
    assertEquals(fields.find((f: { field: string }) => f.field === "sizeGb"), {
      field: "sizeGb",
      wanted: "20",
      observed: "10",
      verdict: "differs",
    });
    assertEquals(
      fields.find((f: { field: string }) => f.field === "version").verdict,
      "same",
      "a newer minor",
    );
    assertEquals([row.attention, row.ready, row.synced.reason], [true, "True", "DriftReported"]);
    const { summary, rows } = await get("/api/fleet");
    assertEquals(rows.length, 3);
    assertEquals([summary.attention, summary.reasons], [{ DriftReported: 1 }, {
      Available: 2,
      DriftReported: 1,
    }]);
    assertEquals(summary.states, { Available: 2, Drifted: 1 });
    assertEquals(Object.values(summary.configurations as Record<string, number>).reduce((a, b) => a + b), 3);
    const [account] = summary.accounts;
    assertEquals([account.class, account.provider, account.concurrency], ["", "simulated", 64]);
    assert(summary.flow.some((f: { from: string; to: string }) => f.to === "Drifted.deciding"));
  }));

Deno.test("rows are selected by reason, class and text as by namespace, state and readiness", () =>
  served(async ({ world, get }) => {
    await fleet(world, 3, { driftPolicy: "Report" });
    world.cloud.edit(databaseOf(world, "db-002").id, { sizeGb: 10 });
    await world.run(PERIOD * 1.2);
    const names = async (query: string) =>
      (await get(`/api/databases?${query}`)).items.map((r: { name: string }) => r.name);
    assertEquals(await names("reason=DriftReported"), ["db-002"]);
    assertEquals(await names("reason=Available&limit=1"), ["db-000"]);
    assertEquals(await names("class="), ["db-000", "db-001", "db-002"]);
    assertEquals(await names("class=gold"), []);
    assertEquals(await names("q=DB-00&state=Drifted"), ["db-002"]);
    assertEquals(await names(`q=${databaseOf(world, "db-001").id}`), ["db-001"]);
    assertEquals(await names("q=default/db-001"), ["db-001"]);
  }));

Deno.test("the stream tells over the wire what the actors do, and ends when the server closes", async () => {
  let ended: Promise<string> | undefined;
  await served(async ({ world, url }) => {
    await fleet(world, 1);
    const answer = await fetch(`${url}/api/stream?database=default/db-000`);
    assertEquals(answer.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assertEquals([answer.headers.get("cache-control"), answer.headers.get("content-encoding")], [
      "no-store",
      null,
    ]);
    const told: string[] = [];
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    const until = async (wanted: RegExp) => {
      while (!wanted.test(told.join(""))) {
        const { value, done } = await reader.read();
        assert(!done, `it ended before ${wanted}`);
        told.push(value);
      }
    };
    await until(/event: reset/);
    world.cluster.edit("default", "db-000", { sizeGb: 33 });
    await world.run(60_000);
    await until(/event: rows\ndata: \{"changed":\[\{"namespace":"default","name":"db-000"[^\n]*"sizeGb":33/);
    await until(/event: database\ndata: [^\n]*spec\.sizeGb 20 → 33/);
    ended = (async () => {
      let rest = "";
      for (let next = await reader.read(); !next.done; next = await reader.read()) rest += next.value;
      return rest;
    })();
  });
  assertEquals(typeof await ended, "string");
});

Deno.test("a large answer is packed where the client takes that, and not else", () =>
  served(async ({ world, url }) => {
    await fleet(world, 40);
    const packed = await fetch(`${url}/api/fleet`, { headers: { "accept-encoding": "br, gzip;q=0.5" } });
    assertEquals(packed.headers.get("vary"), "accept-encoding");
    assertEquals((await packed.json()).rows.length, 40);
    const size = async (encoding: string) => {
      const answer = await rawGet(url, "/api/fleet", { "Accept-Encoding": encoding });
      return (await answer.arrayBuffer()).byteLength;
    };
    const [gzip, none] = [await size("gzip"), await size("gzip;q=0")];
    assert(gzip * 4 < none, `${gzip} of ${none} bytes`);
  }));

Deno.test("what a resource and a cloud say is text in every answer: no control character, no mark that turns text", () =>
  served(async ({ world, url }) => {
    await fleet(world, 1);
    const evil = "\u202e\u001b[2J\u2028</script>";
    world.cluster.edit("default", "db-000", { connectionSecretRef: { name: `a${evil}` } } as never);
    await world.run(60_000);
    for (const path of ["/api/databases", "/api/fleet", "/api/databases/default/db-000"]) {
      const text = await (await fetch(url + path)).text();
      // deno-lint-ignore no-control-regex -- what must not be there
      assert(!/[\u0000-\u0009\u000b-\u001f\u202e\u2028]/.test(text), path);
      assertMatch(text, /^\{.*\}\n$/);
    }
    const { entries } = await (await fetch(`${url}/api/databases/default/db-000/history`)).json();
    assertStringIncludes(JSON.stringify(entries), "connectionSecretRef");
  }));
