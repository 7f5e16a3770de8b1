/**
 * Writes the pages of the documentation that are made from the code. With `--check` it writes nothing and ends with 1
 * when one differs.
 *
 * @module
 */
import { PAGES } from "./pages/mod.ts";

const check = Deno.args.includes("--check");
let stale = 0;
for (const { path, make } of PAGES) {
  const file = new URL(`../${path}`, import.meta.url);
  const text = await make();
  const before = await Deno.readTextFile(file).catch((error: unknown) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  });
  if (before === text) continue;
  stale++;
  if (check) {
    console.error(`${path} is not what the code says: run "deno task docs:write"`);
    continue;
  }
  await Deno.mkdir(new URL("./", file), { recursive: true });
  await Deno.writeTextFile(file, text);
  console.log(`Wrote ${path}`);
}
if (stale === 0) console.log(`${PAGES.length} pages are what the code says`);
Deno.exit(check && stale > 0 ? 1 : 0);
