/** The npm copy of `@std/async`, typed: used only where JSR cannot be reached (see ../std.ts). @module */
// @ts-types="./async.d.ts"
export { abortable, pooledMap } from "npm:deno-std@1.3.4/async/mod.js";
