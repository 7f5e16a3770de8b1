/**
 * Script in whatever a resource or a cloud can say is text on the page: nothing runs, nothing is even tried, and a person can
 * read it.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Browser, Page } from "./vendor.ts";
import { FakeOperator } from "../../tests/page/fake_operator.ts";
import { sampleDetail } from "../../tests/page/sample_database.ts";
import { sampleOrphans, sampleRow, sampleSummary } from "../../tests/page/samples.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { buildPage } from "../../tools/page.ts";
import { openBrowser, openPage } from "./browser.ts";
import { openWorld, PATIENCE_MS } from "./world.ts";

/** Two ways to get a script into a page, each with a mark that says where it was put. */
const image = (mark: string) => `<img src=x onerror="ran='${mark}';alert(1)">`;
const script = (mark: string) => `"><script>ran='${mark}';alert(1)</script>`;

/** What a script would leave in the page's own world. */
interface Traces {
  ran?: string;
  reports?: string[];
}

/** A page, and what it was seen to do besides showing text. */
async function openTraced(browser: Browser) {
  const watched = await openPage(browser);
  const dialogs: string[] = [];
  watched.page.on("dialog", async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  await watched.page.evaluateOnNewDocument(() => {
    const reports: string[] = (globalThis as Traces).reports = [];
    addEventListener("securitypolicyviolation", (event) => {
      reports.push(`${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  const traces = () =>
    watched.page.evaluate(() => ({
      ran: (globalThis as Traces).ran ?? "nothing",
      reports: (globalThis as Traces).reports ?? ["the watch was not there"],
      elements: [...document.querySelectorAll("img[src=x], body script")].map((e) => e.outerHTML),
    }));
  return { ...watched, dialogs, traces };
}

const CLEAN = { ran: "nothing", reports: [], elements: [] };

/** What a person can read, every fold opened; white space made one. */
async function readable(page: Page): Promise<string> {
  return await page.evaluate(() => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    return document.body.innerText.replace(/\s+/g, " ");
  });
}

async function waitToRead(page: Page, texts: readonly string[]): Promise<void> {
  let missing: readonly string[] = texts;
  await eventually(
    "all of it can be read",
    async () => {
      const shown = await readable(page);
      missing = texts.filter((text) => !shown.includes(text));
      return missing.length === 0;
    },
    15_000,
    100,
  ).catch(async (cause) => {
    throw new Error(`Not to be read: ${missing.join(", ")}\nin: ${await readable(page)}`, { cause });
  });
}

Deno.test("script from the cloud and in annotations is text in every view of a running operator, as far as CRD and cloud let it in", async () => {
  await using world = await openWorld(2);
  await using browser = await openBrowser();
  const { page, dialogs, traces, faults } = await openTraced(browser);
  for (const field of ["engine", "version", "className", "providerId"]) {
    await assertRejects(
      () => world.patch("orders", { spec: { [field]: image(field) } }),
      Error,
      field,
    );
  }
  const id = async (name: string) => (await world.detail(name)).row.providerId ?? "";
  const [orders, catalogue] = [await id("orders"), await id("catalogue")];
  world.cloud.faults.add({
    verbs: ["modify"],
    fault: { answer: { status: 400, code: "InvalidParameter", message: script("refusal") } },
  });
  world.cloud.edit(orders, { engine: image("engine"), endpoint: script("endpoint") });
  world.cloud.edit(catalogue, { version: image("version") });
  for (const name of ["orders", "catalogue"]) {
    await world.patch(name, {
      metadata: {
        labels: { app: "x" },
        annotations: { "db.my.domain/reconcile": image("reconcile"), note: script("note") },
      },
    });
  }
  const told = async (name: string, mark: string) => JSON.stringify(await world.detail(name)).includes(mark);
  await eventually(
    "the operator has seen it",
    async () =>
      await told("orders", "ran='engine'") && await told("orders", "ran='endpoint'") &&
      await told("catalogue", "ran='version'") && await told("catalogue", "ran='refusal'"),
    PATIENCE_MS,
    200,
  );
  const looks: readonly (readonly [string, readonly string[]])[] = [
    ["/", [script("endpoint")]],
    [`/?q=${encodeURIComponent(image("query"))}`, ["No database matches"]],
    ["/chart", ["Available"]],
    ["/databases/default/orders", [image("engine"), script("endpoint")]],
    ["/databases/default/catalogue", [image("version"), script("refusal")]],
  ];
  for (const [path, texts] of looks) {
    await page.goto(world.url + path);
    await waitToRead(page, texts);
    assertEquals(await traces(), CLEAN, path);
  }
  assertEquals([dialogs, faults], [[], []]);
});

Deno.test("script in every text that the API has is text in every view; the browser would have told otherwise", async () => {
  await buildPage();
  const now = Date.now();
  await using operator = new FakeOperator();
  const row = sampleRow({
    engine: image("engine"),
    version: script("version"),
    className: image("className"),
    message: script("message"),
    endpoint: image("endpoint"),
    providerId: script("providerId"),
    reason: image("reason"),
    synced: { status: "False", reason: script("synced") },
    attention: true,
  });
  const detail = sampleDetail(row, now);
  operator.rows = [row];
  operator.orphans = sampleOrphans.map((orphan) => ({ ...orphan, providerId: image("orphan") }));
  operator.summary = () => {
    const summary = sampleSummary(operator.rows, now);
    const [account] = summary.accounts;
    assert(account);
    return {
      ...summary,
      accounts: [{
        ...account,
        class: image("account"),
        provider: script("provider"),
        identity: image("identity"),
      }],
    };
  };
  operator.details.set("shop/orders", {
    ...detail,
    fields: [{
      field: image("field"),
      wanted: script("wanted"),
      observed: image("observed"),
      verdict: "differs",
    }],
    conditions: detail.conditions.map((condition, n) => ({
      ...condition,
      reason: image(`reason${n}`),
      message: script(`message${n}`),
    })),
    policies: { driftPolicy: image("policy") },
    failures: [{
      effect: "modify",
      errorClass: image("class"),
      message: script("failure"),
      attempts: 2,
      tryAt: new Date(now + 60_000).toISOString(),
    }],
    history: {
      ...detail.history,
      entries: detail.history.entries.map((entry) => ({
        ...entry,
        event: image(`event${entry.n}`),
        cause: script(`cause${entry.n}`),
        calls: entry.calls.map((call) => ({
          ...call,
          verb: image("verb"),
          outcome: "ok",
          detail: script("detail"),
        })),
      })),
    },
  });
  await using browser = await openBrowser();
  const { page, dialogs, traces, faults } = await openTraced(browser);
  const looks: readonly (readonly [string, readonly string[]])[] = [
    ["/", [
      ...[image("engine"), script("version"), image("className"), script("message"), script("synced")],
      ...[image("account"), script("provider"), image("identity"), image("orphan")],
    ]],
    ["/chart", ["Available"]],
    ["/databases/shop/orders", [
      ...[image("endpoint"), script("providerId"), image("className")],
      ...[image("field"), script("wanted"), image("observed"), image("reason0"), script("message1")],
      ...[
        image("policy"),
        script("failure"),
        image("event1"),
        script("cause2"),
        image("verb"),
        script("detail"),
      ],
    ]],
  ];
  for (const [path, texts] of looks) {
    await page.goto(operator.url + path);
    await waitToRead(page, texts);
    // Through the history too: each step is told anew.
    if (path.startsWith("/databases/")) {
      // A key that comes before the page listens is lost.
      await eventually(
        "a step is shown",
        async () => {
          await page.keyboard.press("ArrowLeft");
          return await page.$(".step.here") !== null;
        },
        PATIENCE_MS,
        50,
      );
      for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowLeft");
    }
    assertEquals(await traces(), CLEAN, path);
  }
  assertEquals([dialogs, faults], [[], []]);
  // What is put in as markup is seen by the same watch, or all of the above would prove nothing.
  await page.evaluate((text) => document.body.insertAdjacentHTML("beforeend", text), image("control"));
  await eventually("a report", async () => (await traces()).reports.length > 0, 10_000, 50);
  assertEquals((await traces()).elements.length, 1);
});
