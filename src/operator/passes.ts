/**
 * One span for each pass of an actor: from the first effect after a rest to the next rest. Its effects are spans inside
 * of it, and their calls inside of those.
 *
 * @module
 */
import type { InspectionEvent } from "xstate";
import type { ExternalDatabase } from "../api/schema.ts";
import type { OpenSpan, Tracing } from "../core/tracing.ts";
import type { DatabaseSnapshot } from "./keeper.ts";

/** The passes of all actors. */
export class Passes {
  readonly #open = new Map<string, OpenSpan>();

  constructor(private readonly tracing: Tracing) {}

  /** Runs an effect of a resource's actor inside of its pass, which begins with it where none is under way. */
  effect<T>(object: ExternalDatabase, effect: string, work: () => Promise<T>): Promise<T> {
    if (!this.tracing.on) return work();
    const { uid, namespace, name, generation } = object.metadata;
    let pass = this.#open.get(uid);
    if (pass === undefined) {
      pass = this.tracing.open("pass", {
        "k8s.namespace.name": namespace,
        "externaldatabase.name": name,
        "externaldatabase.uid": uid,
        "externaldatabase.generation": generation,
        "externaldatabase.from": object.status?.state,
      });
      this.#open.set(uid, pass);
    }
    return pass.within(() => this.tracing.span(effect, {}, work));
  }

  /** Runs `work`, such as a log line, inside of the pass that is under way, if one is. */
  within<T>(uid: string, work: () => T): T {
    const pass = this.#open.get(uid);
    return pass === undefined ? work() : pass.within(work);
  }

  /** Ends the pass of an actor that crashed, of which XState tells no inspector. */
  crashed(uid: string): void {
    const pass = this.#open.get(uid);
    this.#open.delete(uid);
    pass?.set({ "externaldatabase.to": "crashed" });
    pass?.end();
  }

  /** Ends the pass of an actor that rests, or has ended. */
  readonly inspect = (inspection: InspectionEvent): void => {
    if (!this.tracing.on || inspection.type !== "@xstate.snapshot") return;
    const snapshot = inspection.snapshot as Partial<DatabaseSnapshot>;
    const knowledge = snapshot.context?.knowledge;
    if (knowledge === undefined) return; // of an effect
    const { uid } = knowledge.object.metadata;
    const pass = this.#open.get(uid);
    if (pass === undefined || (snapshot.status === "active" && !snapshot.hasTag?.("rest"))) return;
    const { state, ready, synced } = snapshot.context!.decision;
    pass.set({
      "externaldatabase.to": state,
      "externaldatabase.ready": ready.reason,
      "externaldatabase.synced": synced.reason,
    });
    // What is told of this step in the same tick belongs to it.
    queueMicrotask(() => {
      if (this.#open.get(uid) !== pass) return; // it crashed in the same tick
      this.#open.delete(uid);
      pass.end();
    });
  };
}
