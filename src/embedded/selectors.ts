/**
 * Label and field selectors.
 *
 * @module
 */
import { badRequest } from "./status.ts";

/** Whether an object's labels or fields are selected. */
export type Selector = (values: Readonly<Record<string, string>>) => boolean;

const EVERYTHING: Selector = () => true;

/** Parses a label selector (`a=b,c!=d,e in (f,g),h notin (i),j,!k,n>5`); throws 400 in the server's words. */
export function parseLabelSelector(text: string | undefined): Selector {
  if (text === undefined || text.trim() === "") return EVERYTHING;
  const tokens = text.match(/\s+|==|!=|[=!<>(),]|[^\s=!<>(),]+/g)?.filter((token) => token.trim() !== "") ??
    [];
  const requirements: Selector[] = [];
  let i = 0;
  const bad = (message: string) => badRequest(message);
  const isWord = (token: string | undefined): token is string =>
    token !== undefined && !/^(==|!=|[=!<>(),])$/.test(token);
  while (i < tokens.length) {
    let negated = false;
    if (tokens[i] === "!") {
      negated = true;
      i++;
    }
    const key = tokens[i];
    if (!isWord(key)) {
      throw bad(
        `found '${key ?? ""}', expected: ${negated ? "identifier" : "!, identifier, or 'end of string'"}`,
      );
    }
    i++;
    const operator = tokens[i];
    if (operator === undefined || operator === ",") {
      requirements.push(
        negated ? (values) => values[key] === undefined : (values) => values[key] !== undefined,
      );
    } else if (operator === "in" || operator === "notin") {
      const wanted = new Set<string>();
      if (tokens[++i] !== "(") {
        throw bad(`unable to parse requirement: found '${tokens[i] ?? ""}' expected: '('`);
      }
      i++;
      for (; tokens[i] !== ")"; i++) {
        const token = tokens[i];
        if (token === undefined) throw bad("unable to parse requirement: found '', expected: ',' or ')'");
        if (token !== ",") wanted.add(token);
      }
      i++;
      if (wanted.size === 0) wanted.add("");
      requirements.push(
        operator === "in"
          ? (values) => values[key] !== undefined && wanted.has(values[key])
          : (values) => values[key] === undefined || !wanted.has(values[key]),
      );
    } else if (/^(=|==|!=|<|>)$/.test(operator)) {
      i++;
      const value = isWord(tokens[i]) ? tokens[i++]! : "";
      requirements.push(comparison(key, operator, value));
    } else {
      throw bad(`unable to parse requirement: found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
    }
    if (i < tokens.length) {
      if (tokens[i] !== ",") throw bad(`found '${tokens[i]}', expected: ',' or 'end of string'`);
      i++;
      if (i === tokens.length) throw bad("found '', expected: identifier after ','");
    }
  }
  return (values) => requirements.every((requirement) => requirement(values));
}

function comparison(key: string, operator: string, value: string): Selector {
  switch (operator) {
    case "!=":
      return (values) => values[key] !== value;
    case "<":
      return (values) => Number(values[key] ?? NaN) < Number(value);
    case ">":
      return (values) => Number(values[key] ?? NaN) > Number(value);
    default:
      return (values) => values[key] === value;
  }
}

/** One term of a field selector. */
interface FieldTerm {
  readonly field: string;
  readonly negated: boolean;
  readonly value: string;
}

/** A parsed field selector. */
export interface FieldSelector {
  readonly matches: Selector;
  /** The one value that a field must have, where the selector says so. */
  exact(field: string): string | undefined;
}

/** Parses a field selector; throws 400 for bad syntax and for fields that the kind does not select by. */
export function parseFieldSelector(text: string | undefined, supported: readonly string[]): FieldSelector {
  if (text === undefined || text === "") return { matches: EVERYTHING, exact: () => undefined };
  const terms: FieldTerm[] = splitTerms(text).map((term) => {
    const match = /^(.*?)(!=|==|=)(.*)$/.exec(term);
    if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    return { field: match[1]!, negated: match[2] === "!=", value: match[3]!.replace(/\\([\\,=])/g, "$1") };
  });
  for (const { field } of terms) {
    if (!supported.includes(field)) throw badRequest(`field label not supported: ${field}`);
  }
  return {
    matches: (values) =>
      terms.every(({ field, negated, value }) => ((values[field] ?? "") === value) !== negated),
    exact: (field) => terms.find((term) => term.field === field && !term.negated)?.value,
  };
}

function splitTerms(text: string): string[] {
  return text.split(/(?<!\\),/).filter((term) => term !== "");
}
