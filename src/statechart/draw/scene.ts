/**
 * What a drawing shows: the chart's states and transitions, brought into the fewest boxes and arrows that still say
 * everything.
 *
 * - Sibling states that come from and lead to the same states in the same way share one box, a row each.
 * - Transitions between the same two boxes share one arrow, a line for each guard.
 * - Where one state chooses among others outside its parent by one guard (`belongsTo(…)`), its box lists them and
 *   the arrows run between the outer boxes; there and back is one arrow with two heads.
 * - A transition of a compound state into its own inside starts at a pill that reads "any state" and says when.
 * - A transition that only acts is a line inside its state's box.
 *
 * @module
 */
import type { Chart, ChartState, ChartTransition, TriggerKind } from "./chart.ts";
import { bundleStates } from "./bundle.ts";
import { addLabel, type LabelLine, labelText, sameChoice, wrap } from "./label.ts";

/** One line of text in a box. */
export interface BoxLine {
  readonly role: "row" | "actor" | "action" | "body";
  readonly text: string;
  /** Soft text behind it. */
  readonly note?: string;
}

/** A box. */
export interface SceneNode {
  readonly id: string;
  readonly kind: "state" | "bundle" | "compound" | "final" | "initial" | "any";
  readonly title: string;
  /** Whether the title is also the name of the actor that the state invokes. */
  readonly invokesTitle: boolean;
  readonly lines: BoxLine[];
  /** What a pill stands for; empty for states. */
  readonly causes: readonly LabelLine[];
  /** Levels below the machine: 1 for a top-level state. */
  readonly depth: number;
  /** Number of its top-level state. */
  readonly family: number;
  readonly children: readonly SceneNode[];
}

/** An arrow between two boxes. */
export interface SceneArrow {
  readonly kind: TriggerKind | "initial";
  readonly source: string;
  readonly target: string;
  readonly lines: readonly LabelLine[];
  /** Leads there and back. */
  readonly both: boolean;
}

/** A drawing without places. */
export interface Scene {
  readonly nodes: readonly SceneNode[];
  readonly arrows: readonly SceneArrow[];
}

/** Lines inside a box are broken after this many characters. */
const LINE_CHARS = 38;

/** An arrow that stands for several kinds takes the colour of the first of these. */
const PRECEDENCE: readonly TriggerKind[] = ["done", "event", "always", "after", "error", "snapshot"];

/** The scene of `chart`. */
export function toScene(chart: Chart): Scene {
  const members = bundleStates(chart);
  const nodeOf = new Map<string, string>();
  for (const [id, states] of members) for (const state of states) nodeOf.set(state.path, id);
  const boxOf = (path: string) => nodeOf.get(path) ?? path;

  const arrows = new Map<string, SceneArrow>();
  const choices = new Map<string, BoxLine[]>();
  const chosen = liftChoices(chart, boxOf, arrows, choices);
  for (const each of chart.transitions) {
    if (each.target === undefined || chosen.has(each)) continue;
    const target = boxOf(each.target);
    const source = isInside(each.target, each.source) ? anyId(each.source, target) : boxOf(each.source);
    const key = `${source}\n${target}`;
    const arrow = arrows.get(key) ?? { kind: each.trigger.kind, source, target, lines: [], both: false };
    arrows.set(key, {
      ...arrow,
      kind: first(arrow.kind, each.trigger.kind),
      lines: addLabel(arrow.lines, each),
    });
  }
  const context: Context = { chart, members, nodeOf, arrows, choices, initials: [] };
  const nodes = [...machineLines(chart), ...childNodes(context, chart.root, 1)];
  return { nodes, arrows: [...context.initials, ...joinBothWays([...arrows.values()])] };
}

