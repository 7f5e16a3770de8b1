/**
 * The two libraries that the page's tests in a browser stand on: who drives Chromium, and who looks for faults of accessibility.
 *
 * They are named here and nowhere else: whatever deno.json or deno.lock names is installed with the operator and its image,
 * which need neither. `tests-real/deno.lock` pins them; `deno task check`, `test:real` and `test:some` use it.
 *
 * @module
 */
// deno-lint-ignore-file no-import-prefix -- see above

export { type Browser, default as puppeteer, type Page } from "npm:puppeteer-core@^25.16.0";
export { default as axe } from "npm:axe-core@^4.14.1";
