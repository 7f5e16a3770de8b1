/**
 * Events: one store, two shapes. Core/v1 is what `kubectl describe` reads, events.k8s.io/v1 what controllers write.
 *
 * @module
 */
import { byteLength, qualifiedNameErrors, subdomainErrors } from "../names.ts";
import { type Column, nameFields, type Resource, resourceDefaults } from "../resource.ts";
import { wholeSchema } from "../schema/decode.ts";
import { type FieldError, invalidValue, requiredValue } from "../status.ts";
import { ageCell, microTimeError } from "../time.ts";
import {
  isObject,
  type Json,
  jsonEqual,
  type JsonObject,
  type KubeObject,
  member,
  type Schema,
} from "../types.ts";
import { NAME_COLUMN } from "./columns.ts";

const TEXT: Schema = { type: "string" };
const REFERENCE: Schema = {
  type: "object",
  "x-kubernetes-map-type": "atomic",
  properties: {
    apiVersion: TEXT,
    fieldPath: TEXT,
    kind: TEXT,
    name: TEXT,
    namespace: TEXT,
    resourceVersion: TEXT,
    uid: TEXT,
  }, // deno-fmt-ignore-line
};
const SOURCE: Schema = { type: "object", properties: { component: TEXT, host: TEXT } };
const SERIES: Schema = { type: "object", properties: { count: { type: "integer" }, lastObservedTime: TEXT } };
const SHARED: Record<string, Schema> = {
  eventTime: TEXT,
  series: SERIES,
  action: TEXT,
  reason: TEXT,
  related: REFERENCE,
  type: TEXT,
  reportingInstance: TEXT,
};

/** What a member is called in the two shapes: events.k8s.io/v1 first. */
const NAMES: readonly (readonly [string, string])[] = [
  ["reportingController", "reportingComponent"],
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
];

const COLUMNS: readonly Column[] = [
  {
    name: "Last Seen",
    type: "string",
    description: "The time at which the most recent occurrence of this event was recorded.",
  },
  {
    name: "Type",
    type: "string",
    description: "Type of this event (Normal, Warning), new types could be added in the future",
  },
  {
    name: "Reason",
    type: "string",
    description:
      "This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
  },
  { name: "Object", type: "string", description: "The object that this event is about." },
  { name: "Subobject", type: "string", priority: 1 },
  {
    name: "Source",
    type: "string",
    priority: 1,
    description: "The component reporting this event. Should be a short machine understandable string.",
  },
  {
    name: "Message",
    type: "string",
    description: "A human-readable description of the status of this operation.",
  },
  {
    name: "First Seen",
    type: "string",
    priority: 1,
    description: "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
  },
  { name: "Count", type: "string", priority: 1, description: "The number of times this event has occurred." },
  { ...NAME_COLUMN, priority: 1 },
]; // deno-fmt-ignore-line

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function row(event: KubeObject, nowMs: number): Json[] {
  const series = event["series"];
  const first = event["firstTimestamp"] ?? event["eventTime"];
  const firstSeen = ageCell(first, nowMs);
  const lastTime = member(series, "lastObservedTime") ?? event["lastTimestamp"];
  const last = typeof lastTime === "string" ? ageCell(lastTime, nowMs) : firstSeen;
  const about = event["involvedObject"];
  const seriesCount = member(series, "count");
  const count = typeof seriesCount === "number" ? seriesCount : event["count"];
  const component = text(member(event["source"], "component")) || text(event["reportingComponent"]);
  const host = text(member(event["source"], "host")) || text(event["reportingInstance"]);
  const name = text(member(about, "name"));
  return [
    last,
    text(event["type"]),
    text(event["reason"]),
    text(member(about, "kind")).toLowerCase() + (name === "" ? "" : `/${name}`),
    text(member(about, "fieldPath")),
    host === "" ? component : `${component}, ${host}`,
    text(event["message"]).trim(),
    firstSeen,
    typeof count === "number" && count > 0 ? count : 1,
    event.metadata.name,
  ];
}

const REFERENCE_FIELDS = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

function fieldsOf(prefix: string, controller: string): (event: KubeObject) => Record<string, string> {
  return (event) => {
    const fields = nameFields(event);
    for (const key of REFERENCE_FIELDS) {
      fields[`${prefix}.${key}`] = text(member(event["involvedObject"], key));
    }
    fields["reason"] = text(event["reason"]);
    fields["type"] = text(event["type"]);
    fields["source"] = text(member(event["source"], "component")) || text(event["reportingComponent"]);
    fields[controller] = text(event["reportingComponent"]);
    return fields;
  };
}

function selectable(prefix: string, controller: string): string[] {
  const own = ["metadata.name", "metadata.namespace", "reason", "type", controller];
  return [
    ...own,
    ...(prefix === "involvedObject" ? ["source"] : []),
    ...REFERENCE_FIELDS.map((key) => `${prefix}.${key}`),
  ];
}

/** The core shape, with every member that Go always writes. */
function coreShape(event: KubeObject): KubeObject {
  return {
    ...event,
    source: event["source"] ?? {},
    firstTimestamp: event["firstTimestamp"] ?? null,
    lastTimestamp: event["lastTimestamp"] ?? null,
    eventTime: event["eventTime"] ?? null,
    reportingComponent: event["reportingComponent"] ?? "",
    reportingInstance: event["reportingInstance"] ?? "",
  };
}

function toEventsV1(event: KubeObject): KubeObject {
  const out: JsonObject = { ...event, apiVersion: "events.k8s.io/v1" };
  for (const [v1, core] of NAMES) {
    if (out[core] !== undefined && (out[core] !== "" || v1 !== "reportingController")) out[v1] = out[core];
    delete out[core];
  }
  if (out["reportingInstance"] === "") delete out["reportingInstance"];
  out["deprecatedSource"] ??= {};
  out["deprecatedFirstTimestamp"] ??= null;
  out["deprecatedLastTimestamp"] ??= null;
  out["eventTime"] ??= null;
  return out as KubeObject;
}

