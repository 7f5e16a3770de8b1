/**
 * What stands on an arrow: lines of causes, each with the guard that they share.
 *
 * @module
 */
import type { ChartTransition, TriggerKind } from "./chart.ts";

/** One line of an arrow's label. */
export interface LabelLine {
  readonly causes: readonly { readonly kind: TriggerKind; readonly text: string }[];
  /** In brackets, or empty. */
  readonly guard: string;
}

/** What stands between the causes of one line. */
export const SEPARATOR = " · ";
/** Causes share a line up to this many characters. */
const LINE_CHARS = 36;

/** `lines` with `transition` on one of them, or on a new one. Guards that differ in their parameter alone become one. */
export function addLabel(
  lines: readonly LabelLine[],
  transition: ChartTransition,
  width = LINE_CHARS,
): LabelLine[] {
  const { trigger, guard } = transition;
  const text = trigger.kind === "event"
    ? trigger.name
    : trigger.kind === "after"
    ? `after ${trigger.name}`
    : trigger.kind;
  const cause = { kind: trigger.kind, text };
  // "always" with a guard is that guard alone: UML's notation.
  const causes = trigger.kind === "always" && guard !== undefined ? [] : [cause];
  const brackets = guard === undefined ? "" : `[${guard}]`;
  const open = choiceOf(guard);
  const near = open === undefined
    ? -1
    : lines.findIndex((line) =>
      line.guard !== brackets && choiceOf(line.guard.slice(1, -1)) === open &&
      causesText(line) === join(causes)
    );
  if (near >= 0) {
    return lines.map((line, index) => index === near ? { ...line, guard: `[${open}(…)]` } : line);
  }
  const said = lines.some((line) =>
    line.guard === brackets && line.causes.some((each) => each.text === text)
  );
  if (said) return [...lines];
  // Only the last line of its guard takes more, so that the order of the chart stays.
  const last = lines.findLastIndex((line) => line.guard === brackets);
  const line = lines[last];
  if (!line || causes.length === 0 || line.causes.length === 0 || !fits(line, text, width)) {
    return [...lines, { causes, guard: brackets }];
  }
  return lines.map((each, index) => index === last ? { ...line, causes: [...line.causes, ...causes] } : each);
}

function fits(line: LabelLine, text: string, width: number): boolean {
  return causesText(line).length + SEPARATOR.length + text.length <= width;
}

/** The text of a label's line as it is measured and read. */
export function labelText(line: LabelLine): string {
  return [causesText(line), line.guard].filter((part) => part !== "").join(" ");
}

/** `belongsTo` of a transition that is guarded by `belongsTo(Creating)` alone and leads to `Creating`. */
export function sameChoice({ trigger, guard, target }: ChartTransition): string | undefined {
  const choice = choiceOf(guard);
  if (choice === undefined || target === undefined || trigger.kind !== "always") return undefined;
  return guard === `${choice}(${target.split(".").at(-1)})` ? choice : undefined;
}

/** `text` in lines of at most `width` characters, broken at spaces. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines;
}

function choiceOf(guard: string | undefined): string | undefined {
  return /^([^()!&|]+)\([^()]*\)$/.exec(guard ?? "")?.[1];
}

function causesText(line: LabelLine): string {
  return join(line.causes);
}

function join(causes: LabelLine["causes"]): string {
  return causes.map((cause) => cause.text).join(SEPARATOR);
}
