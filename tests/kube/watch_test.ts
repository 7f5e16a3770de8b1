/** W1 to W7 and W9 on the wire: a server that resets, stalls and lies. @module */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { eventually } from "../support/eventually.ts";
import { isWatch } from "./loopback_api.ts";
import { startReflector, withApi } from "./support.ts";

Deno.test("W1: sixty events on one watch are all delivered in order, without a reconnect", () =>
  withApi(async (api, cluster) => {
    const r = startReflector(cluster);
    await eventually("the watch", () => api.open.length === 1);
    const expected: string[] = [];
    for (let i = 0; i < 60; i++) expected.push(`+a@${(await api.put("a")).metadata.resourceVersion}`);
    await eventually("all events", () => r.told.all.length === 60);
    assertEquals(r.told.all, expected);
    assertEquals(api.watches.length, 1);
    await r.stop();
  }));

Deno.test("W2: a watch that goes silent is judged dead and reopened from the last version, and nothing is missed", () =>
  withApi(async (api, cluster) => {
    await api.put("a");
    const r = startReflector(cluster, { watchTimeoutSeconds: 0.3, idleMarginMs: 50 });
    await eventually("the watch", () => api.open.length === 1);
    const before = await api.put("a");
    await eventually("the change", () => r.told.all.length === 2);
    api.telling = false; // the server goes silent without closing
    await api.put("b");
    api.telling = true;
    await eventually("the object created meanwhile", () => r.reflector.get("uid-b") !== undefined);
    assertEquals(api.watches[1]?.from, before.metadata.resourceVersion);
    assertEquals(api.lists().length, 1, "it resumed, it did not list again");
    assert(r.metrics.restarts.includes("silent"));
    await r.stop();
  }));

Deno.test("W2: once a server has sent a bookmark, silence past the bookmark limit is enough", () =>
  withApi(async (api, cluster) => {
    const r = startReflector(cluster, { watchTimeoutSeconds: 60, bookmarkLimitMs: 200 });
    await eventually("the watch", () => api.open.length === 1);
    api.version = 500;
    await api.open[0]?.bookmark(500);
    await eventually("the second watch", () => api.watches.length === 2);
    assertEquals(api.watches[1]?.from, "500", "it resumes from the bookmark");
    await r.stop();
  }));

Deno.test("W2: two silent watches in a row lead to a list, for their version may lie in a lost future", () =>
  withApi(async (api, cluster) => {
    api.version = 900;
    const r = startReflector(cluster, { watchTimeoutSeconds: 0.1, idleMarginMs: 20, staleListMs: 0 });
    await eventually("the watch", () => api.open.length === 1);
    api.version = 10; // restored from a backup
    api.telling = false;
    await api.put("old");
    await eventually("the restored object", () => r.reflector.get("uid-old") !== undefined);
    assert(r.log.lines.some((line) => line.message.includes("went back in time")));
    await r.stop();
  }));

Deno.test("W3: a reset in mid-event and twenty refused connects lose nothing, crash nothing and back off", () =>
  withApi(async (api, cluster) => {
    await api.put("a");
    const r = startReflector(cluster, { backoffBaseMs: 4, backoffCapMs: 40 });
    await eventually("the watch", () => api.open.length === 1);
    api.refuse = 20;
    api.telling = false;
    const b = await api.put("b");
    api.telling = true;
    await api.open[0]?.raw(JSON.stringify({ type: "ADDED", object: b }).slice(0, 90)); // no line feed: partial
    api.open[0]?.break();
    await eventually("recovery", () => r.reflector.get("uid-b") !== undefined);
    assertEquals(api.refuse, 0);
    assertEquals(r.told.all, ["+a@101", "+b@102"], "the partial line was dropped, the object came once");
    const waits = r.log.lines.map((line) => line.fields["retryInMs"]).filter((ms) => typeof ms === "number");
    assert(waits.length >= 20, String(waits.length));
    assert(
      Math.max(...waits) <= 40 && Math.max(...waits.slice(-5)) > Math.max(...waits.slice(0, 2)),
      String(waits),
    );
    assert(new Set(waits.slice(-10)).size > 1, "with jitter");
    assertEquals(r.reflector.reason, undefined);
    assertEquals(r.reflector.synced, true);
    await r.stop();
  }));

