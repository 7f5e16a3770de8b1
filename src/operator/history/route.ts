/**
 * Which way an actor went through its statechart, and how often each step of such ways was taken.
 *
 * A way is kept once for all actors that went it, so that to note one costs a look-up and no memory. There are as many as
 * the statechart has ways from one rest to the next, which are few.
 *
 * @module
 */
import { shared } from "./intern.ts";
import { MinuteCount } from "./minute.ts";

/** States on one way; what is longer goes round in circles, and is kept by its two ends alone. */
const MAX_STATES = 16;

/** One transition from state to state, counted. */
export class Edge extends MinuteCount {
  constructor(readonly from: string, readonly to: string) {
    super();
  }
}

/** A way through the statechart: the state it began in, those that were passed, and the last. */
export interface Route {
  /** Dotted paths, such as `Available.idle`; at least one. `""`: before the first state. */
  readonly states: readonly string[];
  /** The last of them. */
  readonly to: string;
}

interface Node extends Route {
  readonly edge: Edge | undefined;
  readonly next: Map<string, Node>;
}

/** All ways that were gone. */
export class Routes {
  readonly #roots = new Map<string, Node>();
  readonly #edges = new Map<string, Map<string, Edge>>();

  /** The way that has not left `state` yet. */
  from(state: string): Route {
    let node = this.#roots.get(state);
    if (node === undefined) {
      this.#roots.set(state, node = { states: [state], to: state, edge: undefined, next: new Map() });
    }
    return node;
  }

  /** `route` and one step more, which is counted. */
  step(route: Route, to: string, slot: number): Route {
    const node = route as Node;
    let next = node.next.get(to);
    if (next === undefined) {
      const long = node.states.length >= MAX_STATES;
      next = {
        states: long ? [node.states[0]!, to] : [...node.states, to],
        to,
        edge: this.#edge(node.to, to),
        next: new Map(),
      };
      // One that was cut begins anew, so that none grows for ever.
      if (!long) node.next.set(to, next);
    }
    next.edge?.count(slot);
    return next;
  }

  /** Every transition that was ever taken. */
  *edges(): Iterable<Edge> {
    for (const to of this.#edges.values()) yield* to.values();
  }

  #edge(from: string, to: string): Edge {
    let targets = this.#edges.get(from);
    if (targets === undefined) this.#edges.set(from, targets = new Map());
    let edge = targets.get(to);
    if (edge === undefined) targets.set(to, edge = new Edge(from, to));
    return edge;
  }
}

const inside = shared((top, leaf) => `${top}.${leaf}`);

/** `{ Available: "idle" }` → `Available.idle`; the text is made once for each state. */
export function pathOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  for (const top in value) {
    const leaf = (value as Readonly<Record<string, unknown>>)[top];
    return typeof leaf === "string" ? inside(top, leaf) : `${top}.${pathOf(leaf)}`;
  }
  return "";
}
