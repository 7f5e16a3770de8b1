/**
 * `statechart`: the chart of the machine that runs, as text.
 *
 * @module
 */
import { databaseMachine } from "../statechart/machine.ts";
import type { StatechartOptions } from "./statechart_options.ts";

/** The chart in the format asked for. */
export async function drawStatechart(options: StatechartOptions): Promise<string> {
  switch (options.format) {
    case "mermaid":
      return (await import("../statechart/draw/mermaid.ts")).toMermaid(databaseMachine);
    case "svg":
      return await (await import("../statechart/draw/svg.ts")).toSvg(databaseMachine);
    case "json":
      return (await import("../statechart/draw/json.ts")).toJson(databaseMachine);
  }
}
