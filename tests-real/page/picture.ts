/**
 * `deno task docs:picture`: takes docs/page.png, the page as README.md shows it, from ten thousand samples.
 *
 * @module
 */
import { FakeOperator } from "../../tests/page/fake_operator.ts";
import { sampleFleet } from "../../tests/page/samples.ts";
import { buildPage } from "../../tools/page.ts";
import { openBrowser, openPage } from "./browser.ts";

await buildPage();
await using operator = new FakeOperator();
operator.rows = sampleFleet(10_000, Date.now());
await using browser = await openBrowser();
const { page } = await openPage(browser, { width: 1_400, height: 808 });
await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
await page.goto(`${operator.url}/chart`);
await page.waitForSelector("svg.all .card");
await page.screenshot({ path: new URL("../../docs/page.png", import.meta.url).pathname });
