/**
 * The statechart as a Mermaid `stateDiagram-v2` (https://mermaid.js.org/syntax/stateDiagram.html).
 *
 * @module
 */
import type { AnyStateMachine } from "xstate";
import type { Chart, ChartState, ChartTransition } from "./chart.ts";
import { flatten, toChart, transitionLabel } from "./chart.ts";

/** Words that Mermaid's grammar takes for itself. */
const RESERVED = new Set([
  "state",
  "note",
  "end",
  "as",
  "direction",
  "class",
  "classdef",
  "style",
  "default",
  "click",
]);

/** `machine` as Mermaid text. */
export function toMermaid(machine: AnyStateMachine): string {
  const chart = toChart(machine);
  const names = nameStates(chart);
  const lines = ["stateDiagram-v2", "  direction LR"];
  const { root } = chart;
  if (root.initial !== undefined) lines.push(`  [*] --> ${names.get(root.initial)}`);
  for (const state of root.states) writeState(state, names, lines, "  ");
  for (const [key, label] of edges(chart)) {
    const [source, target] = key;
    lines.push(`  ${names.get(source)} --> ${names.get(target)} : ${escape(label)}`);
  }
  for (const each of chart.transitions.filter(isFromRoot)) {
    for (
      const state of root.states.filter((state) =>
        state.kind !== "final" && state.path !== topOf(each.target)
      )
    ) {
      lines.push(
        `  ${names.get(state.path)} --> ${names.get(each.target)} : ${escape(transitionLabel(each))}`,
      );
    }
  }
  for (const state of root.states) {
    if (state.kind === "final") lines.push(`  ${names.get(state.path)} --> [*]`);
  }
  return `${lines.join("\n")}\n`;
}

function writeState(
  state: ChartState,
  names: ReadonlyMap<string, string>,
  lines: string[],
  indent: string,
): void {
  const name = names.get(state.path);
  lines.push(`${indent}state "${escape(state.key)}" as ${name}`);
  if (state.states.length === 0) {
    for (const actor of state.invokes) lines.push(`${indent}${name} : ${escape(`runs ${actor}`)}`);
    return;
  }
  lines.push(`${indent}state ${name} {`);
  const inner = `${indent}  `;
  if (state.kind !== "parallel" && state.initial !== undefined) {
    lines.push(`${inner}[*] --> ${names.get(state.initial)}`);
  }
  state.states.forEach((child, index) => {
    if (state.kind === "parallel" && index > 0) lines.push(`${inner}--`);
    writeState(child, names, lines, inner);
    if (child.kind === "final") lines.push(`${inner}${names.get(child.path)} --> [*]`);
  });
  lines.push(`${indent}}`);
}

/** Edges with their labels, those between the same two states as separate lines in their order. */
function edges(chart: Chart): [[string, string], string][] {
  return chart.transitions
    .filter((each): each is ChartTransition & { target: string } =>
      each.target !== undefined && each.source !== ""
    )
    .map((each) => [[each.source, each.target], transitionLabel(each)]);
}

/** A transition of the machine itself: Mermaid has no such arrow, so every top-level state gets it. */
function isFromRoot(each: ChartTransition): each is ChartTransition & { target: string } {
  return each.source === "" && each.target !== undefined;
}

function topOf(path: string): string {
  return path.split(".")[0] ?? path;
}

/** An identifier for each path: letters, digits and `_`, unique. */
function nameStates(chart: Chart): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const { path } of flatten(chart.root)) {
    let name = path.replace(/[^A-Za-z0-9]+/g, "_") || "machine";
    if (RESERVED.has(name.toLowerCase()) || /^\d/.test(name)) name = `s_${name}`;
    while (taken.has(name)) name += "_";
    taken.add(name);
    names.set(path, name);
  }
  return names;
}

/** Mermaid's entity codes for what its grammar would read as its own. */
function escape(text: string): string {
  return text.replace(
    /[#;:"<>{}%\n\r]/g,
    (char) => char === "\n" || char === "\r" ? " " : `#${char.charCodeAt(0)};`,
  );
}