/** What the machine itself does without leaving its state: a pill without an arrow. */
function machineLines(chart: Chart): SceneNode[] {
  const lines = stateLines(chart, { ...chart.root, description: "" }, 0, false);
  if (lines.length === 0) return [];
  const causes = lines.map(({ text }): LabelLine => ({ causes: [{ kind: "event", text }], guard: "" }));
  return [{
    id: anyId("", ""),
    kind: "any",
    title: "any state",
    invokesTitle: false,
    lines: [],
    causes,
    depth: 1,
    family: -1,
    children: [],
  }];
}

interface Context {
  readonly chart: Chart;
  readonly members: ReadonlyMap<string, readonly ChartState[]>;
  readonly nodeOf: ReadonlyMap<string, string>;
  readonly arrows: ReadonlyMap<string, SceneArrow>;
  readonly choices: ReadonlyMap<string, BoxLine[]>;
  readonly initials: SceneArrow[];
}

/** Choices among states outside the chooser's parent: a list in its box, arrows between the outer boxes. */
function liftChoices(
  chart: Chart,
  boxOf: (path: string) => string,
  arrows: Map<string, SceneArrow>,
  choices: Map<string, BoxLine[]>,
): ReadonlySet<ChartTransition> {
  const groups = new Map<string, ChartTransition[]>();
  for (const each of chart.transitions) {
    const choice = sameChoice(each);
    if (choice === undefined || each.target === undefined || isInside(each.target, parentOf(each.source))) {
      continue;
    }
    const key = `${each.source}\n${choice}`;
    groups.set(key, [...groups.get(key) ?? [], each]);
  }
  const lifted = new Set<ChartTransition>();
  for (const [key, group] of groups) {
    const [source = "", choice = ""] = key.split("\n");
    if (group.length < 2) continue;
    const text = `${choice} → ${group.map((each) => keyOf(each.target ?? "")).join(", ")}`;
    const lines = wrap(text, LINE_CHARS).map((line): BoxLine => ({ role: "action", text: line }));
    choices.set(boxOf(source), [...choices.get(boxOf(source)) ?? [], ...lines]);
    for (const each of group) {
      lifted.add(each);
      const target = boxOf(each.target ?? "");
      const outer = outermost(source, target);
      arrows.set(`${outer}\n${target}`, {
        kind: each.trigger.kind,
        source: outer,
        target,
        lines: [],
        both: false,
      });
    }
  }
  return lifted;
}

function joinBothWays(arrows: readonly SceneArrow[]): SceneArrow[] {
  const bare = new Map(
    arrows.filter((each) => each.lines.length === 0).map((each) => [`${each.source}\n${each.target}`, each]),
  );
  return arrows.flatMap((each) => {
    if (each.lines.length > 0) return [each];
    const back = bare.get(`${each.target}\n${each.source}`);
    if (!back || back.kind !== each.kind) return [each];
    return arrows.indexOf(each) < arrows.indexOf(back) ? [{ ...each, both: true }] : [];
  });
}

function childNodes(context: Context, parent: ChartState, depth: number, family = -1): SceneNode[] {
  const { arrows, members, nodeOf } = context;
  const nodes: SceneNode[] = [];
  const bare = { title: "", invokesTitle: false, lines: [], causes: [], depth, family, children: [] };
  if (parent.initial !== undefined) {
    const id = `\u0001initial ${parent.path}`;
    nodes.push({ ...bare, id, kind: "initial" });
    const target = nodeOf.get(parent.initial) ?? parent.initial;
    context.initials.push({ kind: "initial", source: id, target, lines: [], both: false });
  }
  for (const arrow of arrows.values()) {
    if (arrow.source !== anyId(parent.path, arrow.target)) continue;
    const title = parent.path === "" ? "any state" : `anywhere in ${parent.key}`;
    nodes.push({ ...bare, id: arrow.source, kind: "any", title, causes: arrow.lines });
  }
  parent.states.forEach((state, index) => {
    const own = family < 0 ? index : family;
    const bundle = nodeOf.get(state.path);
    if (bundle !== undefined) {
      const states = members.get(bundle) ?? [];
      if (states[0]?.path === state.path) nodes.push(bundleNode(context, bundle, states, depth, own));
      return;
    }
    const invokesTitle = state.invokes.length === 1 && state.invokes[0] === state.key;
    nodes.push({
      ...bare,
      id: state.path,
      kind: state.kind === "final" ? "final" : state.states.length > 0 ? "compound" : "state",
      title: state.key,
      invokesTitle,
      lines: [
        ...stateLines(context.chart, state, depth, invokesTitle),
        ...context.choices.get(state.path) ?? [],
      ],
      family: own,
      children: childNodes(context, state, depth + 1, own),
    });
  });
  return nodes;
}

