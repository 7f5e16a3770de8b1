import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { buildPage } from "../../tools/page.ts";

/** What the whole page may weigh, compressed, in bytes. */
const LIMIT = 200_000;

Deno.test("the page builds from npm alone, stays small, and has nothing inline and nothing from elsewhere", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const target = new URL(`file://${folder}/page/`);
    const built = await buildPage(target);
    const total = built.reduce((sum, { gzipped }) => sum + gzipped, 0);
    assert(total < LIMIT, `${total} bytes compressed`);
    const html = await Deno.readTextFile(new URL("index.html", target));
    assertNotMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/i);
    const named = [...html.matchAll(/"\/(assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
    assertEquals(named.length, 3);
    for (const path of named) {
      assertMatch(path, /\.[0-9a-f]{12}\.(js|css|svg)$/);
      const text = await Deno.readTextFile(new URL(path, target));
      // The namespaces of SVG and MathML are names, not addresses; nothing is loaded from them.
      const addresses = (text.match(/https?:\/\/[\w./-]*/g) ?? []).filter((each) =>
        !/^https?:\/\/www\.w3\.org\//.test(each)
      );
      assertEquals(addresses, [], path);
      assertNotMatch(text, /@import|\beval\(|new Function\(/);
    }
    const again = await buildPage(target);
    assertEquals(
      again.map(({ name }) => name),
      built.map(({ name }) => name),
      "the same sources give the same names",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
