/**
 * What the class of a CR says to a decision: the account that the CR belongs in, whether anything may be begun there,
 * what may be asked for, and what holds where the CR's spec says nothing.
 *
 * @module
 */
import { ANNOTATION, PINNED_CLASS } from "../api/constants.ts";
import type { ClassBounds, ClassDefaults } from "../api/class_schema.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { type Decision, isEffect, type Verdict } from "./decision.ts";
import { quote } from "./drift.ts";
import { classAsked, isObserveOnly, specOf } from "./facts.ts";
import type { Failure, Knowledge } from "./knowledge.ts";
import { hasFinalizer, isNew, isUnbegun } from "./resource.ts";
import { no, unknown } from "./verdicts.ts";
import type { View } from "./view.ts";

/** The class of one CR, as it is now. */
export interface ClassView {
  /** Its name; "" is the account of the flags of `start`. */
  readonly name: string;
  /** Why nothing is begun, changed or deleted under it. */
  readonly missing?: string | undefined;
  /** The classes could not be listed yet: nothing is decided by them, and nothing is said of it (S5). */
  readonly unheard?: boolean | undefined;
  readonly allowed?: ClassBounds | undefined;
  readonly defaults?: ClassDefaults | undefined;
  /** When its credentials changed last, monotonic milliseconds. */
  readonly credentialsAt?: number | undefined;
}

/**
 * The class that a CR is, or is to be, of; "" is the account of the flags.
 *
 * What was begun stays where it was begun: before the finalizer nothing can have been, the finalizer is written with the
 * class's name in one write, and the status takes the name over. So neither an edit nor another default class moves a CR
 * whose create may be under way (S1, S2).
 */
export function classNameOf(object: ExternalDatabase, defaultClass: string | undefined): string {
  const { status, metadata } = object;
  if (status?.className !== undefined) return status.className;
  if (status?.providerId !== undefined) return "";
  if (!isNew(object)) {
    const pinned = metadata.annotations?.[PINNED_CLASS];
    if (pinned !== undefined) return pinned;
    if (hasFinalizer(object)) return "";
  }
  const free = isNew(object) || isUnbegun(object) || isObserveOnly(object);
  return classAsked(object) ?? (free ? defaultClass : undefined) ?? "";
}

/** The object with what its class says, as decisions and effects read it. */
export function withClass(object: ExternalDatabase, view: Pick<View, "class">): ExternalDatabase {
  const { name, defaults } = view.class ?? { name: "" };
  const known = object.class;
  if (known === undefined ? name === "" : known.name === name && known.defaults === defaults) return object;
  const { class: _, ...rest } = object;
  return name === "" ? rest : { ...rest, class: { name, defaults } };
}

/** What is known, with what the CR's class says. */
export function inheriting(k: Knowledge, view: Pick<View, "class">): Knowledge {
  const object = withClass(k.object, view);
  return object === k.object ? k : { ...k, object };
}

/** Why nothing can be begun or changed for a CR: its class is not there, or is not the one that the spec names. */
export function classVerdict(object: ExternalDatabase, view: View): Verdict | undefined {
  const { name, missing, unheard } = view.class ?? { name: "" };
  if (unheard) {
    return unknown("ClassMissing", `The classes are not known yet: ${missing ?? "no answer so far"}`);
  }
  if (missing !== undefined) return no("ClassMissing", `Nothing is begun or changed: ${missing}`);
  const wanted = classAsked(object);
  if (wanted === undefined || wanted === name) return undefined;
  const begun = name === "" ? "the account of the operator's own flags" : `class ${quote(name)}`;
  return no(
    "Conflict",
    `spec.className is ${quote(wanted)}, but what was begun for this resource was begun in ${begun}; ` +
      "nothing is changed until they agree: set it back, or delete the resource and apply it again",
  );
}

/** Whether the finalizer may be written, and with it the class: only once that is known, and, before anything is begun, is there. */
export function mayBegin(object: ExternalDatabase, view: View): boolean {
  if (view.class?.unheard && view.class.name === "") return false;
  return !isUnbegun(object) || classVerdict(object, view) === undefined;
}

/** Why a deletion waits for the CR's class. */
export function classlessDeletion(object: ExternalDatabase, view: View): Verdict | undefined {
  const { missing, unheard } = view.class ?? {};
  if (unheard) {
    return unknown("ClassMissing", `Deletion waits for the classes: ${missing ?? "no answer so far"}`);
  }
  if (missing === undefined) return undefined;
  return no(
    "ClassMissing",
    `Deletion waits: ${missing}; create the class again, or, to let the resource go and leave its database, ` +
      `annotate it with ${ANNOTATION.abandon}=${object.metadata.uid}`,
  );
}

/** Whether the credentials of the CR's class have changed since something failed. */
export function isRotatedSince({ at = Number.POSITIVE_INFINITY }: Failure, view: View): boolean {
  return (view.class?.credentialsAt ?? Number.NEGATIVE_INFINITY) >= at;
}

/** What helps against what a class does not allow. */
const MEND = "edit the spec, or have the class changed";

/** Why the class does not let a CR have what its spec asks for. */
export function notAllowed(object: ExternalDatabase, view: Pick<View, "class">): string | undefined {
  const { name = "", allowed } = view.class ?? {};
  if (allowed === undefined) return undefined;
  const { engine = "", version = "", sizeGb = 0 } = specOf(object);
  const { engines, versions, sizeGb: size } = allowed;
  const of = `of class ${quote(name)}`;
  if (engines !== undefined && !engines.some((e) => e.toLowerCase() === engine.toLowerCase())) {
    return `spec.engine is ${quote(engine)}, but databases ${of} may only be ${engines.join(", ")}; ${MEND}`;
  }
  if (versions !== undefined && !versions.some((v) => begins(version, v))) {
    return `spec.version is ${quote(version)}, but databases ${of} may only be of ${
      versions.join(", ")
    }; ${MEND}`;
  }
  if (size?.min !== undefined && sizeGb < size.min) {
    return `spec.sizeGb is ${sizeGb}, but databases ${of} have ${size.min} or more; ${MEND}`;
  }
  if (size?.max !== undefined && sizeGb > size.max) {
    return `spec.sizeGb is ${sizeGb}, but databases ${of} have ${size.max} at most; ${MEND}`;
  }
  return undefined;
}

/** Whether a version is a prefix or begins with it, part by part: 16 stands for 16.2 and not for 160. */
function begins(version: string, prefix: string): boolean {
  return `${version}.`.toLowerCase().startsWith(`${prefix}.`.toLowerCase());
}

/** What is not allowed is not created, adopted or changed to; a database that is there already is only spoken of. */
export function heedClass(k: Knowledge, view: View, next: Decision): Decision {
  const why = notAllowed(k.object, view);
  if (why === undefined) return next;
  const verdict = no("NotAllowed", why);
  if (next.step === "create" || next.step === "adopt") {
    return { state: "Pending", step: "idle", ready: verdict, synced: verdict };
  }
  if (next.step === "modify") return { ...next, step: "idle", synced: verdict };
  return !isEffect(next.step) && next.synced.status === "True" ? { ...next, synced: verdict } : next;
}
