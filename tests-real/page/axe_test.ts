/** axe-core finds no serious fault in any view, in both themes, wide and narrow; a picture of each is left in a temporary folder. */
import { assert, assertEquals } from "@std/assert";
import { axe, type Browser, type Page } from "./vendor.ts";
import { FakeOperator } from "../../tests/page/fake_operator.ts";
import { sampleDetail } from "../../tests/page/sample_database.ts";
import { sampleFleet, sampleRow } from "../../tests/page/samples.ts";
import { buildPage } from "../../tools/page.ts";
import { openBrowser, openPage, waitForText } from "./browser.ts";

interface Fault {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

async function faultsOf(page: Page): Promise<string[]> {
  // Evaluated by the debugger's protocol, which the content security policy does not bind.
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Fault[] }> } };
    return (await axe.run()).violations;
  });
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map((
    { id, nodes },
  ) =>
    `${id}: ${
      nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`).join(
        "\n",
      )
    }`
  );
}

/** Every view, in the state in which it shows most; those that say little are looked at once. */
const VIEWS: readonly {
  readonly name: string;
  readonly path: string;
  readonly once?: boolean;
  readonly ready: (page: Page) => Promise<unknown>;
}[] = [
  {
    name: "fleet",
    path: "/",
    ready: async (page) => {
      await waitForText(page, "need a person");
      await page.click(".attention details summary");
    },
  },
  {
    name: "chart",
    path: "/chart",
    ready: async (page) => {
      await page.waitForSelector("svg.all .card");
      await page.click(".tab.f3");
      await page.waitForSelector(".inside svg");
      for (const summary of await page.$$("details summary")) await summary.click();
      await page.evaluate(() => scrollTo(0, 0));
    },
  },
  {
    name: "database",
    path: "/databases/shop/orders",
    ready: async (page) => {
      await page.waitForSelector("svg.one .card.lit");
      await page.click(".moment details summary");
      for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowLeft");
      await page.waitForSelector(".step.here");
      await page.evaluate(() => scrollTo(0, 0));
    },
  },
  {
    name: "reasons",
    path: "/reasons/Conflict",
    ready: (page) => page.waitForSelector(".entry.here"),
  },
  {
    name: "zoomed",
    path: "/chart",
    ready: async (page) => {
      await page.waitForSelector("svg.all .card");
      for (let i = 0; i < 3; i++) await page.click(".zooms button:nth-child(3)");
    },
  },
  {
    name: "stuck",
    path: "/databases/shop/stuck",
    ready: async (page) => {
      await page.waitForSelector("svg.one .card.lit");
      await page.waitForSelector(".conditions details[open]");
    },
  },
  {
    name: "filtered",
    path: "/?detail=Drifted.modify&q=o",
    once: true,
    ready: (page) => waitForText(page, "match"),
  },
  {
    name: "nothing",
    path: "/?q=nosuch",
    once: true,
    ready: (page) => waitForText(page, "No database matches"),
  },
  {
    name: "missing",
    path: "/databases/shop/none",
    once: true,
    ready: (page) => waitForText(page, "no such resource"),
  },
  { name: "nowhere", path: "/nowhere", once: true, ready: (page) => waitForText(page, "Nothing is here") },
];

const LOOKS = [
  { scheme: "light", width: 1_440, height: 900 },
  { scheme: "dark", width: 1_440, height: 900 },
  { scheme: "light", width: 390, height: 844 },
  { scheme: "dark", width: 390, height: 844 },
  { scheme: "light", width: 1_920, height: 1_080 },
] as const;

async function inspect(browser: Browser, url: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const look of LOOKS) {
    const { page, faults } = await openPage(browser, look);
    for (const { name, path, once, ready } of VIEWS) {
      if (once && look !== LOOKS[0]) continue;
      await page.goto(url + path);
      await ready(page);
      const where = `${name}, ${look.scheme}, ${look.width} wide`;
      found.push(...(await faultsOf(page)).map((fault) => `${where}: ${fault}`));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) found.push(`${where}: ${wide} pixels wider than the screen`);
      await page.screenshot({ path: `${folder}/${name}-${look.scheme}-${look.width}.png` });
    }
    found.push(...faults);
    await page.close();
  }
  return found;
}

Deno.test("no view has a serious fault of accessibility or is wider than the screen, light or dark, phone to wide screen", async () => {
  await buildPage();
  const folder = Deno.env.get("PAGE_PICTURES") ??
    await Deno.makeTempDir({ prefix: "externaldatabase-pictures-" });
  await using operator = new FakeOperator();
  const now = Date.now();
  const row = sampleRow({ uid: "orders", state: "Drifted", detail: "Drifted.modify" });
  operator.rows = [...sampleFleet(4_000, now), row];
  const detail = sampleDetail(row, now);
  operator.details.set("shop/orders", detail);
  operator.details.set("shop/stuck", {
    ...detail,
    conditions: detail.conditions.map((each) => ({ ...each, reason: "SecretConflict" })),
  });
  await using browser = await openBrowser();
  try {
    assertEquals(await inspect(browser, operator.url, folder), []);
    const pictures = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".png"));
    assert(pictures.length >= 3 * LOOKS.length);
  } finally {
    if (Deno.env.get("PAGE_PICTURES") === undefined) await Deno.remove(folder, { recursive: true });
  }
});
