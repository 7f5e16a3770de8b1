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

Deno.test("A2: the words of the account of now are its answer times; a change begins them anew, and tells what was left", () =>
  onBench("account", async (bench) => {
    const { account, clock } = bench;
    assertEquals([account.infoAt, account.since, account.words, account.left, account.errorClass], [
      -Infinity,
      -Infinity,
      [],
      undefined,
      undefined,
    ]);
    const answer = await bench.info();
    /** Answers 30 ms after it was asked. */
    const after30 = (name: string) => () =>
      new Promise<typeof answer>((resolve) =>
        clock.setTimeout(() => resolve({ ...answer, account: name }), 30)
      );
    bench.info = after30("acct");
    const { signal } = new AbortController();
    const ask = async () => {
      const sentAt = clock.monotonic();
      const asked = account.refresh(signal);
      await clock.advance(100);
      assertEquals(await asked, true);
      return sentAt;
    };
    const first = await ask();
    const second = await ask();
    assertEquals([account.infoAt, account.words, account.since, account.left], [
      second,
      [first + 30, second + 30],
      -Infinity,
      undefined,
    ]);
    bench.info = after30("other");
    const third = await ask();
    assertEquals([account.words, account.since], [[third + 30], third + 30]);
    assertEquals(account.left, { account: "acct", sentAt: second });
    for (let n = 0; n < 70; n++) await ask();
    assertEquals(account.words.length, 64, "the oldest are forgotten");
    assertEquals(account.since, third + 30);
    assertEquals(bench.fields[0], {
      provider: "test",
      account: "acct",
      clientTokens: true,
      readLagSeconds: 1,
      effectBoundSeconds: 10,
    });
    assertEquals(bench.lines.length, 2, "an answer that says the same is not logged again");
  }));

Deno.test("A2: whoever waits for a word of now shares the question with others, and leaves it to them when it goes", () =>
  onBench("account", async (bench) => {
    const { account, clock } = bench;
    const answer = await bench.info();
    bench.info = () => new Promise((resolve) => clock.setTimeout(() => resolve(answer), 500));
    const heard: string[] = [];
    const wait = (name: string, since = clock.monotonic()) => {
      const going = new AbortController();
      void account.heard(since, going.signal).then(() => heard.push(name));
      return going;
    };
    bench.run(); // the look that it begins with counts too
    wait("a");
    const b = wait("b");
    await clock.advance(100);
    assertEquals([heard, bench.infos.length], [[], 1 + 1]);
    b.abort();
    await clock.advance(0);
    assertEquals(heard, ["b"]);
    await clock.advance(400);
    assertEquals(heard, ["b", "a"]);
    const asked = bench.infos.length;
    wait("c", account.infoAt);
    await clock.advance(0);
    assertEquals([heard.at(-1), bench.infos.length], ["c", asked], "it was said already");
    wait("d");
    wait("e");
    await clock.advance(500);
    assertEquals([heard.slice(-2), bench.infos.length], [["d", "e"], asked + 1]);
  }));

Deno.test("A2: whoever waits for a word is let go when the account does not answer, or was not to wait at all", () =>
  onBench("account", async (bench) => {
    const { account, clock } = bench;
    bench.info = () => Promise.reject(new ProviderError("unauthorised", "Forbidden"));
    const { signal } = new AbortController();
    await account.heard(clock.monotonic(), signal);
    assertEquals([bench.infos.length, account.error, account.errorClass, account.infoAt], [
      1,
      "Forbidden",
      "unauthorised",
      -Infinity,
    ]);
    await account.heard(clock.monotonic(), AbortSignal.abort());
    assertEquals(bench.infos.length, 1);
    bench.info = () => Promise.reject(new Error("no such thing"));
    assertEquals(await account.refresh(signal), false);
    assertEquals([account.error, account.errorClass], ["Error: no such thing", undefined]);
    assertEquals(await account.refresh(AbortSignal.abort()), false);
    assertEquals(bench.lines.length, 2, "an end that was asked for is no failure");
  }));

Deno.test("S5: the account is asked again after one second, then after two and four and so on to thirty", () =>
  onBench("account", async (bench) => {
    bench.info = () => Promise.reject(new ProviderError("retryable", "no"));
    bench.run();
    await bench.clock.advance(200_000);
    const waits = bench.infos.slice(1).map((at, n) => at - bench.infos[n]!);
    for (const [n, wait] of waits.entries()) {
      const bound = Math.min(30_000, 1_000 * 2 ** n);
      assert(wait >= bound / 2 && wait <= bound, `wait ${n}: ${wait}`);
    }
    assert(waits.length > 7);
  }));
