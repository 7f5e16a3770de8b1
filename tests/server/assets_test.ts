/**
 * The files of the built page: what is served of a folder, with which headers, and that nothing else ever is.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ASSETS_CSP } from "../../src/server/assets.ts";
import { viewOf } from "../support/fleet_view.ts";
import { rawGet, whileServed } from "../support/served.ts";

const HASHED = "assets/page.0a1b2c3d4e5f.js";

async function withPage(
  files: Readonly<Record<string, string>>,
  work: (url: string, folder: string) => Promise<void>,
): Promise<void> {
  const outer = await Deno.makeTempDir();
  const folder = `${outer}/page`;
  await Deno.writeTextFile(`${outer}/secret.js`, "outside");
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${path}`, text);
  }
  try {
    await whileServed({ view: viewOf(() => []), pageFolder: folder }, (url) => work(url, folder));
  } finally {
    await Deno.remove(outer, { recursive: true });
  }
}

const PAGE = { "index.html": "<!doctype html><p>built", [HASHED]: "x".repeat(5_000), "icon.svg": "<svg/>" };

Deno.test("the built page is served at its own paths, under a policy that lets nothing inline run", () =>
  withPage(PAGE, async (url) => {
    for (
      const path of [
        "/",
        "/chart",
        "/reasons",
        "/reasons/Conflict",
        "/databases/default/orders",
        "/?state=Drifted",
      ]
    ) {
      const answer = await fetch(url + path);
      assertStringIncludes(await answer.text(), "built", path);
      assertEquals(answer.headers.get("content-security-policy"), ASSETS_CSP);
      assertEquals(answer.headers.get("x-content-type-options"), "nosniff");
      assertEquals(answer.headers.get("cache-control"), "no-cache");
      assertEquals(answer.headers.get("content-type"), "text/html; charset=utf-8");
    }
    assert(!/unsafe|data:|\*|http/.test(ASSETS_CSP));
    const plain = await (await fetch(`${url}/plain`)).text();
    assertStringIncludes(plain, "External databases");
  }));

Deno.test("a file with a hash in its name is kept for ever and sent packed; others are asked for anew", () =>
  withPage(PAGE, async (url) => {
    const hashed = await fetch(`${url}/${HASHED}`, { headers: { "accept-encoding": "gzip" } });
    assertEquals((await hashed.text()).length, 5_000);
    assertEquals(hashed.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assertEquals(hashed.headers.get("content-type"), "text/javascript; charset=utf-8");
    assertEquals(hashed.headers.get("vary"), "accept-encoding");
    const raw = await fetch(`${url}/${HASHED}`, { headers: { "accept-encoding": "identity" } });
    assertEquals([raw.headers.get("content-encoding"), (await raw.text()).length], [null, 5_000]);
    const icon = await fetch(`${url}/icon.svg`);
    assertEquals([await icon.text(), icon.headers.get("cache-control")], ["<svg/>", "no-cache"]);
  }));

Deno.test("nothing outside the folder is served, however its path is written", () =>
  withPage(PAGE, async (url, folder) => {
    await Deno.symlink(`${folder}/../secret.js`, `${folder}/link.js`);
    for (
      const path of [
        "/../secret.js",
        "/..%2fsecret.js",
        "/%2e%2e/secret.js",
        "/assets/../../secret.js",
        "/assets/..%5c..%5csecret.js",
        "//secret.js",
        "/link.js",
        "/assets",
        "/assets/",
        "/index.html%00.js",
        "/databases/a",
        "/databases/a/b/c",
      ]
    ) {
      const answer = await (await rawGet(url, path)).text();
      assert(!answer.includes("outside"), path);
      assert(/^HTTP\/1\.1 40[04] /.test(answer), `${path}: ${answer.slice(0, 40)}`);
    }
  }));

Deno.test("where no page was built the plain table stands in for it, and its links lead back to it", () =>
  withPage({}, async (url) => {
    const answer = await (await fetch(url)).text();
    assertStringIncludes(answer, "Nothing to show");
    assertStringIncludes(answer, 'href="/plain?');
    assertEquals((await fetch(`${url}/chart`)).status, 404);
  }));
