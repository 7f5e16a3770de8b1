/**
 * The CustomResourceDefinition, made from the Zod schema.
 *
 * An API server refuses schemas that are not structural, and says so only when the CRD is applied; this generator
 * throws on the same things when it is run, naming the field. Checked against Kubernetes 1.37.
 *
 * @module
 */
import { z } from "zod";
import { classSpecSchema, classStatusSchema } from "./class_schema.ts";
import { CLASS_KIND, CLASS_PLURAL, GROUP, KIND, PLURAL, VERSION } from "./constants.ts";
import { RULES, SPEC_RULES } from "./rules.ts";
import { specSchema, statusSchema } from "./schema.ts";

/** A JSON object. */
type Json = Readonly<Record<string, unknown>>;

/** Keywords that structural schemas know and that pass through unchanged. */
const KEPT = new Set([
  ...["type", "description", "enum", "required", "default", "format", "pattern", "minLength", "maxLength"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"],
  ...["minProperties", "maxProperties", "nullable"],
]);

/** Bounds that only say which integers the language or an int32 can hold. */
const EMPTY_BOUNDS: ReadonlySet<unknown> = new Set([
  ...[Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, -(2 ** 31), 2 ** 31 - 1],
]);

/**
 * Turns a Zod schema into a structural OpenAPI schema. Throws an Error that names the field and the keyword where the
 * schema uses what an API server refuses (unions, strict objects, lookaheads, several patterns, untyped values …).
 */
export function structuralSchema(schema: z.ZodType): Json {
  const { $schema: _, ...root } = z.toJSONSchema(schema, { target: "openapi-3.0", io: "input" }) as Json;
  return structural(root, "");
}

function structural(node: Json, path: string): Json {
  const refuse = (what: string): never => {
    throw new Error(`Making the CRD failed: ${path === "" ? "the schema" : `"${path}"`} ${what}`);
  };
  if (typeof node["type"] !== "string") refuse("has no single type, which a structural schema needs");
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === "properties") {
      const fields = Object.entries(value as Record<string, Json>);
      result[key] = Object.fromEntries(
        fields.map(([name, field]) => [name, structural(field, `${path}.${name}`)]),
      );
    } else if (key === "items") {
      result[key] = structural(value as Json, `${path}[]`);
    } else if (
      key === "additionalProperties" && typeof value === "object" && node["properties"] === undefined
    ) {
      result[key] = structural(value as Json, `${path}.*`);
    } else if ((key === "minimum" || key === "maximum") && EMPTY_BOUNDS.has(value)) {
      if (Math.abs(value as number) < 2 ** 32) result["format"] = "int32";
    } else if (key === "pattern" && /\(\?[=!<]|\\[1-9]/.test(value as string)) {
      refuse(`has the pattern ${value}, which RE2 does not know`);
    } else if (KEPT.has(key) || key.startsWith("x-kubernetes-")) {
      result[key] = value;
    } else {
      refuse(`uses "${key}", which a structural schema refuses`);
    }
  }
  return result;
}

/** One column of `kubectl get`. */
function column(name: string, jsonPath: string, type = "string", more: Json = {}): Json {
  return { name, type, jsonPath, ...more };
}

/** A column of `kubectl get -o wide`. */
function wide(description: string): Json {
  return { priority: 1, description };
}

function condition(type: string, field: string): string {
  return `.status.conditions[?(@.type=="${type}")].${field}`;
}

/** What differs between the two definitions. */
interface Definition {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly columns: readonly Json[];
  readonly description: string;
  readonly properties: Json;
  readonly rules?: unknown;
}

function definition({ kind, plural, shortName, scope, columns, description, ...schema }: Definition): Json {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ["databases"],
      },
      scope,
      versions: [{
        name: VERSION,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: columns,
        schema: {
          openAPIV3Schema: {
            type: "object",
            description,
            properties: schema.properties,
            ...(schema.rules === undefined ? {} : { "x-kubernetes-validations": schema.rules }),
          },
        },
      }],
    },
  };
}

/** The whole CustomResourceDefinition of the databases, as an object. */
export function customResourceDefinition(): Json {
  return definition({
    kind: KIND,
    plural: PLURAL,
    shortName: "edb",
    scope: "Namespaced",
    columns: [
      column("Engine", ".spec.engine"),
      column("Version", ".spec.version"),
      column("Size", ".spec.sizeGb", "integer", { description: "Wanted size of the storage in GiB" }),
      column("State", ".status.state"),
      column("Ready", condition("Ready", "status")),
      column("Synced", condition("Synced", "status"), "string", {
        description: "Whether the database is as the spec asks",
      }),
      column("Endpoint", ".status.endpoint"),
      column(
        "Class",
        ".status.className",
        "string",
        wide("Class that the database is of; none: the operator's flags"),
      ),
      column("ProviderId", ".status.providerId", "string", wide("Identifier at the provider")),
      column("Reason", condition("Ready", "reason"), "string", wide("Why it is ready or not")),
      column(
        "SyncReason",
        condition("Synced", "reason"),
        "string",
        wide("Why it is as the spec asks or not"),
      ),
      column("Age", ".metadata.creationTimestamp", "date"),
    ],
    description:
      "An external database: a database in a cloud, or on a server outside the cluster, that the operator creates, keeps as spec asks, and deletes.",
    properties: {
      spec: {
        ...structuralSchema(specSchema),
        description: "What the database is to be.",
        "x-kubernetes-validations": SPEC_RULES,
      },
      status: {
        ...structuralSchema(statusSchema),
        description: "What the operator says of the database. Written by the operator alone.",
        // Without it a JSON patch "add /status/providerId" on a new resource is refused (rule 6).
        default: {},
      },
    },
    rules: RULES,
  });
}

/** The whole CustomResourceDefinition of the classes, as an object. */
export function classResourceDefinition(): Json {
  return definition({
    kind: CLASS_KIND,
    plural: CLASS_PLURAL,
    shortName: "edbclass",
    scope: "Cluster",
    columns: [
      column("Provider", ".spec.provider"),
      column("Default", ".metadata.annotations.db\\.my\\.domain/is-default-class"),
      column("Accepted", condition("Accepted", "status")),
      column("Ready", condition("Ready", "status")),
      column("Account", ".status.account", "string", wide("Identity of the provider account")),
      column("Reason", condition("Ready", "reason"), "string", wide("Why it is ready or not")),
      column("Age", ".metadata.creationTimestamp", "date"),
    ],
    description:
      "A class of external databases: the provider account that they are made in, with its credentials, and what a resource of the class may ask for. The one whose annotation db.my.domain/is-default-class is true holds for resources that name none.",
    properties: {
      spec: {
        ...structuralSchema(classSpecSchema),
        description: "Where databases of this class are made, and within which bounds.",
      },
      status: {
        ...structuralSchema(classStatusSchema),
        description: "What the operator says of the class. Written by the operator alone.",
        default: {},
      },
    },
  });
}
