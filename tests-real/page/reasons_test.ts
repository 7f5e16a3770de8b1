/** From a reason, wherever the page names one, to what it means and what to do; and a page that nobody sees asks for nothing. */
import { assert, assertEquals } from "@std/assert";
import { FakeOperator } from "../../tests/page/fake_operator.ts";
import { sampleDetail } from "../../tests/page/sample_database.ts";
import { sampleFleet, sampleRow } from "../../tests/page/samples.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { buildPage } from "../../tools/page.ts";
import { openBrowser, openPage, waitForText } from "./browser.ts";

Deno.test("a reason leads to its entry from the fleet and from a condition, and the entry has an address of its own", async () => {
  await buildPage();
  await using operator = new FakeOperator();
  const now = Date.now();
  const row = sampleRow({ uid: "orders", attention: true });
  operator.rows = [...sampleFleet(4_000, now), row];
  const detail = sampleDetail(row, now);
  const conditions = detail.conditions.map((each) =>
    each.type === "Synced" ? { ...each, reason: "DriftNotRepairable" } : each
  );
  operator.details.set("shop/orders", { ...detail, conditions });
  await using browser = await openBrowser();
  const { page, faults } = await openPage(browser);
  /** The entry has the focus and is in sight. */
  const arrived = (reason: string) =>
    page.waitForFunction(
      (reason: string) => {
        const { activeElement } = document;
        const top = activeElement?.getBoundingClientRect().top ?? -1;
        return activeElement?.id === `reason-${reason}` && top > 0 && top < innerHeight;
      },
      {},
      reason,
    );

  await page.goto(operator.url);
  await page.waitForSelector('.attention a[href="/reasons/DeletionProtected"]');
  await page.click('.attention a[href="/reasons/DeletionProtected"]');
  await arrived("DeletionProtected");
  await page.click('.index a[href="/reasons/Conflict"]');
  await arrived("Conflict");
  await page.reload();
  await arrived("Conflict");

  await page.goto(`${operator.url}/databases/shop/orders`);
  await waitForText(page, "kubectl -n shop annotate edb orders", ".conditions");
  await browser.defaultBrowserContext().overridePermissions(operator.url, [
    "clipboard-read",
    "clipboard-write",
  ]);
  await page.click(".conditions .command .copy");
  await waitForText(page, "Copied", ".conditions .command .copy");
  assertEquals(
    await page.evaluate(() => navigator.clipboard.readText()),
    'kubectl -n shop annotate edb orders --overwrite db.my.domain/reconcile="$(date +%s)"',
  );
  await page.click('.conditions a[href="/reasons/DriftNotRepairable"]');
  await arrived("DriftNotRepairable");
  assertEquals(faults, []);
});

Deno.test("a page opened in the background asks for nothing until it is looked at, and rests again when it is left", async () => {
  await buildPage();
  await using operator = new FakeOperator();
  operator.rows = sampleFleet(20, Date.now());
  await using browser = await openBrowser();
  const { page, faults, requests } = await openPage(browser);
  await page.evaluateOnNewDocument(() => {
    let state = "hidden";
    Object.defineProperty(document, "visibilityState", { get: () => state });
    addEventListener("message", ({ data }) => {
      state = data;
      document.dispatchEvent(new Event("visibilitychange"));
    });
  });
  const turn = (state: string) => page.evaluate((state: string) => postMessage(state), state);
  const asked = () => requests.filter((url) => new URL(url).pathname.startsWith("/api/"));
  await page.goto(operator.url);
  await waitForText(page, "Waiting for the operator");
  assertEquals([asked(), operator.clients], [[], 0]);
  await turn("visible");
  await waitForText(page, "20 databases");
  await eventually("the stream", () => operator.clients === 1, 10_000, 20);
  assert(asked().some((url) => url.endsWith("/api/orphans")));
  await turn("hidden");
  await eventually("no stream", () => operator.clients === 0, 10_000, 20);
  assertEquals(faults, []);
});
