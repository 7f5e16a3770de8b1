/**
 * docs/reference/crds.md: every field of the two resources, from the schemas that the CRDs are made from.
 *
 * @module
 */
import { classResourceDefinition, customResourceDefinition } from "../../src/api/crd.ts";
import { code, codes, generatedFrom, page, table } from "./markdown.ts";

/** The part of an OpenAPI schema that is read here. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string; readonly message?: string }[];
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly shortNames: readonly string[];
      readonly categories: readonly string[];
    };
    readonly versions: readonly {
      readonly name: string;
      readonly additionalPrinterColumns: readonly {
        readonly name: string;
        readonly jsonPath: string;
        readonly priority?: number;
      }[];
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

/** The page about the resources. */
export function crdsPage(): string {
  const definitions = [customResourceDefinition(), classResourceDefinition()] as unknown as Definition[];
  return page(
    generatedFrom("src/api/schema.ts, src/api/class_schema.ts and src/api/rules.ts"),
    "# Resources",
    "Every field of the two kinds, as the API server checks them; `kubectl explain externaldatabase.spec` says the same. What the " +
      "policies do is in [design.md](../design.md#policies), what a class is for in [classes.md](../classes.md).",
    ...definitions.flatMap(kind),
  );
}

function kind({ spec }: Definition): string[] {
  const [version] = spec.versions;
  if (version === undefined) throw new Error(`${spec.names.kind} has no version`);
  const { openAPIV3Schema: schema } = version.schema;
  const { kind, plural, shortNames, categories } = spec.names;
  const rules = rulesOf(schema, "");
  return [
    `## ${kind}`,
    schema.description ?? "",
    table(["", ""], [
      ["apiVersion", code(`${spec.group}/${version.name}`)],
      ["names for kubectl", codes([plural, ...shortNames])],
      ["categories", codes(categories)],
      ["scope", spec.scope],
    ]),
    ...["spec", "status"].flatMap((part) => {
      const of = schema.properties?.[part];
      return of === undefined ? [] : [
        `### ${kind}: ${part}`,
        of.description ?? "",
        table(["field", "type", "meaning"], fields(of, "")),
      ];
    }),
    `### ${kind}: rules`,
    rules.length === 0
      ? "None beside those of the single fields."
      : "What the API server refuses beside what the single fields do, by CEL:",
    rules.map((rule) => `- ${rule}`).join("\n"),
    `### ${kind}: columns`,
    "The columns of `kubectl get`; the marked ones show with `-o wide` alone.",
    table(
      ["column", "what it shows"],
      version.additionalPrinterColumns.map(({ name, jsonPath, priority }) => [
        priority ? `${name} (wide)` : name,
        code(jsonPath),
      ]),
    ),
  ];
}

function fields(schema: Schema, path: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = `${path}${name}`;
    const required = schema.required?.includes(name) ? ", required" : "";
    return [
      [code(at), `${typeOf(field)}${required}`, field.description ?? ""],
      ...fields(field, `${at}.`),
      ...(field.items === undefined ? [] : fields(field.items, `${at}[].`)),
    ];
  });
}

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return codes(schema.enum);
  const type = schema.items !== undefined
    ? `list of ${schema.items.type ?? "object"}`
    : schema.additionalProperties !== undefined
    ? `map of ${schema.additionalProperties.type ?? "object"}`
    : schema.format === "date-time"
    ? "time"
    : schema.type ?? "";
  return `${type}${bounds(schema)}`;
}

function bounds(
  { minimum, maximum, minLength = 0, maxLength, maxItems, maxProperties, pattern }: Schema,
): string {
  const parts: string[] = [];
  if (minimum !== undefined && maximum !== undefined) parts.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) parts.push(`${minimum} or more`);
  else if (maximum !== undefined) parts.push(`${maximum} at most`);
  if (maxLength !== undefined) parts.push(`${minLength} to ${maxLength} characters`);
  const most = maxItems ?? maxProperties;
  if (most !== undefined) parts.push(`${most} at most`);
  if (pattern !== undefined) parts.push(`as ${code(pattern)}`);
  return parts.length === 0 ? "" : `, ${parts.join(", ")}`;
}

function rulesOf(schema: Schema, path: string): string[] {
  const own = (schema["x-kubernetes-validations"] ?? []).map(({ rule, message }) =>
    `${path === "" ? "" : `${code(path)}: `}${message ?? code(rule)}`
  );
  const nested = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    rulesOf(field, path === "" ? name : `${path}.${name}`)
  );
  return [...own, ...nested];
}