function fromEventsV1(event: KubeObject): KubeObject {
  const out: JsonObject = { ...event, apiVersion: "v1" };
  for (const [v1, core] of NAMES) {
    if (out[v1] !== undefined) out[core] = out[v1];
    delete out[v1];
  }
  return coreShape(out as KubeObject);
}

function badTime(event: JsonObject): string | undefined {
  return microTimeError(event, ["eventTime"]) ?? microTimeError(event, ["series", "lastObservedTime"]);
}

/** An Event of no namespace belongs into `default`; only core/v1 refuses one about another namespace. */
function checkNamespace(event: KubeObject, strict: boolean): FieldError[] {
  const about = text(member(event["involvedObject"] ?? event["regarding"], "namespace"));
  const own = event.metadata.namespace ?? "";
  if (about === "" ? own === "default" : !strict || own === about) return [];
  return [invalidValue("involvedObject.namespace", about, "does not match event.namespace")];
}

/** The checks of events.k8s.io/v1 that core/v1 does not make (`ValidateEventCreate`, field names are core's). */
function validateEventsV1(event: KubeObject, old: KubeObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  if (old !== undefined) {
    if ((old["eventTime"] ?? null) === null) return errors;
    for (
      const [v1, core] of [...NAMES, ["reason", "reason"], ["action", "action"], ["type", "type"], [
        "eventTime",
        "eventTime",
      ]] as const
    ) {
      if (v1.startsWith("deprecated") || jsonEqual(event[v1], old[v1])) continue;
      errors.push(
        invalidValue(v1 === "reportingController" ? v1 : core, event[v1] ?? "", "field is immutable"),
      );
    }
    return errors;
  }
  errors.push(...checkNamespace(event, false));
  const legal = event["type"] === "Normal" || event["type"] === "Warning";
  const badType = invalidValue("type", "", `has invalid value: ${text(event["type"])}`);
  if ((event["eventTime"] ?? null) === null) errors.push(requiredValue("eventTime"));
  else {
    const controller = text(event["reportingController"]);
    if (controller === "") errors.push(requiredValue("reportingController"));
    for (const detail of qualifiedNameErrors(controller)) {
      errors.push(invalidValue("reportingController", controller, detail));
    }
    if (text(event["reportingInstance"]) === "") errors.push(requiredValue("reportingInstance"));
    const long = (field: string, value: Json | undefined, max: number) => {
      if (byteLength(text(value)) > max) {
        errors.push(invalidValue(field, "", `can have at most ${max} characters`));
      }
    };
    long("reportingInstance", event["reportingInstance"], 128);
    if (text(event["action"]) === "") errors.push(requiredValue("action"));
    long("action", event["action"], 128);
    if (text(event["reason"]) === "") errors.push(requiredValue("reason"));
    long("reason", event["reason"], 128);
    long("message", event["note"], 1024);
  }
  if (!legal) errors.push(badType);
  const source = event["deprecatedSource"];
  if (isObject(source) && Object.keys(source).length > 0) {
    errors.push(invalidValue("source", "", "needs to be unset"));
  }
  for (
    const [field, core] of [["deprecatedFirstTimestamp", "firstTimestamp"], [
      "deprecatedLastTimestamp",
      "lastTimestamp",
    ], ["deprecatedCount", "count"]] as const
  ) {
    const value = event[field] ?? null;
    if (value !== null && value !== 0) errors.push(invalidValue(core, "", "needs to be unset"));
  }
  return errors;
}

const SHAPE = {
  singular: "event",
  kind: "Event",
  listKind: "EventList",
  shortNames: ["ev"],
  columns: COLUMNS,
  row,
  nameErrors: subdomainErrors,
  storage: "/events",
  skeleton: {
    source: {},
    deprecatedSource: {},
    reportingComponent: "",
    reportingInstance: "",
    eventTime: null,
    firstTimestamp: null,
    lastTimestamp: null,
  },
  createOnUpdate: true,
  malformed: badTime,
};

/** core/v1 Events. */
export const coreEvents: Resource = {
  ...resourceDefaults("", "v1", "events"),
  ...SHAPE,
  schema: wholeSchema({
    properties: { ...SHARED, ...Object.fromEntries(NAMES.map(([, core]) => [core, sharedSchema(core)])) },
  }),
  selectableFields: selectable("involvedObject", "reportingComponent"),
  fieldsOf: fieldsOf("involvedObject", "reportingComponent"),
  fromStore: coreShape,
  toStore: coreShape,
  validate(event, old) {
    return old === undefined ? checkNamespace(event, true) : [];
  },
};

/** events.k8s.io/v1 Events. */
export const eventsV1: Resource = {
  ...resourceDefaults("events.k8s.io", "v1", "events"),
  ...SHAPE,
  errorGroup: "",
  schema: wholeSchema({
    properties: { ...SHARED, ...Object.fromEntries(NAMES.map(([v1, core]) => [v1, sharedSchema(core)])) },
  }),
  selectableFields: selectable("regarding", "reportingController"),
  fieldsOf: fieldsOf("regarding", "reportingController"),
  fromStore: toEventsV1,
  toStore: fromEventsV1,
  validate: validateEventsV1,
};

function sharedSchema(core: string): Schema {
  if (core === "involvedObject") return REFERENCE;
  if (core === "source") return SOURCE;
  return core === "count" ? { type: "integer" } : TEXT;
}
