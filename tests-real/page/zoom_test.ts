/** The drawings are looked at closer, and moved, by buttons, keys, wheel and pointer; what stands around them stays. */
import { assert, assertEquals } from "@std/assert";
import { FakeOperator } from "../../tests/page/fake_operator.ts";
import { sampleDetail } from "../../tests/page/sample_database.ts";
import { sampleFleet, sampleRow } from "../../tests/page/samples.ts";
import { buildPage } from "../../tools/page.ts";
import { inOrder } from "../support/steps.ts";
import { openBrowser, openPage, waitForText } from "./browser.ts";
import type { Page } from "./vendor.ts";

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

async function boxOf(page: Page, selector: string): Promise<Box> {
  return await page.$eval(selector, (element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height };
  });
}

function assertNear(value: number, wanted: number, by: number): void {
  assert(Math.abs(value - wanted) <= by, `${value} is not ${wanted}`);
}

/** Waits until the drawing is so many times as large as it was. */
async function waitForZoom(page: Page, words: string): Promise<void> {
  await waitForText(page, words, ".zooms button:nth-child(2)");
}

Deno.test("the statechart is zoomed and moved by buttons, keys, wheel and pointer, and nothing around it moves", async (t) => {
  await buildPage();
  await using operator = new FakeOperator();
  operator.rows = sampleFleet(400, Date.now());
  await using browser = await openBrowser();
  const { page, faults } = await openPage(browser);
  const step = inOrder(t);
  await page.goto(`${operator.url}/chart`);
  await page.waitForSelector("svg.all .card");
  const around = [".frame", ".near-words", ".zooms"];
  const boxes = () => Promise.all(around.map((selector) => boxOf(page, selector)));
  const before = await boxes();
  const drawing = () => boxOf(page, "svg.all");
  const whole = await drawing();
  const scroll = () => page.$eval(".frame", ({ scrollLeft, scrollTop }) => ({ x: scrollLeft, y: scrollTop }));

  await step("a button makes it larger about its middle", async () => {
    await page.click(".zooms button:nth-child(3)");
    await waitForZoom(page, "125 %");
    const larger = await drawing();
    assertNear(larger.width, whole.width * 1.25, 1);
    assertNear(larger.x + larger.width / 2, whole.x + whole.width / 2, 2);
    assertEquals(await boxes(), before);
  });
  await step("and can be gone on with by the keyboard alone: +, -, 0, and the arrows move it", async () => {
    await page.focus(".zooms button:nth-child(1)");
    await page.keyboard.press("+");
    await waitForZoom(page, "156 %");
    await page.keyboard.press("-");
    await waitForZoom(page, "125 %");
    await page.focus(".frame");
    const from = await scroll();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((x: number) => document.querySelector(".frame")!.scrollLeft > x, {}, from.x);
    await page.keyboard.press("0");
    await waitForZoom(page, "100 %");
    assertEquals(await drawing(), whole);
    assertEquals(await boxes(), before);
  });
  await step("at its own size it is no stop of the Tab key, and the wheel scrolls the page", async () => {
    assertEquals(await page.$(".frame[tabindex]"), null);
    await page.mouse.move(whole.x + 300, whole.y + 200);
    await page.mouse.wheel({ deltaY: 120 });
    await page.waitForFunction(() => scrollY > 0);
    await page.evaluate(() => scrollTo(0, 0));
    await waitForZoom(page, "100 %");
  });
  await step("Ctrl and the wheel zoom about the pointer, and the page stays as large as it was", async () => {
    const card = await boxOf(page, "svg.all .card.f2 .plate");
    const [x, y] = [card.x + 10, card.y + 10];
    await page.mouse.move(x, y);
    await page.keyboard.down("Control");
    for (let i = 0; i < 4; i++) await page.mouse.wheel({ deltaY: -60 });
    await page.keyboard.up("Control");
    await page.waitForFunction(() => document.querySelector(".frame")?.classList.contains("closer"));
    await page.waitForFunction(
      (width: number) => document.querySelector("svg.all")!.getBoundingClientRect().width > width * 2,
      {},
      whole.width,
    );
    const now = await boxOf(page, "svg.all .card.f2 .plate");
    const scale = now.width / card.width;
    assertNear((x - now.x) / scale, 10, 1.5);
    assertNear((y - now.y) / scale, 10, 1.5);
    assertEquals(await page.evaluate(() => visualViewport?.scale), 1);
    assertEquals(await boxes(), before);
  });
  await step("it is moved by dragging, which follows no link; a click does", async () => {
    const frame = await boxOf(page, ".frame");
    await page.$eval(".frame", (element) => element.scrollTo(0, 0));
    const [x, y] = [frame.x + frame.width * 0.4, frame.y + frame.height * 0.6];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x - 150, y - 90, { steps: 5 });
    await page.mouse.up();
    assertEquals(await scroll(), { x: 150, y: 90 });
    // From the middle of a link to another place on it.
    await page.$eval(
      "svg.all .card.f0 a",
      (link) => link.scrollIntoView({ block: "center", inline: "center" }),
    );
    const card = await boxOf(page, "svg.all .card.f0 .plate");
    await page.mouse.move(card.x + card.width / 2, card.y + 30);
    await page.mouse.down();
    await page.mouse.move(card.x + card.width / 2 - 30, card.y + 25, { steps: 3 });
    await page.mouse.up();
    assertEquals(new URL(page.url()).pathname, "/chart");
    const moved = await boxOf(page, "svg.all .card.f0 .plate");
    await page.mouse.click(moved.x + moved.width / 2, moved.y + 30);
    await page.waitForFunction(() => location.search === "?state=Pending");
  });
  assertEquals(faults, []);
});

Deno.test("the chart of one database keeps its zoom while one walks; the arrow keys move what scrolls, and walk elsewhere", async () => {
  await buildPage();
  await using operator = new FakeOperator();
  const now = Date.now();
  const row = sampleRow({ uid: "orders", state: "Drifted", detail: "Drifted.modify" });
  operator.rows = [row];
  operator.details.set("shop/orders", sampleDetail(row, now));
  await using browser = await openBrowser();
  const { page, faults } = await openPage(browser, { width: 390, height: 844 });
  await page.goto(`${operator.url}/databases/shop/orders`);
  await page.waitForSelector("svg.one .card.lit");
  for (const percent of ["125 %", "156 %"]) {
    await page.click(".moment .zooms button:nth-child(3)");
    await waitForZoom(page, percent);
  }
  await page.focus(".moment .frame");
  const heading = () => page.$eval("#chart-heading", ({ textContent }) => textContent);
  const left = () => page.$eval(".moment .frame", ({ scrollLeft }) => scrollLeft);
  const from = await left();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(
    (x: number) => document.querySelector(".moment .frame")!.scrollLeft < x,
    {},
    from,
  );
  assertEquals(await heading(), "Now");
  await page.click("h1");
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.querySelector("#chart-heading")?.textContent === "Step 9");
  await waitForZoom(page, "156 %");
  // The inside of a state is wider than a phone: it can be made smaller, too.
  await page.click(".moment details summary");
  await page.waitForSelector(".inside svg");
  const inside = await boxOf(page, ".inside svg");
  assert(inside.width > 390);
  await page.click(".inside .zooms button:nth-child(1)");
  await page.waitForFunction(
    (width: number) => document.querySelector(".inside svg")!.getBoundingClientRect().width < width * 0.9,
    {},
    inside.width,
  );
  assertEquals(faults, []);
});
