/**
 * The program: `start`, `demo`, `cloud` and `statechart`. See `--help`.
 *
 * @module
 */
import { run } from "./src/cli/run.ts";

if (import.meta.main) Deno.exit(await run(Deno.args));
