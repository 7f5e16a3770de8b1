/**
 * The resources that a CustomResourceDefinition makes.
 *
 * @module
 */
import { NAME_COLUMN } from "./builtin/columns.ts";
import { compilePath, type JsonPath } from "./jsonpath.ts";
import { subdomainErrors } from "./names.ts";
import { type Column, nameFields, type Resource, resourceDefaults } from "./resource.ts";
import { wholeSchema } from "./schema/decode.ts";
import { ageCell } from "./time.ts";
import { isObject, type Json, type JsonObject, type KubeObject, member, type Schema } from "./types.ts";

interface PrinterColumn {
  readonly column: Column;
  readonly path: JsonPath;
}

/** The served resources of a CRD, one per version. */
export function customResources(crd: KubeObject): Resource[] {
  const spec = isObject(crd["spec"]) ? crd["spec"] : {};
  const names = isObject(spec["names"]) ? spec["names"] : {};
  const versions = (Array.isArray(spec["versions"]) ? spec["versions"] : []).filter(isObject);
  const stored = versions.find((version) => version["storage"] === true);
  return versions.filter((version) => version["served"] === true).map((version) =>
    customResource(spec, names, version, text(stored?.["name"]))
  );
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.map(text) : [];
}

function customResource(spec: JsonObject, names: JsonObject, version: JsonObject, stored: string): Resource {
  const group = text(spec["group"]);
  const name = text(version["name"]);
  const defaults = resourceDefaults(group, name, text(names["plural"]));
  const columns = printerColumns(version);
  const selectable = (Array.isArray(version["selectableFields"]) ? version["selectableFields"] : []).map((
    field,
  ) => text(member(field, "jsonPath")));
  const paths = selectable.map((path) => [path.replace(/^\./, ""), compilePath(path)] as const);
  const reversion = (to: string) => (object: KubeObject) =>
    object.apiVersion === `${group}/${to}` ? object : { ...object, apiVersion: `${group}/${to}` };
  return {
    ...defaults,
    singular: text(names["singular"]),
    kind: text(names["kind"]),
    listKind: text(names["listKind"]),
    shortNames: texts(names["shortNames"]),
    categories: texts(names["categories"]),
    namespaced: spec["scope"] !== "Cluster",
    schema: wholeSchema((member(version["schema"], "openAPIV3Schema") ?? {}) as Schema),
    custom: true,
    hasStatus: isObject(member(version["subresources"], "status")),
    hasGeneration: true,
    unconditionalUpdate: false,
    columns: [NAME_COLUMN, ...columns.map(({ column }) => column)],
    row: (
      object,
      nowMs,
    ) => [object.metadata.name, ...columns.map(({ column, path }) => cell(object, column, path, nowMs))],
    selectableFields: [...defaults.selectableFields, ...paths.map(([field]) => field)],
    fieldsOf(object) {
      const fields = nameFields(object);
      for (const [field, path] of paths) {
        const [value] = path(object);
        fields[field] = value === undefined || value === null ? "" : String(value);
      }
      return fields;
    },
    nameErrors: subdomainErrors,
    fromStore: reversion(name),
    toStore: reversion(stored),
  };
}

/** The columns of a version; without any, the age alone. */
function printerColumns(version: JsonObject): PrinterColumn[] {
  const given = Array.isArray(version["additionalPrinterColumns"]) ? version["additionalPrinterColumns"] : [];
  const list: Json[] = given.length > 0
    ? given
    : [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }];
  return list.filter(isObject).map((item) => {
    const jsonPath = text(item["jsonPath"]);
    const priority = item["priority"];
    const column = {
      name: text(item["name"]),
      type: text(item["type"]),
      format: text(item["format"]),
      description: text(item["description"]) ||
        `Custom resource definition column (in JSONPath format): ${jsonPath}`,
      priority: typeof priority === "number" ? priority : 0,
    };
    return { column, path: compilePath(jsonPath) };
  });
}

function cell(object: KubeObject, column: Column, path: JsonPath, nowMs: number): Json {
  const values = path(object);
  const [value] = values;
  if (value === undefined || value === null) return null;
  switch (column.type) {
    case "date":
      return ageCell(value, nowMs);
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    default:
      return values.map((item) => typeof item === "string" ? item : JSON.stringify(item)).join(" ");
  }
}
