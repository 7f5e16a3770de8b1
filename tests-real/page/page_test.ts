/** The page in a real browser, on the demo's world with a simulated cloud. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Page } from "./vendor.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { inOrder } from "../support/steps.ts";
import { openBrowser, openPage, textOf, waitForFocus, waitForText } from "./browser.ts";
import { openWorld, PATIENCE_MS, type World } from "./world.ts";

/** The state that the chart of one database shows. */
const litCard = (page: Page) => textOf(page, "svg.one .card.lit .title");
const litStep = (page: Page) => textOf(page, "svg.one .chip.lit text");

async function providerIdOf(world: World, name: string): Promise<string> {
  const { row } = await world.detail(name);
  assert(row.providerId);
  return row.providerId;
}

Deno.test("the page shows fleet, chart and one database, and a drift made at the cloud while one looks on", async (t) => {
  await using world = await openWorld(3);
  await using browser = await openBrowser();
  const step = inOrder(t);
  const { page, faults, requests } = await openPage(browser);

  await step("the fleet lists the databases and counts them by state", async () => {
    const answer = await page.goto(world.url);
    const policy = answer?.headers()["content-security-policy"] ?? "";
    assertStringIncludes(policy, "default-src 'none'");
    assertMatch(policy, /script-src 'self'(;|$)/);
    assertMatch(policy, /style-src 'self'(;|$)/);
    await waitForText(page, "3 databases");
    for (const name of ["orders", "catalogue", "analytics"]) await waitForText(page, name, ".table");
    assertEquals(await textOf(page, ".tile.f2 b"), "3");
    await waitForText(page, "Live", ".connection");
    await waitForText(page, "Nothing needs a person");
  });

  await step("a filter narrows the list and stands in the URL; the back button takes it away", async () => {
    await page.type("input[type=search]", "cata");
    await page.waitForFunction(() => document.querySelectorAll(".tbody [role=row]").length === 1);
    assertEquals(new URL(page.url()).search, "?q=cata");
    await page.click(".tile.f0");
    await waitForText(page, "No database matches");
    await page.goBack();
    await page.waitForFunction(() => document.querySelectorAll(".tbody [role=row]").length === 1);
  });

  await step(
    "the chart has every top-level state with its number, and a click filters the fleet",
    async () => {
      await page.goto(`${world.url}/chart`);
      await page.waitForSelector("svg.all .card");
      const cards = await page.$$eval("svg.all .card", (all) =>
        all.map((
          card,
        ) => [card.querySelector(".title")?.textContent, card.querySelector(".count")?.textContent]));
      assertEquals(cards, [["Pending", "0"], ["Creating", "0"], ["Available", "3"], ["Drifted", "0"], [
        "Deleting",
        "0",
      ], [
        "Finalized",
        "0",
      ]]);
      await page.hover("svg.all .card.f3 .plate");
      await waitForText(page, "differs from the spec", ".near-words");
      await page.$eval("svg.all .card.f2 a", (link) => link.focus());
      await waitForText(page, "as the spec asks", ".near-words");
      await page.keyboard.press("Enter");
      await waitForText(page, "3 databases of 3 match");
      assertEquals(new URL(page.url()).search, "?state=Available");
    },
  );

  await step("by the keyboard alone: from row to row, and into one", async () => {
    await page.focus('.tbody [data-row="0"] a');
    await page.keyboard.press("ArrowDown");
    await waitForFocus(page, 1);
    await page.keyboard.press("End");
    await waitForFocus(page, 2);
    await page.keyboard.press("Enter");
    await waitForText(page, "orders", "h1");
    // The new view has the focus, so that a screen reader begins there.
    await page.waitForFunction(() => document.activeElement?.tagName === "H1");
  });

  await step("one database shows where it is, its fields, conditions and history", async () => {
    await page.waitForSelector("svg.one .card.lit");
    assertEquals([await litCard(page), await litStep(page)], ["Available", "idle"]);
    for (const text of ["sizeGb", "in step", "Ready", "Synced", "create done", "metadata.finalizers"]) {
      await waitForText(page, text);
    }
    await waitForText(page, "Acts by itself");
  });

  await step(
    "stepping back by the keyboard and forth by the buttons walks through its life, and the chart with it",
    async () => {
      const active = (to: string) =>
        page.waitForFunction(
          (to: string) =>
            document.querySelector("svg.one")?.getAttribute("aria-label")?.includes(`${to} is active`),
          {},
          to,
        );
      // The first step that is shown stays where it is, whatever is added to the history meanwhile.
      await page.keyboard.press("ArrowLeft");
      await page.waitForFunction(() =>
        document.querySelector("#chart-heading")?.textContent?.startsWith("Step")
      );
      const newest = Number((await textOf(page, "#chart-heading")).slice("Step ".length));
      const { history } = await world.detail("orders");
      const until = history.entries.filter((entry) => entry.n <= newest);
      const expected = until.map((entry) => entry.to).reverse();
      assert(expected.length > 5);
      const shown: string[] = [];
      for (const to of expected) {
        await active(to);
        shown.push(`${await litCard(page)}.${await litStep(page)}`);
        await page.keyboard.press("ArrowLeft");
      }
      assertEquals(shown, expected);
      assertEquals(await textOf(page, "#chart-heading"), `Step ${history.entries[0]?.n}`);
      await page.click(".controls button:nth-of-type(2)");
      await active(history.entries[1]?.to ?? "");
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => document.querySelector("#chart-heading")?.textContent === "Now");
    },
  );

  await step("the history is copied as text", async () => {
    await browser.defaultBrowserContext().overridePermissions(world.url, [
      "clipboard-read",
      "clipboard-write",
    ]);
    await page.click(".lead .copy");
    await waitForText(page, "Copied", ".lead .copy");
    const text = await page.evaluate(() => navigator.clipboard.readText());
    assertStringIncludes(text, "default/orders");
    assertStringIncludes(text, "cloud create: ok");
  });

  await step(
    "a drift at the cloud moves the chart from Available to Drifted and back, and the history tells who, what and when",
    async () => {
      // The page notes each state that its chart ever lit.
      await page.evaluate(() => {
        const seen: string[] = (globalThis as unknown as { seen: string[] }).seen = [];
        const look = () => {
          const now = document.querySelector("svg.one .card.lit .title")?.textContent;
          if (now && now !== seen.at(-1)) seen.push(now);
        };
        look();
        new MutationObserver(look).observe(document.body, {
          subtree: true,
          childList: true,
          attributes: true,
          characterData: true,
        });
      });
      const before = (await world.detail("orders")).history.entries.at(-1)?.n ?? 0;
      const focused = () =>
        page.evaluate(() => document.activeElement?.closest("[data-step]")?.getAttribute("data-step"));
      await page.focus("[data-step] .pick");
      const reading = await focused();
      world.cloud.edit(await providerIdOf(world, "orders"), { version: "14.1" });
      await page.waitForFunction(
        () => (globalThis as unknown as { seen: string[] }).seen.join() === "Available,Drifted,Available",
        { timeout: PATIENCE_MS },
      );
      assertEquals(
        await focused(),
        reading,
        "what is added to the history leaves the reader where they were",
      );
      const { history } = await world.detail("orders");
      const since = history.entries.filter((entry) => entry.n > before);
      const out = since.find((entry) =>
        entry.from.startsWith("Available.") && entry.to.startsWith("Drifted.")
      );
      const modify = since.flatMap((entry) => entry.calls).find((call) => call.verb === "modify");
      assert(out && modify, JSON.stringify(since));
      assertEquals([modify.to, modify.outcome], ["cloud", "ok"]);
      assertStringIncludes(out.cause, "14.1");
      // The page says the same: what came, the call with its outcome, and the way.
      const told = await textOf(page, ".history");
      for (const text of [out.cause, out.event, "modify", modify.detail ?? "", modify.outcome]) {
        assertStringIncludes(told, text);
      }
      await page.click(`[data-step="${out.n}"] .pick`);
      await page.waitForFunction(() => document.querySelectorAll("svg.one .way.lit").length > 0);
      assertEquals(await litCard(page), "Drifted");
      await page.keyboard.press("Escape");
    },
  );

  await step("what needs a person comes first, and says so in the chart's own words", async () => {
    await world.patch("catalogue", { spec: { version: "7.0" } });
    await page.goto(world.url);
    await eventually(
      "the operator says that it needs a person",
      async () => (await world.fleet()).rows.some((row) => row.attention),
      PATIENCE_MS,
      100,
    );
    await waitForText(page, "needs a person", ".attention");
    await page.waitForFunction(() =>
      document.querySelector('.tbody [data-row="0"]')?.textContent?.includes("catalogue")
    );
  });

  // A snapshot for each visit and each return to the page: the stream is taken up where the snapshot ends.
  const snapshots = requests.filter((url) => url.endsWith("/api/fleet")).length;
  assert(snapshots <= 4, `${snapshots} snapshots`);
  assertEquals(faults, []);
  assert(requests.length > 10 && requests.every((url) => url.startsWith(world.url)), requests.join("\n"));
});
