/** Ten thousand databases in the page: few rows exist, the list scrolls, and a storm of changes leaves the browser free. */
import { assert, assertEquals } from "@std/assert";
import { FakeOperator } from "../../tests/page/fake_operator.ts";
import { sampleFleet } from "../../tests/page/samples.ts";
import { buildPage } from "../../tools/page.ts";
import { measurePage } from "../../bench/page.ts";
import { openBrowser, openPage, waitForFocus, waitForText } from "./browser.ts";

Deno.test("of ten thousand rows a few exist wherever one scrolls, and the last is reached by one key", async () => {
  await buildPage();
  await using operator = new FakeOperator();
  operator.rows = sampleFleet(10_000, Date.now());
  await using browser = await openBrowser();
  const { page, faults } = await openPage(browser);
  await page.goto(operator.url);
  await waitForText(page, "10,000 databases");
  const drawn = () => page.$$eval(".tbody [role=row]", (rows) => rows.length);
  assert(await drawn() < 60);
  for (const part of [0.25, 0.5, 0.99]) {
    await page.evaluate((part: number) => scrollTo(0, document.documentElement.scrollHeight * part), part);
    // What is in sight is drawn: the row at the middle of the screen is a row of the list.
    await page.waitForFunction(() =>
      document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest("[data-row]") !== null
    );
    assert(await drawn() < 60);
  }
  // An element goes from row to row, the focus does not: what was focused is out of sight.
  await page.evaluate(() => scrollTo(0, 0));
  await page.waitForSelector('[data-row="0"] a');
  await page.focus('[data-row="0"] a');
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
  await page.waitForFunction(() => document.activeElement === document.body);
  await page.waitForSelector(".tbody [role=row] a");
  await page.focus(".tbody [role=row] a");
  await page.keyboard.press("End");
  await waitForFocus(page, 9_999);
  assertEquals(faults, []);
});

Deno.test("a thousand transitions a second leave the browser half of its time, and its last word is the operator's", async () => {
  await buildPage();
  const measured = await measurePage({ rows: 10_000, changesPerSecond: 1_000, seconds: 5 });
  assert(measured.lastSeen, "the last change was shown");
  // A ratio of one run: how much of the time the page's thread was at work.
  assert(measured.busyUnderStorm < 0.5, JSON.stringify(measured));
  assertEquals(measured.faults, []);
});