function bundleNode(
  context: Context,
  id: string,
  states: readonly ChartState[],
  depth: number,
  family: number,
): SceneNode {
  const common = (tag: string) => states.every((state) => state.tags.includes(tag));
  const rows = states.map((state): BoxLine => {
    const actors = state.invokes.filter((actor) => actor !== state.key);
    const notes = [...actors.map((actor) => `▸ ${actor}`), ...state.tags.filter((tag) => !common(tag))];
    return {
      role: "row",
      text: state.key,
      ...(notes.length > 0 && { note: notes.join(", ") }),
    };
  });
  const [one] = states;
  const lines = one
    ? stateLines(context.chart, one, depth, true).filter((line) => line.role === "action")
    : [];
  const invokesTitle = states.every((state) => state.invokes.length === 1);
  return {
    id,
    kind: "bundle",
    title: "",
    invokesTitle,
    lines: [...rows, ...lines],
    causes: [],
    depth,
    family,
    children: [],
  };
}

/** What is written in a state's box below its name. */
function stateLines(chart: Chart, state: ChartState, depth: number, skipActor: boolean): BoxLine[] {
  const lines: BoxLine[] = [];
  if (state.description && (depth === 1 || state.states.length > 0)) {
    lines.push({ role: "body", text: state.description });
  }
  if (!skipActor) { for (const actor of state.invokes) lines.push({ role: "actor", text: actor }); }
  for (const action of state.entry) lines.push({ role: "action", text: `entry / ${action}` });
  for (const action of state.exit) lines.push({ role: "action", text: `exit / ${action}` });
  const own = chart.transitions.filter((each) => each.source === state.path && each.target === undefined);
  const groups = new Map<string, LabelLine[]>();
  for (const each of own) {
    const actions = each.actions.length === 0 ? "" : ` / ${each.actions.join(", ")}`;
    groups.set(actions, addLabel(groups.get(actions) ?? [], each, Infinity));
  }
  for (const [actions, labels] of groups) {
    for (const label of labels) {
      lines.push(
        ...wrap(labelText(label) + actions, LINE_CHARS).map((text): BoxLine => ({ role: "action", text })),
      );
    }
  }
  return lines;
}

function first(a: SceneArrow["kind"], b: TriggerKind): SceneArrow["kind"] {
  return a !== "initial" && PRECEDENCE.indexOf(b) < PRECEDENCE.indexOf(a) ? b : a;
}

/** The outermost ancestor of `source` (or itself) that does not hold `target`. */
function outermost(source: string, target: string): string {
  const parts = source.split(".");
  for (let length = 1; length < parts.length; length++) {
    const path = parts.slice(0, length).join(".");
    if (path !== target && !isInside(target, path)) return path;
  }
  return source;
}

function isInside(path: string, of: string): boolean {
  return of === "" || path.startsWith(`${of}.`);
}

function parentOf(path: string): string {
  return path.split(".").slice(0, -1).join(".");
}

function keyOf(path: string): string {
  return path.split(".").at(-1) ?? path;
}

/** Ids of what is no state begin with a character that no key holds by accident. */
function anyId(path: string, target: string): string {
  return `\u0001any ${path} ${target}`;
}
