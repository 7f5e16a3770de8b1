/**
 * docs/statechart.md and docs/statechart.svg: the machine that runs, drawn and explained from itself.
 *
 * @module
 */
import { type ChartState, type ChartTransition, flatten, toChart } from "../../src/statechart/draw/chart.ts";
import { toMermaid } from "../../src/statechart/draw/mermaid.ts";
import { toSvg } from "../../src/statechart/draw/svg.ts";
import { databaseMachine } from "../../src/statechart/machine.ts";
import {
  ACTION_MEANINGS,
  DELAY_MEANINGS,
  EFFECT_MEANINGS,
  EVENT_MEANINGS,
  GUARD_MEANINGS,
  PASSIVE_MEANINGS,
  TAG_MEANINGS,
} from "../../src/statechart/meanings.ts";
import { stepOf, topOf } from "../../src/statechart/path.ts";
import { code, codes, generatedFrom, page, table } from "./markdown.ts";

/** The drawing of the machine. */
export function statechartSvg(): Promise<string> {
  return toSvg(databaseMachine);
}

/** The page about the machine. */
export function statechartPage(): string {
  const chart = toChart(databaseMachine);
  const tops = chart.root.states;
  const all = flatten(chart.root);
  const leaving = (path: string) => chart.transitions.filter((each) => each.source === path);
  const inside = all.filter((state) => state.path.includes("."));
  const named = (key: string) => inside.filter((state) => state.key === key);
  return page(
    generatedFrom("src/statechart/machine.ts and src/statechart/meanings.ts"),
    "# The statechart",
    "Every `ExternalDatabase` is run by an actor of its own, and every actor runs this statechart. What is drawn and told " +
      "here is read from the machine that runs, so that it cannot be out of date; `deno task statechart` prints the same. " +
      "[design.md](design.md#the-statechart) says why it is made so, [reasons.md](reasons.md) what the conditions say.",
    "![The statechart, with all that is in each of its six states](statechart.svg)",
    "## How to read it",
    "`status.state` is the top-level state. Inside each but the last it is the same: `deciding` looks at all that is known " +
      "and chooses one step; the state of that name runs one effect; what the effect brings is learned, and it is decided " +
      "again. Where there is nothing to do now the actor rests in `idle`, `waiting` or `backingOff`. So the whole state, " +
      "such as `Drifted.modify` or `Creating.backingOff`, says what is going on.",
    "## The top-level states",
    table(
      ["state", "meaning", "effects that it may run", "may lead to"],
      tops.map((state) => [
        code(state.path),
        state.description ?? "",
        codes(state.states.flatMap((child) => child.invokes)),
        codes([...leadsTo(state.path, chart.transitions)]),
      ]),
    ),
    "## Inside a state",
    table(
      ["state", "meaning", "how it is left"],
      Object.entries(PASSIVE_MEANINGS).map(([key, meaning]) => [
        code(key),
        meaning,
        exits(leaving(named(key)[0]?.path ?? "")),
      ]),
    ),
    "## Effects",
    "An effect is what the actor does to the world: a call to the cloud, a write to Kubernetes, or both. Its state is left " +
      "by its answer or its failure. One that only reads is also left for a deletion or an edit; one that may change " +
      "something at the cloud is left for nothing.",
    table(
      ["effect", "what it does", "in", "kind"],
      Object.entries(EFFECT_MEANINGS).map(([key, meaning]) => [
        code(key),
        meaning,
        codes(named(key).map((state) => topOf(state.path))),
        kindOf(named(key)[0], leaving(named(key)[0]?.path ?? "")),
      ]),
    ),
    "## Events",
    "What the supervisor and the observer tell an actor. An event only changes what is known; in a rest it also leads to a " +
      "new decision.",
    table(
      ["event", "meaning", "taken in", "leads to a decision"],
      Object.entries(EVENT_MEANINGS).map((
        [event, meaning],
      ) => [code(event), meaning, ...heard(event, inside, leaving)]),
    ),
    "## Guards",
    table(
      ["guard", "meaning", "asked in"],
      Object.entries(GUARD_MEANINGS).map(([guard, meaning]) => [
        code(guard),
        meaning,
        codes([
          ...new Set(
            chart.transitions.filter((each) => each.guard?.split("(")[0] === guard).map((each) =>
              stepOf(each.source)
            ),
          ),
        ]),
      ]),
    ),
    "## Actions, delays and tags",
    "An action changes what the actor knows and nothing else.",
    table(["action", "meaning"], entries(ACTION_MEANINGS)),
    table(["delay", "how long"], entries(DELAY_MEANINGS)),
    table(["tag", "meaning"], entries(TAG_MEANINGS)),
    "## All of it as Mermaid",
    "<details><summary>The whole chart, as <code>deno task statechart</code> prints it</summary>",
    mermaid(toMermaid(databaseMachine)),
    "</details>",
  );
}

function entries(meanings: Readonly<Record<string, string>>): string[][] {
  return Object.entries(meanings).map(([name, meaning]) => [code(name), meaning]);
}

function mermaid(text: string): string {
  return `\`\`\`mermaid\n${text.trimEnd()}\n\`\`\``;
}

/** The top-level states that one may lead to, in their order. */
function leadsTo(top: string, transitions: readonly ChartTransition[]): Set<string> {
  return new Set(
    transitions.filter(({ source, target }) =>
      source.startsWith(`${top}.`) && target !== undefined && !target.includes(".")
    ).map(({ target }) => target ?? ""),
  );
}

/** How a state without an effect is left. */
function exits(transitions: readonly ChartTransition[]): string {
  const events = transitions.filter((each) => each.trigger.kind === "event");
  const after = transitions.filter((each) => each.trigger.kind === "after");
  if (transitions.some((each) => each.trigger.kind === "always")) {
    return "at once: to another top-level state, an effect or a rest";
  }
  return `by ${
    events.length === Object.keys(EVENT_MEANINGS).length ? "any event" : `${events.length} events`
  }, or after ${codes(after.map((each) => each.trigger.name))}`;
}

function kindOf(state: ChartState | undefined, transitions: readonly ChartTransition[]): string {
  if (state?.tags.includes("mutating")) return "may change something at the cloud";
  return transitions.some((each) => each.guard === "bringsDeletion") ? "only reads" : "writes to Kubernetes";
}

/** Where an event is taken in, and where it leads to a new decision. */
function heard(
  event: string,
  inside: readonly ChartState[],
  leaving: (path: string) => readonly ChartTransition[],
): [string, string] {
  const rests = inside.filter((state) => state.tags.includes("rest"));
  const reads = inside.filter((state) => leaving(state.path).some((each) => each.guard === "bringsDeletion"));
  const works = inside.filter((state) => state.tags.includes("working"));
  const on = (states: readonly ChartState[]) =>
    states.flatMap((state) => leaving(state.path).filter((each) => each.trigger.name === event));
  const left = on(reads).filter((each) => each.target !== undefined);
  const guards = [...new Set(left.flatMap((each) => each.guard ?? []))];
  return [
    on(works).length > 0 ? "in rests and while an effect runs" : "in rests",
    [
      ...(on(rests).some((each) => each.target !== undefined) ? ["from a rest"] : []),
      ...(left.length > 0
        ? [`from a read${guards.length > 0 ? `, where ${guards.map(code).join(" or ")} holds` : ""}`]
        : []),
    ].join(", "),
  ];
}
