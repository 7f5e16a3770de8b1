/**
 * Chromium, driven: each page that a test opens is watched for what it should never do.
 *
 * @module
 */
import { type Browser, type Page, puppeteer } from "./vendor.ts";

/** Where Debian's package puts it; `CHROMIUM` names another. */
const EXECUTABLE = Deno.env.get("CHROMIUM") ?? "/usr/bin/chromium";

/** What a page may look like. */
export interface Look {
  readonly scheme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
}

/** A page, and all that went wrong in it. */
export interface Watched {
  readonly page: Page;
  /** Errors, refusals of the content security policy, and requests that left loopback. */
  readonly faults: string[];
  /** Every address that was asked for. */
  readonly requests: string[];
}

/** The browser, without a window. */
export async function openBrowser(): Promise<Browser> {
  return await puppeteer.launch({
    executablePath: EXECUTABLE,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
  });
}

/** A new page of `browser`. */
export async function openPage(browser: Browser, look: Look = {}): Promise<Watched> {
  const page = await browser.newPage();
  const faults: string[] = [];
  const requests: string[] = [];
  page.on("pageerror", (error) => faults.push(`error: ${error}`));
  page.on("console", (message) => {
    // A stream that is cut while a page closes, or an operator that is away, is no fault of the page.
    if (message.type() === "error" && !/net::ERR_|Failed to load resource/.test(message.text())) {
      faults.push(`console: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    requests.push(request.url());
    const { protocol, hostname } = new URL(request.url());
    if (protocol !== "data:" && hostname !== "127.0.0.1") faults.push(`request: ${request.url()}`);
  });
  await page.setViewport({ width: look.width ?? 1_440, height: look.height ?? 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: look.scheme ?? "light" }]);
  return { page, faults, requests };
}

/** Text of the first element that `selector` selects, or nothing. */
export async function textOf(page: Page, selector: string): Promise<string> {
  return await page.$eval(selector, (element) => element.textContent ?? "").catch(() => "");
}

/** Waits until the page holds `text`. */
export async function waitForText(page: Page, text: string, selector = "body"): Promise<void> {
  await page.waitForFunction(
    (selector: string, text: string) =>
      document.querySelector(selector)?.textContent?.includes(text) ?? false,
    { timeout: 30_000 },
    selector,
    text,
  );
}

/** Waits until the focus is in a row of the fleet's list, by its place. */
export async function waitForFocus(page: Page, row: number): Promise<void> {
  await page.waitForFunction(
    (row: string) => document.activeElement?.closest("[data-row]")?.getAttribute("data-row") === row,
    {},
    String(row),
  );
}
