/**
 * What a structural schema in a CRD must be (the rules that manifests break in practice).
 *
 * @module
 */
import { messageOf } from "../../core/text.ts";
import { parseRule } from "../schema/cel.ts";
import { compiled } from "../schema/validate.ts";
import { type FieldError, forbiddenValue, invalidValue, requiredValue } from "../status.ts";
import { isObject, type Schema, type ValidationRule } from "../types.ts";

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];

/** What is wrong with a schema. */
export function schemaErrors(schema: Schema, path: string, root = true): FieldError[] {
  const errors: FieldError[] = [];
  const free = schema["x-kubernetes-int-or-string"] === true ||
    schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (schema.type === undefined || schema.type === "") {
    if (!free) {
      const detail = root ? "must not be empty at the root" : "must not be empty for specified object fields";
      errors.push(requiredValue(`${path}.type`, detail));
    }
  } else if (!TYPES.includes(schema.type)) {
    errors.push(
      invalidValue(
        `${path}.type`,
        schema.type,
        "must be one of array, boolean, integer, number, object, string",
      ),
    );
  } else if (root && schema.type !== "object") {
    errors.push(invalidValue(`${path}.type`, schema.type, "must be object at the root"));
  }
  if (schema.additionalProperties !== undefined) {
    if (root) errors.push(forbiddenValue(`${path}.additionalProperties`, "must not be used at the root"));
    if (schema.properties !== undefined) {
      errors.push(
        forbiddenValue(
          `${path}.additionalProperties`,
          "additionalProperties and properties are mutual exclusive",
        ),
      );
    }
    if (isObject(schema.additionalProperties)) {
      errors.push(
        ...schemaErrors(schema.additionalProperties as Schema, `${path}.additionalProperties`, false),
      );
    }
  }
  if (schema.type === "array" && schema.items === undefined) {
    errors.push(requiredValue(`${path}.items`, "must be specified"));
  }
  if (schema.items !== undefined) errors.push(...schemaErrors(schema.items, `${path}.items`, false));
  const bad = schema.pattern === undefined ? undefined : patternError(schema.pattern);
  if (bad !== undefined) {
    const detail = `must be a valid regular expression, but isn't: error parsing regexp: ${bad}`;
    errors.push(invalidValue(`${path}.pattern`, schema.pattern, detail));
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (root && (key === "metadata" || key === "apiVersion" || key === "kind")) continue;
    errors.push(...schemaErrors(property, `${path}.properties[${key}]`, false));
  }
  if (
    schema["x-kubernetes-list-type"] === "map" && (schema["x-kubernetes-list-map-keys"] ?? []).length === 0
  ) {
    errors.push(
      requiredValue(
        `${path}.x-kubernetes-list-map-keys`,
        "must not be empty if x-kubernetes-list-type is map",
      ),
    );
  }
  (schema["x-kubernetes-validations"] ?? []).forEach((rule, i) => {
    errors.push(...ruleErrors(rule, `${path}.x-kubernetes-validations[${i}]`));
  });
  return errors;
}

function patternError(pattern: string): string | undefined {
  if (/\(\?(=|!|<=|<!)/.test(pattern)) return "invalid or unsupported Perl syntax"; // RE2 has no lookarounds
  try {
    compiled(pattern);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function ruleErrors(rule: ValidationRule, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (!rule.rule?.trim()) return [requiredValue(`${path}.rule`, "rule is not specified")];
  for (const key of ["rule", "messageExpression"] as const) {
    const text = rule[key];
    if (text === undefined || text === "") continue;
    try {
      parseRule(text);
    } catch (error) {
      const shown = {
        Rule: rule.rule,
        Message: rule.message ?? "",
        MessageExpression: rule.messageExpression ?? "",
        Reason: rule.reason ?? null,
        FieldPath: rule.fieldPath ?? "",
        OptionalOldSelf: rule.optionalOldSelf ?? null,
      };
      const why = messageOf(error);
      errors.push(invalidValue(`${path}.${key}`, shown, `compilation failed: ERROR: ${why}`));
    }
  }
  return errors;
}
