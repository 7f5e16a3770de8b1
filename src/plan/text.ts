/**
 * A plan for people: a line for each thing that would be done, and one for each resource of which nothing would.
 *
 * @module
 */
import { withoutUnsafe } from "../core/text.ts";
import type { FieldChange, Plan, PlannedAction, PlannedResource } from "./types.ts";

const COLOURS = { green: 32, yellow: 33, red: 31, cyan: 36, dim: 2 } as const;
type Colour = keyof typeof COLOURS;

interface Line {
  readonly sign: "+" | "~" | "-" | "=" | "!";
  readonly word: string;
  readonly what: string;
  readonly why: string;
}

const SIGN_COLOURS: Readonly<Record<Line["sign"], Colour>> = {
  "+": "green",
  "~": "yellow",
  "-": "red",
  "=": "dim",
  "!": "cyan",
};

/** The text, with a newline at its end. With `colours`, terminal colours; what users wrote can never bring its own. */
export function planText(plan: Plan, colours: boolean): string {
  const paint = (text: string, colour: Colour) => colours ? `\x1b[${COLOURS[colour]}m${text}\x1b[0m` : text;
  const rows = plan.resources.flatMap((resource) => linesOf(resource).map((line) => ({ resource, line })));
  const word = Math.max(0, ...rows.map(({ line }) => line.word.length));
  const name = Math.max(0, ...rows.map(({ resource }) => nameOf(resource).length));
  const body = rows.map(({ resource, line: { sign, word: said, what, why } }) => {
    const head = `${sign} ${said.padEnd(word)}  ${nameOf(resource).padEnd(name)}`;
    const reason = why === "" ? "" : `  (${why})`;
    return `${paint(head, SIGN_COLOURS[sign])}  ${safe(what)}${paint(safe(reason), "dim")}`.trimEnd();
  });
  const { provider, cluster, skipped } = plan;
  const account = provider.error === null
    ? `account ${provider.account ?? "unknown"}`
    : `no answer: ${provider.error}`;
  const head = [
    `Cluster: ${cluster ?? "none; every manifest is taken for a new resource"}`,
    `Provider: ${provider.name}, ${account}`,
    ...(skipped > 0 ? [`Documents of other kinds, which are not looked at: ${skipped}`] : []),
  ].map(safe);
  return [...head, "", ...body, ...(body.length > 0 ? [""] : []), summary(plan.resources), ""].join("\n");
}

function nameOf({ namespace, name }: PlannedResource): string {
  return safe(`${namespace}/${name}`);
}

function safe(text: string): string {
  return withoutUnsafe(text);
}

function linesOf({ outcome, actions, reason, message }: PlannedResource): Line[] {
  switch (outcome) {
    case "change": {
      // That the resource goes with its database need not be said twice.
      const shown = actions.filter((a) => a.action !== "release" || actions.length === 1);
      return shown.map(lineOf);
    }
    case "nothing":
      return [{ sign: "=", word: "nothing", what: message, why: "" }];
    case "invalid":
      return [{ sign: "!", word: "invalid", what: message, why: "" }];
    case "cannot":
      return [{ sign: "!", word: "cannot", what: `${reason}: ${message}`, why: "" }];
  }
}

function lineOf(action: PlannedAction): Line {
  const { why } = action;
  switch (action.action) {
    case "create":
      return {
        sign: "+",
        word: "create",
        what: `${action.engine} ${action.version}, ${action.sizeGb} GiB`,
        why,
      };
    case "adopt":
      return { sign: "+", word: "adopt", what: `the database ${id(action.id)}`, why };
    case "modify": {
      const word = action.changes.some((c) => c.field === "version") ? "upgrade" : "modify";
      return { sign: "~", word, what: `${id(action.id)}: ${action.changes.map(change).join(", ")}`, why };
    }
    case "delete": {
      const kept = action.finalSnapshot === null ? "" : `, after the final snapshot ${action.finalSnapshot}`;
      return { sign: "-", word: "delete", what: `the database ${id(action.id)}${kept}`, why };
    }
    case "retain":
      return {
        sign: "~",
        word: "retain",
        what: `the database ${id(action.id)}, which is marked and kept`,
        why,
      };
    case "secret":
      return { sign: "~", word: "write", what: `the connection Secret ${action.name}`, why };
    case "removeSecret":
      return { sign: "-", word: "remove", what: `the connection Secret ${action.name}`, why };
    case "password":
      return { sign: "~", word: "password", what: `of the database ${id(action.id)}`, why };
    case "release":
      return { sign: "-", word: "release", what: "the resource", why };
  }
}

function id(told: string | null): string {
  return told ?? "that is made";
}

function change({ field, from, to }: FieldChange): string {
  return `${field} ${from ?? "unknown"} → ${to}`;
}

function summary(resources: readonly PlannedResource[]): string {
  const of = (...actions: readonly PlannedAction["action"][]) =>
    resources.flatMap((r) => r.actions).filter((a) => actions.includes(a.action)).length;
  const outcomes = (outcome: PlannedResource["outcome"]) =>
    resources.filter((r) => r.outcome === outcome).length;
  const parts = [
    `${of("create")} to create`,
    `${of("adopt")} to adopt`,
    `${of("modify")} to change`,
    `${of("delete")} to delete`,
    `${of("retain")} to retain`,
    `${outcomes("nothing")} unchanged`,
  ];
  if (outcomes("cannot") > 0) parts.push(`${outcomes("cannot")} that cannot be`);
  if (outcomes("invalid") > 0) parts.push(`${outcomes("invalid")} invalid`);
  return `Plan: ${parts.join(", ")}.`;
}
