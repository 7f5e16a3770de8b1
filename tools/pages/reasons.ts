/**
 * docs/reasons.md: every reason that a condition can have.
 *
 * @module
 */
import { REASON_MEANINGS, reasonAnchor, type Turn } from "../../src/statechart/reasons.ts";
import { type Reason, REASONS } from "../../src/statechart/vocabulary.ts";
import { code, codes, generatedFrom, page, table } from "./markdown.ts";

const TURNS: Readonly<Record<Turn, string>> = {
  nobody: "nobody",
  operator: "the operator",
  person: "**you**",
};

/** The page about the reasons. */
export function reasonsPage(): string {
  const reasons = Object.keys(REASONS) as Reason[];
  return page(
    generatedFrom("src/statechart/reasons.ts"),
    "# Reasons",
    "`Ready` says whether the database can be used now, `Synced` whether it is as the spec asks. Each carries a reason, a word " +
      "of the list below, and a message, which says which database, what the provider said and what helps. The page of the " +
      "operator, `kubectl describe` and the Events use the same words. [describe.md](describe.md) shows what they look like.",
    "All of this is in the cluster too: the page of the operator has it under `/reasons`, each reason at an address of its own " +
      "(`/reasons/Conflict`), and beside the conditions of a database with the commands for that database.",
    "`kubectl get edb -o wide` shows the reasons of `Ready` and `Synced`. This prints both conditions, message and all:",
    "```sh\nkubectl get edb orders -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{\"\\n\"}{end}'\n```",
    "Whatever failed is tried again, with growing waits; an edit of the spec, or a new value of `db.my.domain/reconcile`, has it " +
      "tried at once.",
    table(
      ["reason", "on", "whose turn it is"],
      reasons.map((reason) => [
        `[${code(reason)}](${reasonAnchor(reason)})`,
        codes(REASONS[reason]),
        TURNS[REASON_MEANINGS[reason].turn],
      ]),
    ),
    ...reasons.flatMap(entry),
  );
}

function entry(reason: Reason): string[] {
  const { means, operator, person, commands = [] } = REASON_MEANINGS[reason];
  return [
    `## ${reason}`,
    means,
    `- **The operator:** ${operator}\n- **You:** ${person}`,
    commands.length === 0 ? "" : `\`\`\`sh\n${commands.join("\n")}\n\`\`\``,
  ];
}
