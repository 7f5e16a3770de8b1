/**
 * The statechart as JSON: the stable export that other tools read.
 *
 * @module
 */
import type { AnyStateMachine } from "xstate";
import { toChart } from "./chart.ts";

/** Version of the export's structure; raised when a reader would have to change. */
export const CHART_FORMAT = 1;

/** `machine` as indented JSON: the {@linkcode Chart} with a `format` number; the same machine gives the same text. */
export function toJson(machine: AnyStateMachine): string {
  return `${JSON.stringify({ format: CHART_FORMAT, ...toChart(machine) }, null, 2)}\n`;
}
