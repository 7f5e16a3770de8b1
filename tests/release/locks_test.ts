/** What is installed with the operator holds nothing that is for tests in a browser alone, and those run on what is released. */
import { assert, assertEquals } from "@std/assert";
import { parseLock } from "../../tools/release/lock.ts";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

Deno.test("tests-real/deno.lock pins all that deno.lock does, in the same versions, and the browser's libraries besides", async () => {
  const [main, tests] = [parseLock(await read("deno.lock")), parseLock(await read("tests-real/deno.lock"))];
  const digests = new Map(tests.packages.map(({ key, integrity }) => [key, integrity]));
  assertEquals(
    main.packages.filter(({ key, integrity }) => digests.get(key) !== integrity).map(({ key }) => key),
    [],
    "after a change of deno.json run `deno task check`, which brings tests-real/deno.lock up to it",
  );
  const names = (packages: typeof main.packages) => new Set(packages.map(({ name }) => name));
  for (const name of ["puppeteer-core", "axe-core"]) {
    assert(names(tests.packages).has(name), name);
    assert(!names(main.packages).has(name), `${name} is in deno.lock, and so in every image`);
  }
});
