/**
 * Built-in kinds beside Events: Namespaces, ConfigMaps, Secrets and Leases.
 *
 * @module
 */
import { labelNameErrors, subdomainErrors } from "../names.ts";
import { type Resource, resourceDefaults } from "../resource.ts";
import { wholeSchema } from "../schema/decode.ts";
import { type FieldError, forbiddenValue, invalidValue } from "../status.ts";
import { ageCell, microTimeError } from "../time.ts";
import { isObject, jsonEqual, type JsonObject, type KubeObject, member, type Schema } from "../types.ts";
import { AGE_COLUMN, NAME_COLUMN } from "./columns.ts";
import { coreEvents, eventsV1 } from "./events.ts";

const TEXT: Schema = { type: "string" };
const TEXTS: Schema = { type: "object", additionalProperties: TEXT };
const KEY_TEXT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const CONFIG_DATA =
  "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.";

function count(...maps: unknown[]): number {
  return maps.reduce<number>((sum, map) => sum + (isObject(map) ? Object.keys(map).length : 0), 0);
}

function keyErrors(object: KubeObject, ...members: string[]): FieldError[] {
  return members.flatMap((name) =>
    Object.keys(isObject(object[name]) ? object[name] : {}).filter((key) => !/^[-._a-zA-Z0-9]+$/.test(key))
      .map((key) => invalidValue(`${name}[${key}]`, key, KEY_TEXT))
  );
}

function immutableErrors(next: KubeObject, old: KubeObject | undefined, ...members: string[]): FieldError[] {
  if (old?.["immutable"] !== true) return [];
  const detail = "field is immutable when `immutable` is set";
  const errors = members.filter((name) => !jsonEqual(next[name], old[name])).map((name) =>
    forbiddenValue(name, detail)
  );
  return next["immutable"] === true ? errors : [forbiddenValue("immutable", detail), ...errors];
}

/** Drops empty members that Go's `omitempty` would not write, in place. */
function omitEmpty(object: JsonObject, ...members: string[]): void {
  for (const name of members) {
    const value = object[name];
    if (value === null || (isObject(value) && Object.keys(value).length === 0)) delete object[name];
  }
}

const namespaces: Resource = {
  ...resourceDefaults("", "v1", "namespaces"),
  singular: "namespace",
  kind: "Namespace",
  listKind: "NamespaceList",
  shortNames: ["ns"],
  namespaced: false,
  hasStatus: true,
  returnsDeleted: true,
  skeleton: { spec: { finalizers: ["kubernetes"] } },
  schema: wholeSchema({
    properties: {
      spec: { type: "object", properties: { finalizers: { type: "array", items: TEXT } } },
      status: {
        type: "object",
        properties: {
          phase: TEXT,
          conditions: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            items: {
              type: "object",
              properties: { type: TEXT, status: TEXT, lastTransitionTime: TEXT, reason: TEXT, message: TEXT },
            },
          },
        },
      },
    },
  }),
  columns: [
    NAME_COLUMN,
    { name: "Status", type: "string", description: "The status of the namespace" },
    AGE_COLUMN,
  ],
  row: (object, now) => [
    object.metadata.name,
    member(object["status"], "phase") ?? "",
    ageCell(object.metadata.creationTimestamp, now),
  ],
  selectableFields: ["metadata.name", "status.phase"],
  fieldsOf: (object) => ({
    "metadata.name": object.metadata.name,
    "status.phase": String(member(object["status"], "phase") ?? ""),
  }),
  nameErrors: labelNameErrors,
  prepare(next, old) {
    next.metadata.labels = { ...next.metadata.labels, "kubernetes.io/metadata.name": next.metadata.name };
    if (old === undefined) {
      next["spec"] = { finalizers: ["kubernetes"] };
      next["status"] = { phase: "Active" };
    } else {
      next["spec"] = old["spec"];
    }
  },
};

const configMaps: Resource = {
  ...resourceDefaults("", "v1", "configmaps"),
  singular: "configmap",
  kind: "ConfigMap",
  listKind: "ConfigMapList",
  shortNames: ["cm"],
  schema: wholeSchema({
    description: "ConfigMap holds configuration data for pods to consume.",
    properties: {
      data: { ...TEXTS, description: CONFIG_DATA },
      binaryData: { ...TEXTS, description: "BinaryData contains the binary data." },
      immutable: { type: "boolean" },
    },
  }),
  columns: [
    NAME_COLUMN,
    { name: "Data", type: "string", description: CONFIG_DATA },
    AGE_COLUMN,
  ],
  row: (object, now) => [
    object.metadata.name,
    count(object["data"], object["binaryData"]),
    ageCell(object.metadata.creationTimestamp, now),
  ],
  nameErrors: subdomainErrors,
  prepare: (next) => omitEmpty(next, "data", "binaryData"),
  validate: (next, old) => [
    ...keyErrors(next, "data", "binaryData"),
    ...immutableErrors(next, old, "data", "binaryData"),
  ],
};

