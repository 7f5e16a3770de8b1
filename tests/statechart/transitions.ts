/**
 * The statechart's transitions, read from the machine's own definition, and those that an actor takes.
 *
 * @module
 */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition, InspectionEvent } from "xstate";

/** The nodes of a machine that have no children: where an actor can be. */
export function leavesOf(machine: AnyStateMachine): string[] {
  const leaves = (node: AnyStateNode): string[] => {
    const children = Object.values(node.states);
    return children.length === 0 ? [node.path.join(".")] : children.flatMap(leaves);
  };
  return leaves(machine.root);
}

/** Every transition of a machine by its name, in the order of the definition. */
export function transitionsOf(machine: AnyStateMachine): string[] {
  const of = (node: AnyStateNode): string[] => [
    ...[...node.transitions.values()].flat().map(nameOf),
    ...(node.always ?? []).map(nameOf),
    ...Object.values(node.states).flatMap(of),
  ];
  const names = of(machine.root);
  const twice = names.filter((n, i) => names.indexOf(n) !== i);
  if (twice.length > 0) throw new Error(`Two transitions have one name: ${twice.join(", ")}`);
  return names;
}

/** A transition as `source on event [guard] → target`: the guard tells the branches of one event apart. */
export function nameOf(transition: AnyTransitionDefinition): string {
  const { source, eventType, target, guard } = transition;
  const branches = eventType === "" ? source.always ?? [] : source.transitions.get(eventType) ?? [];
  const when = eventType === "" ? "" : ` on ${event(eventType)}`;
  const condition = guard === undefined ? branches.length > 1 ? " [else]" : "" : ` [${words(guard)}]`;
  const to = target === undefined ? "stays" : target.map((t) => t.path.join(".")).join(" and ");
  return `${source.path.join(".")}${when}${condition} → ${to}`;
}

function event(type: string): string {
  if (type.startsWith("xstate.done.actor.")) return "done";
  if (type.startsWith("xstate.error.actor.")) return "error";
  if (type.startsWith("xstate.after.")) return "after";
  return type;
}

function words(guard: NonNullable<AnyTransitionDefinition["guard"]>): string {
  if (typeof guard === "string") return guard;
  if (typeof guard === "function") return guard.name;
  const params: unknown = "params" in guard ? guard.params : undefined;
  const values = typeof params === "object" && params !== null ? Object.values(params) : [];
  return ["type" in guard ? guard.type : "", ...values].join(" ");
}

/** Notes the transitions and the leaves that inspected actors take. */
export class Taken {
  readonly transitions = new Map<string, number>();
  readonly #names = new WeakMap<AnyTransitionDefinition, string>();

  /** An inspector of actors. */
  readonly inspect = (inspection: InspectionEvent): void => {
    if (inspection.type !== "@xstate.microstep") return;
    for (const transition of inspection._transitions) {
      if (transition.source.machine.id !== "database" || transition.source.path.length === 0) continue;
      this.add(this.#nameOf(transition));
    }
  };

  add(name: string): void {
    this.transitions.set(name, (this.transitions.get(name) ?? 0) + 1);
  }

  #nameOf(transition: AnyTransitionDefinition): string {
    let name = this.#names.get(transition);
    if (name === undefined) this.#names.set(transition, name = nameOf(transition));
    return name;
  }
}
