/**
 * What the embedded API knows of one resource: its names, its schema and where it differs from the others.
 *
 * @module
 */
import type { FieldError } from "./status.ts";
import type { Json, JsonObject, KubeObject, Schema } from "./types.ts";

/** One column of a Table. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

/** What a resource's own rules are told. */
export interface RuleContext {
  /** RFC 3339 to the second. */
  readonly now: string;
}

/** One resource of one API version. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Where its objects are kept; two resources that share it are two shapes of one (Events). */
  readonly storage: string;
  /** The schema of the whole object as clients send it. */
  readonly schema: Schema;
  /** Custom resources are pruned and validated by schema; built-in ones are decoded into Go structs. */
  readonly custom: boolean;
  readonly hasStatus: boolean;
  /** Whether `metadata.generation` counts changes of the desired state. */
  readonly hasGeneration: boolean;
  /** Whether PUT works without a resourceVersion. */
  readonly unconditionalUpdate: boolean;
  /** Whether PUT creates what is missing. */
  readonly createOnUpdate: boolean;
  /** Whether a DELETE that ends at once answers with the object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** What every object of the kind has, so that creating it owns only what is inside. */
  readonly skeleton: JsonObject;
  readonly columns: readonly Column[];
  /** Cells of a Table row; `nowMs` is wall time. */
  row(object: KubeObject, nowMs: number): Json[];
  readonly selectableFields: readonly string[];
  fieldsOf(object: KubeObject): Record<string, string>;
  nameErrors(name: string): string[];
  /** Group that refusals name; Events are core objects under both groups. */
  readonly errorGroup: string;
  /** From the stored form to this version's. */
  fromStore(object: KubeObject): KubeObject;
  /** From this version's form to the stored one. */
  toStore(object: KubeObject): KubeObject;
  /** Fills in what the kind's own strategy fills in, in place. */
  prepare(next: KubeObject, old: KubeObject | undefined, context: RuleContext): void;
  /** What Go's decoder says of values that it cannot read, beside wrong types. */
  malformed(object: JsonObject): string | undefined;
  /** The kind's own checks, on this version's form. */
  validate(next: KubeObject, old: KubeObject | undefined): FieldError[];
}

/** The members that most resources share; spread it and say what differs. */
export function resourceDefaults(group: string, version: string, plural: string): Pick<
  Resource,
  | "group"
  | "version"
  | "plural"
  | "shortNames"
  | "categories"
  | "storage"
  | "namespaced"
  | "custom"
  | "hasStatus"
  | "hasGeneration"
  | "unconditionalUpdate"
  | "createOnUpdate"
  | "returnsDeleted"
  | "skeleton"
  | "selectableFields"
  | "fieldsOf"
  | "errorGroup"
  | "fromStore"
  | "toStore"
  | "prepare"
  | "malformed"
  | "validate"
> {
  return {
    group,
    version,
    plural,
    shortNames: [],
    categories: [],
    storage: `${group}/${plural}`,
    namespaced: true,
    custom: false,
    hasStatus: false,
    hasGeneration: false,
    unconditionalUpdate: true,
    createOnUpdate: false,
    returnsDeleted: false,
    skeleton: {},
    selectableFields: ["metadata.name", "metadata.namespace"],
    fieldsOf: nameFields,
    errorGroup: group,
    fromStore: (object) => object,
    toStore: (object) => object,
    prepare: () => {},
    malformed: () => undefined,
    validate: () => [],
  };
}

/** The two fields that every kind can be selected by. */
export function nameFields(object: KubeObject): Record<string, string> {
  return { "metadata.name": object.metadata.name, "metadata.namespace": object.metadata.namespace ?? "" };
}

/** `group/version`, or the version alone for the core group. */
export function groupVersion(resource: Pick<Resource, "group" | "version">): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** The desired state: everything but metadata and status. */
export function desired(object: KubeObject): JsonObject {
  const { metadata: _m, status: _s, ...rest } = object;
  return rest;
}
