/** What a reason means and what to do about it, wherever the page names one. @module */
import type { JSX } from "preact";
import { REASON_MEANINGS, type ReasonMeaning, type Turn } from "../../statechart/reasons.ts";
import { CopyButton } from "../copy.tsx";
import { Link } from "../link.tsx";
import { reasonPath } from "../route.ts";
import { Prose } from "../text/prose.tsx";
import { shown } from "../text/safe.ts";

/** Whose turn it is, in words. */
export const TURN_WORDS: Readonly<Record<Turn, string>> = {
  person: "Needs a person",
  operator: "Goes on by itself",
  nobody: "Nothing to do",
};

/** The entry of a reason; none for a word that the machine does not use, such as that of a condition of somebody else's. */
export function meaningOf(reason: string): ReasonMeaning | undefined {
  return Object.hasOwn(REASON_MEANINGS, reason)
    ? REASON_MEANINGS[reason as keyof typeof REASON_MEANINGS]
    : undefined;
}

/** A reason as a link to its entry; as a word alone where it has none. */
export function ReasonLink({ reason }: { readonly reason: string }): JSX.Element {
  return meaningOf(reason) === undefined
    ? <span class="reason">{shown(reason)}</span>
    : <Link href={reasonPath(reason)} class="reason" label={`${reason}: what it means`}>{reason}</Link>;
}

/** Which resource the commands are for. */
export interface Whose {
  readonly namespace: string;
  readonly name: string;
}

/** What it means, what the operator does, what a person does, and the commands to do it with. */
export function Meaning({ meaning, whose }: {
  readonly meaning: ReasonMeaning;
  readonly whose?: Whose | undefined;
}): JSX.Element {
  const commands = commandsFor(meaning, whose);
  return (
    <div class="meaning">
      <p>
        <Prose text={meaning.means} />
      </p>
      <dl>
        <dt>The operator</dt>
        <dd>
          <Prose text={meaning.operator} />
        </dd>
        <dt>You</dt>
        <dd>
          <Prose text={meaning.person} />
        </dd>
      </dl>
      {commands.map((command) => (
        <div key={command} class="command">
          <pre><code>{command}</code></pre>
          <CopyButton text={() => command} what="Copy" />
        </div>
      ))}
    </div>
  );
}

/** A name of Kubernetes, which no shell reads as anything else. */
const NAME = /^[a-z0-9][a-z0-9.-]*$/;

/** The commands of a reason, for the resource that is looked at instead of for `orders`. */
export function commandsFor({ commands = [] }: ReasonMeaning, whose?: Whose): readonly string[] {
  if (!whose || !NAME.test(whose.namespace) || !NAME.test(whose.name)) return commands;
  return commands.map((command) =>
    command.includes("edb")
      ? command.replaceAll("kubectl ", `kubectl -n ${whose.namespace} `).replaceAll(/\borders\b/g, whose.name)
      : command
  );
}
