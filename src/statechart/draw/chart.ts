/**
 * A statechart as data: what any XState machine is made of, by name, read from the machine itself.
 *
 * The drawings and the export are all made from this, so that none of them can show what another does not.
 *
 * @module
 */
import type { AnyStateMachine, AnyStateNode } from "xstate";

/** What makes a transition happen. */
export type TriggerKind = "event" | "after" | "always" | "done" | "error" | "snapshot";

/** The cause of a transition. */
export interface Trigger {
  readonly kind: TriggerKind;
  /** The event's type, the delay's name or milliseconds, the invoked actor's name, or empty. */
  readonly name: string;
}

/** One transition. */
export interface ChartTransition {
  /** Path of the state that has it. */
  readonly source: string;
  /** Path of the state it leads to; absent: it stays and only acts. */
  readonly target?: string;
  readonly trigger: Trigger;
  /** The guard's name, with its parameters as `chose(create)`; combined ones as `a && !b`. */
  readonly guard?: string;
  readonly actions: readonly string[];
  readonly description?: string;
}

/** One state. */
export interface ChartState {
  /** Keys from the top, joined by dots; the machine itself is the empty path. */
  readonly path: string;
  readonly key: string;
  readonly kind: "atomic" | "compound" | "parallel" | "final" | "history";
  readonly description?: string;
  /** Path of the state entered first. */
  readonly initial?: string;
  readonly tags: readonly string[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  /** Actors that run while the state lasts. */
  readonly invokes: readonly string[];
  readonly states: readonly ChartState[];
}

/** One machine. */
export interface Chart {
  readonly id: string;
  readonly description?: string;
  /** The machine's own node; its children are the top-level states. */
  readonly root: ChartState;
  /** In the order of the states, and within a state in the order in which they are tried. */
  readonly transitions: readonly ChartTransition[];
  /** Names used anywhere, sorted. */
  readonly events: readonly string[];
  readonly guards: readonly string[];
  readonly actors: readonly string[];
  readonly actions: readonly string[];
  readonly delays: readonly string[];
}

/** Reads `machine` into a {@linkcode Chart}; the machine is neither started nor changed. */
export function toChart(machine: AnyStateMachine): Chart {
  const transitions: ChartTransition[] = [];
  const guards: string[] = [];
  const root = readState(machine.root, transitions, guards);
  const states = flatten(root);
  const named = (kind: TriggerKind) =>
    transitions.filter((each) => each.trigger.kind === kind).map((each) => each.trigger.name);
  return {
    id: machine.id,
    ...optional("description", machine.root.description),
    root,
    transitions,
    events: sorted(named("event")),
    guards: sorted(guards),
    actors: sorted(states.flatMap((state) => state.invokes)),
    actions: sorted([
      ...transitions.flatMap((each) => each.actions),
      ...states.flatMap((state) => [...state.entry, ...state.exit]),
    ]),
    delays: sorted(named("after")),
  };
}

/** `root` and all states below it, each before its children. */
export function flatten(root: ChartState): ChartState[] {
  return [root, ...root.states.flatMap(flatten)];
}

function readState(node: AnyStateNode, transitions: ChartTransition[], guards: string[]): ChartState {
  const invokes = node.invoke.map(({ id, src }) => ({
    id,
    name: typeof src === "string" && !src.startsWith("xstate.invoke.") ? src : "inline",
  }));
  const source = pathOf(node);
  const all = [...node.always ?? [], ...[...node.transitions.values()].flat()];
  for (const each of all) {
    guards.push(...guardNames(each.guard));
    const targets: readonly (AnyStateNode | undefined)[] = each.target?.length ? each.target : [undefined];
    for (const target of targets) {
      transitions.push({
        source,
        ...optional("target", target && pathOf(target)),
        trigger: readTrigger(each.eventType, node.id, invokes),
        ...optional("guard", each.guard === undefined ? undefined : guardText(each.guard)),
        actions: actionNames(each.actions),
        ...optional("description", each.description),
      });
    }
  }
  const [initial] = node.type === "compound" ? node.initial?.target ?? [] : [];
  return {
    path: source,
    key: node.key,
    kind: node.type,
    ...optional("description", node.description),
    ...optional("initial", initial && pathOf(initial)),
    tags: [...node.tags],
    entry: actionNames(node.entry),
    exit: actionNames(node.exit),
    invokes: invokes.map(({ name }) => name),
    states: Object.values(node.states).map((child) => readState(child, transitions, guards)),
  };
}

function pathOf(node: AnyStateNode): string {
  return node.path.join(".");
}

/** XState names its own events; back from those names to what was written. */
function readTrigger(
  type: string,
  nodeId: string,
  invokes: readonly { id: string; name: string }[],
): Trigger {
  if (type === "") return { kind: "always", name: "" };
  const rest = (prefix: string) => type.startsWith(prefix) ? type.slice(prefix.length) : undefined;
  const after = rest("xstate.after.");
  if (after !== undefined) return { kind: "after", name: delayName(after.slice(0, -nodeId.length - 1)) };
  if (rest("xstate.done.state.") !== undefined) return { kind: "done", name: "" };
  for (const kind of ["done", "error"] as const) {
    const id = rest(`xstate.${kind}.actor.`);
    if (id !== undefined) return { kind, name: invokes.find((each) => each.id === id)?.name ?? id };
  }
  const id = rest("xstate.snapshot.");
  if (id !== undefined) return { kind: "snapshot", name: invokes.find((each) => each.id === id)?.name ?? id };
  return { kind: "event", name: type === "*" ? "any event" : type };
}

/** `1500` → `1500 ms`; names stay. */
function delayName(text: string): string {
  return /^\d+$/.test(text) ? `${text} ms` : text;
}

/** A guard is a name, an object with one, or a function: `and`, `or` and `not` carry their parts. */
function guardText(guard: unknown, nested = false): string {
  if (typeof guard === "string") return guard;
  if (typeof guard !== "object" && typeof guard !== "function" || guard === null) return "inline";
  const { guards, type, name } = guard as { guards?: unknown[]; type?: unknown; name?: string };
  if (Array.isArray(guards)) {
    if (name === "not") return `!${guardText(guards[0], true)}`;
    const text = guards.map((each) => guardText(each, true)).join(name === "or" ? " || " : " && ");
    return nested && guards.length > 1 ? `(${text})` : text;
  }
  if (typeof type === "string") return type + parameterText((guard as { params?: unknown }).params);
  return name && name !== "guard" ? name : "inline";
}

/** `(create)` for `{ step: "create" }`; parameters that are no plain values are left out. */
function parameterText(params: unknown): string {
  if (typeof params !== "object" || params === null) return "";
  const plain = Object.values(params).filter((value) =>
    ["string", "number", "boolean"].includes(typeof value)
  );
  return plain.length === 0 ? "" : `(${plain.join(", ")})`;
}

function guardNames(guard: unknown): string[] {
  if (guard === undefined) return [];
  const { guards } = guard as { guards?: unknown[] };
  if (Array.isArray(guards)) return guards.flatMap(guardNames);
  return [guardText(typeof guard === "object" ? { ...guard, params: undefined } : guard)];
}

/** Names of actions; the timers that XState adds for `after` and its raised events are left out. */
function actionNames(actions: readonly unknown[]): string[] {
  return actions.flatMap((action) => {
    if (typeof action === "string") return [action];
    const { type, name } = (action ?? {}) as { type?: unknown; name?: string };
    const own = typeof type === "string" ? type : name || "inline";
    if (own === "xstate.raise" || own === "xstate.cancel") return [];
    return [own.replace(/^xstate\./, "")];
  });
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : { [key]: value } as { [P in K]: V };
}
