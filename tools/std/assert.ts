/** The npm copy of `@std/assert`, typed: used only where JSR cannot be reached (see ../std.ts). @module */
// @ts-types="./assert.d.ts"
export {
  assert,
  assertEquals,
  assertExists,
  assertInstanceOf,
  assertMatch,
  assertNotEquals,
  assertNotMatch,
  assertObjectMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
  fail,
} from "npm:deno-std@1.3.4/assert/mod.js";