Deno.test("W4: 410 inside a 200 stream leads to one list, which delivers what was deleted, created and changed", () =>
  withApi(async (api, cluster) => {
    await api.put("gone");
    await api.put("changed");
    await api.put("same");
    const r = startReflector(cluster);
    await eventually("the watch", () => api.open.length === 1);
    api.telling = false;
    await api.remove("gone");
    const changed = await api.put("changed");
    const created = await api.put("new");
    api.telling = true;
    const told = r.told.all.length;
    await api.open[0]?.send("ERROR", {
      kind: "Status",
      status: "Failure",
      message: "too old resource version: 101 (104)",
      reason: "Expired",
      code: 410,
    });
    await eventually("the deletion", () => r.told.gone.length === 1);
    await eventually("the next watch", () => api.watches.length === 2);
    assertEquals(
      r.told.all.slice(told).sort(),
      [
        `+changed@${changed.metadata.resourceVersion}`,
        `+new@${created.metadata.resourceVersion}`,
        "-gone@uid-gone",
      ].sort(),
    );
    assertEquals(api.lists().length, 2, "the first list and one more");
    await r.stop();
  }));

Deno.test("W4: a server that calls every version too old is not asked in a hot loop", () =>
  withApi(async (api, cluster) => {
    api.misdeed = (request) =>
      isWatch(request) ? { status: 410, body: '{"kind":"Status","code":410,"reason":"Expired"}' } : undefined;
    const r = startReflector(cluster, { backoffBaseMs: 50, backoffCapMs: 400 });
    const start = performance.now();
    await eventually("the fifth list", () => api.lists().length >= 5);
    assert(performance.now() - start > 100, "it backs off");
    await r.stop();
  }));

for (const moment of ["list", "back-off", "watch"] as const) {
  Deno.test(`W5: stopping during ${moment} ends at once, without an error and with no watch left open`, () =>
    withApi(async (api, cluster) => {
      if (moment === "list") api.misdeed = () => "stall";
      if (moment === "back-off") api.misdeed = () => ({ status: 503, body: "" });
      const r = startReflector(cluster, { backoffBaseMs: 60_000, backoffCapMs: 60_000 });
      if (moment === "watch") await eventually("the watch", () => api.open.length === 1);
      if (moment === "list") await eventually("the list", () => api.requests.length === 1);
      if (moment === "back-off") {
        await eventually("the back-off", () => r.reflector.reason?.includes("503") === true);
      }
      const start = performance.now();
      await r.stop();
      assert(performance.now() - start < 1_000);
      await eventually("no open watch", () => api.open.length === 0);
      if (moment !== "back-off") assertEquals(r.log.lines.filter((line) => line.level !== "info"), []);
    }));
}

Deno.test("W6: after an outage with changes each newest object is told once, and what did not change is not", () =>
  withApi(async (api, cluster) => {
    for (const name of ["a", "b", "c", "d"]) await api.put(name);
    const r = startReflector(cluster, { backoffBaseMs: 5 });
    await eventually("the watch", () => api.open.length === 1);
    const told = r.told.all.length;
    let down = true;
    api.misdeed = () => down ? "reset" : undefined;
    api.telling = false;
    api.open[0]?.break();
    const last: string[] = [];
    for (const name of ["a", "b", "c"]) {
      last.push(`+${name}@${(await api.put(name)).metadata.resourceVersion}`);
    }
    await eventually("some tries", () => r.metrics.restarts.length >= 3);
    assertMatch(r.reflector.reason ?? "", /Watching/);
    assertEquals(r.reflector.synced, true, "what is known is still known");
    down = false;
    api.telling = true;
    await eventually("the changes", () => r.told.all.length === told + 3);
    assertEquals(r.told.all.slice(told), last);
    await r.stop();
  }));

Deno.test("W7: the same name under a new UID, made while disconnected, is the end of the old and then the new", () =>
  withApi(async (api, cluster) => {
    await api.put("a", "uid-old");
    const r = startReflector(cluster);
    await eventually("the watch", () => api.open.length === 1);
    api.telling = false;
    await api.remove("a");
    await api.put("a", "uid-new");
    api.telling = true;
    await api.open[0]?.send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" });
    await eventually("the new one", () => r.reflector.get("uid-new") !== undefined);
    assertEquals(r.told.all, ["+a@101", "-a@uid-old", "+a@103"]);
    assertEquals([...r.reflector.keys()], ["uid-new"]);
    assertEquals(r.reflector.find({ namespace: "default", name: "a" })?.metadata.uid, "uid-new");
    await r.stop();
  }));

