/**
 * `x-kubernetes-validations`: CEL rules compiled once per schema and run with the server's semantics.
 *
 * A rule that reads `oldSelf` runs on updates only. A false rule on a part that did not change becomes a warning
 * (ratcheting); a rule that *errors* always refuses, which is how a stored value can block every patch (measured).
 *
 * @module
 */
import { type ASTNode, Environment, EvaluationError, Optional, type ParseResult } from "@marcbachmann/cel-js";
import { messageOf } from "../../core/text.ts";
import { type FieldError, type FieldErrorType, invalidValue } from "../status.ts";
import {
  isObject,
  type Json,
  jsonEqual,
  type JsonObject,
  type Schema,
  type ValidationRule,
} from "../types.ts";
import { at, oldItem } from "./validate.ts";

const environment = new Environment({
  unlistedVariablesAreDyn: true,
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
});
environment.registerFunction("string.find(string): string", (text: string, pattern: string) => {
  return new RegExp(pattern, "u").exec(text)?.[0] ?? "";
});
environment.registerFunction("string.findAll(string): list<string>", (text: string, pattern: string) => {
  return [...text.matchAll(new RegExp(pattern, "gu"))].map((match) => match[0]);
});
environment.registerFunction(
  "string.replace(string, string): string",
  (text: string, from: string, to: string) => {
    return text.replaceAll(from, () => to);
  },
);
environment.registerFunction("list.isSorted(): bool", (list: (bigint | number | string)[]) => {
  return list.every((item, i) => i === 0 || list[i - 1]! <= item);
});
environment.registerFunction("list.sum(): dyn", (list: bigint[]) => list.reduce((a, b) => a + b, 0n));
environment.registerFunction("list.min(): dyn", (list: bigint[]) => list.reduce((a, b) => (b < a ? b : a)));
environment.registerFunction("list.max(): dyn", (list: bigint[]) => list.reduce((a, b) => (b > a ? b : a)));

interface CompiledRule {
  readonly rule: ValidationRule;
  readonly run: ParseResult;
  readonly message: ParseResult | undefined;
  readonly usesOld: boolean;
}

const rulesOf = new WeakMap<Schema, CompiledRule[]>();
const hasRules = new WeakMap<Schema, boolean>();

/** Parses one rule or message; throws the parser's error. */
export function parseRule(text: string): ParseResult {
  return environment.parse(text.replace(HAS_OF_VALUE, "[$1].all(v__, has(v__.$2))"));
}

/** cel-js takes `has()` of names and their members alone; cel-go also of a call, as in `has(oldSelf.value().spec)`. */
const HAS_OF_VALUE = /\bhas\(\s*(\w+\.value\(\))\.([\w.]+)\s*\)/g;

function compile(schema: Schema): CompiledRule[] {
  let rules = rulesOf.get(schema);
  if (rules === undefined) {
    rules = (schema["x-kubernetes-validations"] ?? []).map((rule) => {
      const run = parseRule(rule.rule);
      const message = rule.messageExpression === undefined ? undefined : parseRule(rule.messageExpression);
      return { rule, run, message, usesOld: mentions(run.ast, "oldSelf") };
    });
    rulesOf.set(schema, rules);
  }
  return rules;
}

function mentions(node: unknown, name: string): boolean {
  if (Array.isArray(node)) return node.some((item) => mentions(item, name));
  if (typeof node !== "object" || node === null || !("op" in node)) return false;
  const { op, args } = node as ASTNode;
  return op === "id" ? args === name : mentions(args, name);
}

function anyRules(schema: Schema): boolean {
  let any = hasRules.get(schema);
  if (any === undefined) {
    hasRules.set(schema, false); // schemas do not recurse; this guards against a shared node
    any = (schema["x-kubernetes-validations"] ?? []).length > 0 ||
      Object.values(schema.properties ?? {}).some(anyRules) ||
      (schema.items !== undefined && anyRules(schema.items)) ||
      (isObject(schema.additionalProperties) && anyRules(schema.additionalProperties as Schema));
    hasRules.set(schema, any);
  }
  return any;
}

/** What the rules say: what refuses, and what was only let through. */
export interface RuleResult {
  readonly errors: FieldError[];
  readonly warnings: string[];
}

/** Runs every rule of the schema that applies to the value. */
export function runRules(value: Json, old: Json | undefined, schema: Schema): RuleResult {
  const result: RuleResult = { errors: [], warnings: [] };
  walk(value, old, schema, "", result, true);
  return result;
}

function walk(
  value: Json,
  old: Json | undefined,
  schema: Schema,
  path: string,
  out: RuleResult,
  root = false,
): void {
  if (!anyRules(schema)) return;
  const rules = compile(schema);
  if (rules.length > 0 && !(value === null && schema.nullable === true)) {
    const self = toCel(value, schema, root);
    const oldSelf = old === undefined ? undefined : toCel(old, schema, root);
    for (const rule of rules) runRule(rule, { value, old, self, oldSelf, schema, path }, out);
  }
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items !== undefined) {
      value.forEach((item, i) => walk(item, oldItem(item, schema, old), items, `${path}[${i}]`, out));
    }
    return;
  }
  if (!isObject(value)) return;
  const extra = isObject(schema.additionalProperties) ? schema.additionalProperties as Schema : undefined;
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const oldItemValue = isObject(old) ? old[key] : undefined;
    const property = schema.properties?.[key];
    if (property !== undefined) walk(item, oldItemValue, property, path === "" ? key : `${path}.${key}`, out);
    else if (extra !== undefined) walk(item, oldItemValue, extra, `${path}[${key}]`, out);
  }
}

