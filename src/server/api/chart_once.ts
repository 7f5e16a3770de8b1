/**
 * The chart's answer, made at the first request and kept: elkjs is loaded by nobody who does not ask for it.
 *
 * @module
 */
import type { ChartAnswer } from "./types.ts";

/** A function that gives the chart of the machine that runs; a failure is tried anew at the next request. */
export function chartOnce(): () => Promise<ChartAnswer> {
  let made: Promise<ChartAnswer> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

async function make(): Promise<ChartAnswer> {
  const [{ chartAnswer }, { databaseMachine }, { guardMeaning, stateMeaning, triggerMeaning }] = await Promise
    .all([
      import("./chart.ts"),
      import("../../statechart/machine.ts"),
      import("../../statechart/meanings.ts"),
    ]);
  return await chartAnswer(databaseMachine, {
    state: stateMeaning,
    guard: guardMeaning,
    trigger: triggerMeaning,
  });
}
