import { assert, assertEquals } from "@std/assert";
import { ProviderError } from "../../src/providers/port.ts";

import { onBench } from "../support/provider_bench.ts";

Deno.test("A2: the account is looked at once a minute, at once on request, and a change is told once", () =>
  onBench("account", async (bench) => {
    bench.run();
    await bench.clock.advance(0);
    assertEquals([bench.account.info?.account, bench.changes], ["acct", 1]);
    await bench.clock.advance(10 * 60_000);
    assert(bench.infos.length >= 9 && bench.infos.length <= 13, `${bench.infos.length}`);
    assertEquals(bench.changes, 1);
    const n = bench.infos.length;
    for (let i = 0; i < 50; i++) bench.account.requestRefresh();
    await bench.clock.advance(1_100);
    assertEquals(bench.infos.length, n + 1);
    const seen = bench.account.infoAt;
    assertEquals(seen, bench.infos.at(-1));
    bench.info = () => ({ account: "other", clientTokens: true, readLagSeconds: 1, effectBoundSeconds: 10 });
    bench.account.requestRefresh();
    await bench.clock.advance(1_100);
    assertEquals([bench.account.info?.account, bench.changes], ["other", 2]);
  }));

Deno.test("A2: an account that does not answer keeps its last word, says why, backs off, and is not hastened", () =>
  onBench("account", async (bench) => {
    bench.run();
    await bench.clock.advance(0);
    bench.info = () => Promise.reject(new ProviderError("unauthorised", "Forbidden"));
    await bench.clock.advance(70_000);
    assertEquals([bench.account.info?.account, bench.account.error, bench.changes], ["acct", "Forbidden", 1]);
    const at = bench.account.infoAt;
    await bench.clock.advance(5 * 60_000);
    const before = bench.infos.length;
    for (let i = 0; i < 300; i++) {
      bench.account.requestRefresh();
      await bench.clock.advance(1_000);
    }
    assert(bench.infos.length - before <= 21, `${bench.infos.length - before} in five minutes`);
    assertEquals(bench.account.infoAt, at, "a failed look confirms nothing");
    assertEquals(bench.lines.filter((l) => /does not answer/.test(l)).length, 1);
    assertEquals(bench.fields.at(-1), { provider: "test", error: "Forbidden" }, "the log says who and why");
  }));

Deno.test("an account that never answered is told once for each new reason", () =>
  onBench("account", async (bench) => {
    let text = "refused";
    bench.info = () => Promise.reject(new ProviderError("retryable", text));
    bench.run();
    await bench.clock.advance(60_000);
    assertEquals([bench.account.info, bench.account.error, bench.changes], [undefined, "refused", 1]);
    text = "no such host";
    await bench.clock.advance(60_000);
    assertEquals(bench.changes, 2);
  }));
