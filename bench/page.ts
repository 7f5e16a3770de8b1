/**
 * What the page costs a browser: first painting, scrolling, and a storm of changes, with many rows. Needs Chromium.
 *
 * `deno run -A bench/page.ts [rows]` prints the figures; times are of this run on this machine and are never asserted.
 *
 * @module
 */
import { FakeOperator } from "../tests/page/fake_operator.ts";
import { sampleFleet } from "../tests/page/samples.ts";
import { openBrowser, openPage, waitForText } from "../tests-real/page/browser.ts";
import { buildPage } from "../tools/page.ts";
import { say } from "../tools/say.ts";

/** What was seen. Times are in milliseconds; parts are of 1. */
export interface PageCost {
  readonly rows: number;
  /** From the navigation to the first contentful painting, and to the first row. */
  readonly firstPaintMs: number;
  readonly firstRowMs: number;
  /** Frames a second while scrolling through the whole list, and the longest frame. */
  readonly scrollFramesPerSecond: number;
  readonly longestFrameMs: number;
  /** Processor time of the page's thread for each of those frames, in which every row is another one. */
  readonly scrollCpuMsPerFrame: number;
  /** Processor time of the page's thread, as a part of the time: at rest, and under the storm. */
  readonly busyAtRest: number;
  readonly busyUnderStorm: number;
  readonly heapMb: number;
  /** The last change of the storm is shown. */
  readonly lastSeen: boolean;
  readonly faults: readonly string[];
}

/** What {@linkcode measurePage} takes. */
export interface PageLoad {
  readonly rows: number;
  readonly changesPerSecond: number;
  readonly seconds: number;
}

/** As often as the operator tells of rows, in milliseconds. */
const TELL_MS = 250;
const SCROLL_FRAMES = 180;

/** Measures the built page against a server that holds rows and changes them. */
export async function measurePage({ rows, changesPerSecond, seconds }: PageLoad): Promise<PageCost> {
  await using operator = new FakeOperator();
  operator.rows = sampleFleet(rows, Date.now());
  await using browser = await openBrowser();
  const { page, faults } = await openPage(browser);
  await page.goto(operator.url);
  await page.waitForSelector(".tbody [role=row]");
  const painted = await page.evaluate(() => ({
    first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
    row: performance.now(),
  }));
  const session = await page.createCDPSession();
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "ThreadTime")?.value ?? NaN;
  };
  const beforeScroll = await spent();
  const scrolled = await page.evaluate(async (frames: number) => {
    const times: number[] = [];
    const height = document.documentElement.scrollHeight - innerHeight;
    let last = performance.now();
    for (let i = 1; i <= frames; i++) {
      scrollTo(0, height * i / frames);
      await new Promise((done) => requestAnimationFrame(done));
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    scrollTo(0, 0);
    return { longest: Math.max(...times), sum: times.reduce((a, b) => a + b, 0) };
  }, SCROLL_FRAMES);
  const scrollCpu = await spent() - beforeScroll;
  const busy = async (work: () => Promise<void>) => {
    const [before, from] = [await spent(), performance.now()];
    await work();
    return (await spent() - before) / ((performance.now() - from) / 1_000);
  };
  const busyAtRest = await busy(() => new Promise((done) => setTimeout(done, seconds * 1_000)));
  const busyUnderStorm = await busy(() => storm(operator, changesPerSecond, seconds));
  const [last] = operator.rows;
  if (last) operator.change({ ...last, name: "zz-last-word", attention: true, namespace: "a" });
  const lastSeen = await waitForText(page, "zz-last-word").then(() => true, () => false);
  const { JSHeapUsedSize = 0 } = await page.metrics();
  return {
    rows,
    firstPaintMs: painted.first,
    firstRowMs: painted.row,
    scrollFramesPerSecond: SCROLL_FRAMES / scrolled.sum * 1_000,
    longestFrameMs: scrolled.longest,
    scrollCpuMsPerFrame: scrollCpu * 1_000 / SCROLL_FRAMES,
    busyAtRest,
    busyUnderStorm,
    heapMb: JSHeapUsedSize / 1e6,
    lastSeen,
    faults,
  };
}

/** Changes rows as fast as asked, told as often as the operator tells. */
async function storm(operator: FakeOperator, perSecond: number, seconds: number): Promise<void> {
  const each = Math.ceil(perSecond * TELL_MS / 1_000);
  const details = ["Available.idle", "Available.observe", "Drifted.modify", "Creating.waiting"];
  for (let round = 0; round < seconds * 1_000 / TELL_MS; round++) {
    const changed = Array.from({ length: each }, (_, index) => {
      const row = operator.rows[(round * each + index) * 7 % operator.rows.length];
      const detail = details[(round + index) % details.length] ?? "";
      return row && { ...row, detail, state: detail.split(".")[0] ?? "", message: `Round ${round}` };
    }).filter((row) => row !== undefined);
    operator.change(...changed);
    await new Promise((done) => setTimeout(done, TELL_MS));
  }
}

if (import.meta.main) {
  await buildPage();
  const rows = Number(Deno.args[0] ?? 10_000);
  const cost = await measurePage({ rows, changesPerSecond: 1_000, seconds: 10 });
  const text = JSON.stringify(cost, (_, v) => typeof v === "number" ? Math.round(v * 100) / 100 : v, 2);
  say(text);
}