Deno.test("W8: an object older than what is known is never delivered, from a watch or from a list", () =>
  withApi(async (api, cluster) => {
    const old = await api.put("a");
    await api.put("a");
    const r = startReflector(cluster);
    await eventually("the watch", () => api.open.length === 1);
    await api.open[0]?.send("MODIFIED", old);
    api.open[0]?.break();
    await eventually("the watch again", () => api.watches.length === 2 && api.open.length === 1);
    assertEquals(api.watches[1]?.from, "102", "a replayed event does not set it back");
    // A lagging server: the whole list is older than what was seen.
    api.lagging = { objects: [old], version: 101 };
    await api.open[0]?.send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" });
    await eventually("two refused lists", () => api.lists().length >= 3);
    assertEquals(r.told.all, ["+a@102"]);
    assertMatch(r.reflector.reason ?? "", /older than 102/);
    api.lagging = undefined;
    await eventually("the watch again", () => api.open.length === 1);
    assertEquals(r.told.all, ["+a@102"]);
    await r.stop();
  }));

Deno.test("W9: a missing CRD and a refused list are waited for, told to readiness, and nothing known is called gone", () =>
  withApi(async (api, cluster) => {
    let answer: { status: number; body?: string; headers?: Record<string, string> } | undefined = {
      status: 404,
      body: "404 page not found\n",
      headers: { "content-type": "text/plain" },
    };
    api.misdeed = () => answer;
    await api.put("a");
    const r = startReflector(cluster);
    await eventually("the reason", () => r.reflector.reason?.includes("not installed") === true);
    assertEquals(r.reflector.reason, "the CRD externaldatabases.crd.my.domain is not installed");
    assertEquals(r.reflector.synced, false);
    answer = undefined;
    await eventually("synced", () => r.reflector.synced);
    assertEquals([r.told.synced, r.reflector.reason], [1, undefined]);
    answer = {
      status: 403,
      body: '{"kind":"Status","code":403,"message":"no list for you","reason":"Forbidden"}',
    };
    for (const watch of api.open) await watch.end();
    await eventually("forbidden", () => r.reflector.reason?.startsWith("forbidden: ") === true);
    assertEquals([r.reflector.synced, r.reflector.size, r.told.gone.length], [false, 1, 0], "S6");
    answer = undefined;
    await eventually("synced again", () => r.told.synced === 2);
    await r.stop();
  }));

Deno.test("A list comes in pages, only of the namespaces that are watched, and a deletion is seen per namespace", () =>
  withApi(async (api, cluster) => {
    for (let i = 0; i < 7; i++) await api.put(`n${i}`);
    const r = startReflector(cluster, { pageSize: 3, namespaces: ["default"] });
    await eventually("synced", () => r.reflector.synced);
    assertEquals(r.reflector.size, 7);
    assertEquals(api.lists().map((l) => l.url.searchParams.get("continue")), [null, "3", "6"]);
    assert(api.lists().every((l) => l.url.pathname.includes("/namespaces/default/")));
    await eventually("the watch", () => api.open.length === 1);
    await api.remove("n3");
    await eventually("the deletion", () => r.reflector.size === 6);
    assertEquals(r.told.gone[0]?.metadata.resourceVersion, "108", "the last state is the deletion's");
    await r.stop();
  }));

Deno.test("A page that expired in the middle of a list starts the list again, the second time without pages", () =>
  withApi(async (api, cluster) => {
    for (let i = 0; i < 4; i++) await api.put(`n${i}`);
    api.misdeed = (request) =>
      request.url.searchParams.has("continue")
        ? { status: 410, body: '{"kind":"Status","code":410,"reason":"Expired"}' }
        : undefined;
    const r = startReflector(cluster, { pageSize: 2 });
    await eventually("synced", () => r.reflector.synced);
    assertEquals(r.reflector.size, 4);
    assertEquals(api.lists().at(-1)?.url.searchParams.get("limit"), null);
    await r.stop();
  }));

Deno.test("A handler that throws is logged and stops nothing", () =>
  withApi(async (api, cluster) => {
    await api.put("a");
    let calls = 0;
    const r = startReflector(cluster, {
      handler: {
        onUpsert: () => {
          calls++;
          throw new Error("boom");
        },
        onGone: () => {},
        onSynced: () => {},
      },
    });
    await eventually("the watch", () => api.open.length === 1);
    await api.put("a");
    await eventually("the second call", () => calls === 2);
    assertEquals(api.watches.length, 1);
    assertEquals(r.log.lines.filter((line) => line.level === "error").map((line) => line.fields["error"]), [
      "boom",
      "boom",
    ]);
    await r.stop();
  }));
