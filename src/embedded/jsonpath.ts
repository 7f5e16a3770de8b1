/**
 * The part of Kubernetes' JSONPath that printer columns and selectable fields use:
 * `.a.b`, `['a']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`.
 *
 * @module
 */
import { isObject, type Json, member } from "./types.ts";

type Step = (value: Json) => Json[];

/** A compiled path. */
export type JsonPath = (value: Json) => Json[];

/** Compiles a path; throws an Error that quotes it where it cannot be read. */
export function compilePath(path: string): JsonPath {
  const steps: Step[] = [];
  let rest = path.trim().replace(/^\{(.*)\}$/, "$1").replace(/^\$/, "");
  while (rest !== "") {
    const match = /^\.([^.[\]]+)|^\[\?\((.*?)\)\]|^\[\*\]|^\['([^']*)'\]|^\["([^"]*)"\]|^\[(-?\d+)\]/.exec(
      rest,
    );
    if (match === null) {
      throw new Error(`JSONPath ${JSON.stringify(path)} cannot be read at ${JSON.stringify(rest)}`);
    }
    rest = rest.slice(match[0].length);
    const [text, dotted, filter, single, double, index] = match;
    const key = dotted ?? single ?? double;
    if (filter !== undefined) steps.push(filterStep(filter, path));
    else if (index !== undefined) {
      steps.push((value) => present(Array.isArray(value) ? value.at(Number(index)) : undefined));
    } else if (text === "[*]" || key === "*") steps.push(children);
    else if (key !== undefined) steps.push((value) => present(member(value, key.replaceAll("\\.", "."))));
  }
  return (value) => steps.reduce<Json[]>((values, step) => values.flatMap(step), [value]);
}

function present(value: Json | undefined): Json[] {
  return value === undefined ? [] : [value];
}

function children(value: Json): Json[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value).filter((item) => item !== undefined) : [];
}

function filterStep(filter: string, path: string): Step {
  const match = /^@((?:\.[^=!<>\s]+)?)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|(\S+))$/.exec(filter.trim());
  if (match === null) {
    const exists = /^@(\.\S+)$/.exec(filter.trim());
    if (exists === null) throw new Error(`JSONPath ${JSON.stringify(path)} has a filter that cannot be read`);
    const inner = compilePath(exists[1]!);
    return (value) => children(value).filter((item) => inner(item).length > 0);
  }
  const inner = compilePath(match[1] ?? "");
  const wanted = match[3] ?? match[4] ?? match[5] ?? "";
  return (value) =>
    children(value).filter((item) =>
      inner(item).some((found) => String(found) === wanted) === (match[2] === "==")
    );
}