interface Place {
  readonly value: Json;
  readonly old: Json | undefined;
  readonly self: unknown;
  readonly oldSelf: unknown;
  readonly schema: Schema;
  readonly path: string;
}

function runRule({ rule, run, message, usesOld }: CompiledRule, place: Place, out: RuleResult): void {
  const { value, old, path, schema } = place;
  let oldSelf = place.oldSelf;
  if (usesOld && rule.optionalOldSelf === true) {
    oldSelf = old === undefined ? Optional.none() : Optional.of(oldSelf);
  } else if (usesOld && old === undefined) return;
  const fallback = rule.message?.trim() || `failed rule: ${rule.rule.trim()}`;
  let holds: unknown;
  try {
    holds = run({ self: place.self, oldSelf });
  } catch (error) {
    const type = schema.type ?? "object";
    const text = `${celErrorText(error)} evaluating rule: ${rule.message?.trim() || rule.rule.trim()}`;
    out.errors.push(invalidValue(at(path), type, text));
    return;
  }
  if (holds === true) return;
  let text = fallback;
  if (message !== undefined) {
    try {
      const made: unknown = message({ self: place.self, oldSelf });
      if (typeof made === "string" && made.trim() !== "") text = made.trim();
    } catch {
      text = fallback; // the server falls back to `message` when the expression errors
    }
  }
  const field = at(path + (path === "" ? (rule.fieldPath ?? "").replace(/^\./, "") : rule.fieldPath ?? ""));
  const error = ruleError(rule.reason ?? "FieldValueInvalid", field, text, value);
  const unchanged = old !== undefined && jsonEqual(value, old);
  if (unchanged) out.warnings.push(`${error.field}: ${error.message}`);
  else out.errors.push(error);
}

function ruleError(type: FieldErrorType, field: string, text: string, value: Json): FieldError {
  if (type === "FieldValueForbidden") return { type, field, message: `Forbidden: ${text}` };
  if (type === "FieldValueRequired") return { type, field, message: `Required value: ${text}` };
  const scalar = typeof value !== "object" || value === null;
  if (type === "FieldValueDuplicate") {
    return { type, field, message: `Duplicate value: ${scalar ? JSON.stringify(value) : text}` };
  }
  return invalidValue(field, scalar ? value : undefined, text);
}

/** cel-go's words for the errors that a rule can end in. */
function celErrorText(error: unknown): string {
  if (!(error instanceof EvaluationError)) return messageOf(error);
  const summary = error.summary;
  switch (error.code) {
    case "invalid_duration":
      return "type conversion error from 'string' to 'google.protobuf.Duration'";
    case "index_out_of_bounds":
      return summary.replace(/^.*index (-?\d+) .*$/, "index out of bounds: $1");
    case "divide_by_zero":
    case "division_by_zero":
      return "division by zero";
    case "modulo_by_zero":
      return "modulus by zero";
    case "no_such_key":
      return summary.replace(/^No such key/, "no such key");
    default:
      return summary;
  }
}

const KEYWORDS = new Set(
  ("true false null in as break const continue else for function if import let loop package namespace return var void while")
    .split(" "),
);
KEYWORDS.delete("true");

/** The name of a property in a rule (KEP-2876: reserved words and characters are escaped). */
function celName(key: string): string {
  if (KEYWORDS.has(key)) return `__${key}__`;
  if (!/[-./]|__/.test(key)) return key;
  return key.replaceAll("__", "__underscores__").replaceAll("-", "__dash__").replaceAll(".", "__dot__")
    .replaceAll("/", "__slash__");
}

function toCel(value: Json, schema: Schema | undefined, root = false): unknown {
  if (typeof value === "number") {
    const asDouble = schema?.type === "number" || !Number.isInteger(value);
    return asDouble ? value : BigInt(value);
  }
  if (typeof value === "string" && schema?.format !== undefined) return formatted(value, schema.format);
  if (Array.isArray(value)) return value.map((item) => toCel(item, schema?.items));
  if (!isObject(value)) return value;
  const map: Record<string, unknown> = {};
  const extra = isObject(schema?.additionalProperties) ? schema.additionalProperties as Schema : undefined;
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const property = schema?.properties?.[key];
    if (root && key === "metadata") map[key] = readableMeta(item);
    else if (property !== undefined) map[celName(key)] = toCel(item, property);
    else map[key] = toCel(item, extra);
  }
  return map;
}

/** Of the metadata a rule sees the names alone. */
function readableMeta(meta: Json): JsonObject {
  const seen: JsonObject = {};
  if (isObject(meta)) {
    for (const key of ["name", "generateName"]) if (meta[key] !== undefined) seen[key] = meta[key];
  }
  return seen;
}

function formatted(value: string, format: string): unknown {
  if (format === "date-time") {
    const date = new Date(value);
    return Number.isNaN(date.getTime()) ? value : date;
  }
  if (format === "duration") return environment.evaluate("duration(x)", { x: value });
  return value;
}
