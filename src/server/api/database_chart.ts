/**
 * The chart of the machine that runs, for whoever asks: elkjs is loaded by nobody who does not.
 *
 * @module
 */
import type { ChartAnswer } from "./types.ts";

/** Draws it, which takes a while each time. Rejects when it cannot be laid out. */
export async function databaseChart(): Promise<ChartAnswer> {
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
