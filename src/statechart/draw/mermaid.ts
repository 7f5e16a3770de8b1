/**
 * The statechart as a Mermaid `stateDiagram-v2` (https://mermaid.js.org/syntax/stateDiagram.html).
 *
 * @module
 */
import type { AnyStateMachine } from "xstate";
import { topOf } from "../path.ts";
import type { Chart, ChartState } from "./chart.ts";
import { flatten, toChart } from "./chart.ts";
import type { LabelLine } from "./label.ts";
import { addLabel, labelText } from "./label.ts";

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
  for (const [source, target, labels] of edges(chart)) {
    lines.push(
      `  ${names.get(source)} --> ${names.get(target)} : ${escape(labels.map(labelText).join(", "))}`,
    );
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

/**
 * The transitions between each two states together. One of the machine itself, for which Mermaid has no arrow, is
 * given to every top-level state that it leaves.
 */
function edges(chart: Chart): [source: string, target: string, labels: LabelLine[]][] {
  const found = new Map<string, [string, string, LabelLine[]]>();
  for (const each of chart.transitions) {
    const { source, target } = each;
    if (target === undefined) continue;
    const sources = source !== "" ? [source] : chart.root.states
      .filter((state) => state.kind !== "final" && state.path !== topOf(target)).map((state) => state.path);
    for (const from of sources) {
      const key = `${from}\n${target}`;
      found.set(key, [from, target, addLabel(found.get(key)?.[2] ?? [], each, Infinity)]);
    }
  }
  return [...found.values()];
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
