/**
 * Prometheus' promtool, as `tools/promtool` finds it.
 *
 * @module
 */
import { must, type Output, run } from "./process.ts";

/** Runs promtool with `args`; a failure is in `code`, `stdout` and `stderr`. */
export async function promtool(args: readonly string[], stdin?: string): Promise<Output> {
  const find = new URL("../../tools/promtool", import.meta.url).pathname;
  const bin = (await must("bash", [find], { timeoutMs: 5 * 60_000 })).trim();
  return await run(bin, args, { timeoutMs: 5 * 60_000, ...(stdin === undefined ? {} : { stdin }) });
}