const secrets: Resource = {
  ...resourceDefaults("", "v1", "secrets"),
  singular: "secret",
  kind: "Secret",
  listKind: "SecretList",
  schema: wholeSchema({
    properties: { data: TEXTS, stringData: TEXTS, type: TEXT, immutable: { type: "boolean" } },
  }),
  columns: [
    NAME_COLUMN,
    {
      name: "Type",
      type: "string",
      description:
        "Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
    },
    {
      name: "Data",
      type: "string",
      description:
        "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
    },
    AGE_COLUMN,
  ],
  row: (object, now) => [
    object.metadata.name,
    object["type"] ?? "",
    count(object["data"]),
    ageCell(object.metadata.creationTimestamp, now),
  ],
  selectableFields: ["metadata.name", "metadata.namespace", "type"],
  fieldsOf: (object) => ({
    "metadata.name": object.metadata.name,
    "metadata.namespace": object.metadata.namespace ?? "",
    type: String(object["type"] ?? ""),
  }),
  nameErrors: subdomainErrors,
  malformed: base64Error,
  prepare(next) {
    if (isObject(next["stringData"])) {
      const data: JsonObject = isObject(next["data"]) ? { ...next["data"] } : {};
      for (const [key, value] of Object.entries(next["stringData"])) data[key] = toBase64(String(value));
      next["data"] = data;
    }
    delete next["stringData"];
    next["type"] ??= "Opaque";
    if (next["type"] === "") next["type"] = "Opaque";
    omitEmpty(next, "data");
  },
  validate: (next, old) => [
    ...(old !== undefined && next["type"] !== old["type"]
      ? [invalidValue("type", next["type"] ?? "", "field is immutable")]
      : []),
    ...keyErrors(next, "data"),
    ...immutableErrors(next, old, "data"),
  ],
};

function toBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

function base64Error(secret: JsonObject): string | undefined {
  for (const value of Object.values(isObject(secret["data"]) ? secret["data"] : {})) {
    const text = String(value).replaceAll(/[\r\n]/g, "");
    const bad = text.search(/[^A-Za-z0-9+/=]/);
    if (bad < 0 && text.length % 4 === 0) continue;
    return `illegal base64 data at input byte ${bad < 0 ? Math.floor(text.length / 4) * 4 : bad}`;
  }
  return undefined;
}

const leases: Resource = {
  ...resourceDefaults("coordination.k8s.io", "v1", "leases"),
  singular: "lease",
  kind: "Lease",
  listKind: "LeaseList",
  unconditionalUpdate: false,
  createOnUpdate: true,
  skeleton: { spec: {} },
  schema: wholeSchema({
    properties: {
      spec: {
        type: "object",
        properties: {
          acquireTime: TEXT,
          holderIdentity: TEXT,
          leaseDurationSeconds: { type: "integer" },
          leaseTransitions: { type: "integer" },
          preferredHolder: TEXT,
          renewTime: TEXT,
          strategy: TEXT,
        },
      },
    },
  }),
  columns: [
    NAME_COLUMN,
    {
      name: "Holder",
      type: "string",
      description:
        "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
    },
    AGE_COLUMN,
  ],
  row: (object, now) => [
    object.metadata.name,
    member(object["spec"], "holderIdentity") ?? "",
    ageCell(object.metadata.creationTimestamp, now),
  ],
  nameErrors: subdomainErrors,
  malformed: (lease) =>
    microTimeError(lease, ["spec", "acquireTime"]) ?? microTimeError(lease, ["spec", "renewTime"]),
  validate(next) {
    const errors: FieldError[] = [];
    const seconds = member(next["spec"], "leaseDurationSeconds");
    if (typeof seconds === "number" && seconds <= 0) {
      errors.push(invalidValue("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
    }
    const transitions = member(next["spec"], "leaseTransitions");
    if (typeof transitions === "number" && transitions < 0) {
      errors.push(invalidValue("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
    }
    return errors;
  },
};

/** Every built-in resource but CustomResourceDefinitions. */
export const BUILT_IN: readonly Resource[] = [namespaces, configMaps, secrets, coreEvents, eventsV1, leases];
