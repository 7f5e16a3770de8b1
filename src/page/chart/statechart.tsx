/**
 * The statechart, drawn: its top-level states as cards with their steps, and the ways between them.
 *
 * With `counts` it shows a fleet, with `frame` one actor: the state that it is in is lit, and the way that it came by.
 *
 * @module
 */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { ChartAnswer } from "../../server/api/types.ts";
import { stepOf } from "../../statechart/path.ts";
import type { Frame } from "../database/steps.ts";
import { familyClass } from "../families.ts";
import { follow } from "../link.tsx";
import { shown } from "../text/safe.ts";
import { brief, count, plural } from "../text/time.ts";
import { type Flows, strength, wayKey } from "./flow.ts";
import { type Card, CHIP, type Chip, type Overview, overview, type Way } from "./geometry.ts";
import { Legend } from "./legend.tsx";
import { measure, squeezed, wrapText } from "./wrap.ts";
import { Zoom } from "./zoom.tsx";

/** What {@linkcode Statechart} takes. */
export interface StatechartProps {
  readonly chart: ChartAnswer;
  /** How many actors are in a state, by its path. */
  readonly counts?: ((path: string) => number) | undefined;
  readonly flows?: Flows | undefined;
  /** One actor's moment. */
  readonly frame?: Frame | undefined;
  /** Where a state leads on a click. */
  readonly hrefOf?: ((path: string) => string) | undefined;
  /** What the pointer or the focus is on: a state's path, or the key of a way. */
  readonly near?: string | undefined;
  readonly onNear?: ((what: string | undefined) => void) | undefined;
  /** Width before the first measuring. */
  readonly width?: number | undefined;
}

const START_WIDTH = 1_080;

/** The drawing, as wide as there is room. */
export function Statechart(props: StatechartProps): JSX.Element {
  const { chart, frame } = props;
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(props.width ?? START_WIDTH);
  useLayoutEffect(() => {
    const element = holder.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(300, Math.floor(element.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const terse = frame !== undefined;
  const drawn = useMemo(() => overview(chart, width, terse), [chart, width, terse]);
  return (
    <div class="statechart" ref={holder}>
      <Zoom
        width={drawn.width}
        height={drawn.height}
        label="Statechart"
        svg={{
          class: frame ? "one" : "all",
          role: "group",
          label: frame ? `Statechart, ${shown(frame.active)} is active` : "Statechart of all databases",
        }}
        under={<Legend />}
      >
        <g class="ways" aria-hidden="true">
          {drawn.ways.map((way) => <WayLine key={wayKey(way.move)} way={way} {...props} />)}
        </g>
        {drawn.cards.map((card) => <CardBox key={card.state.path} card={card} drawn={drawn} {...props} />)}
        <g class="flows" aria-hidden="true">
          {drawn.ways.map((way) => <FlowLabel key={wayKey(way.move)} way={way} flows={props.flows} />)}
        </g>
      </Zoom>
    </div>
  );
}

function WayLine({ way, flows, frame, near, onNear }: StatechartProps & { readonly way: Way }): JSX.Element {
  const key = wayKey(way.move);
  const { from, to } = way.move;
  const lit = frame?.passed.some((top, index) => top === from && frame.passed[index + 1] === to) ?? false;
  const touched = near === key || near === from || near === to;
  const classes = [
    "way",
    way.main ? "main" : "side",
    `s${strength(flows?.get(key))}`,
    familyClass(to),
    lit ? "lit" : "",
    touched ? "near" : "",
  ];
  return (
    <g
      class={classes.join(" ")}
      onPointerEnter={() => onNear?.(key)}
      onPointerLeave={() => onNear?.(undefined)}
    >
      <path class="reach" d={way.d} />
      <path class="line" d={way.d} />
      <path class="head" d={way.head} />
    </g>
  );
}

function FlowLabel(
  { way, flows }: { readonly way: Way; readonly flows?: Flows | undefined },
): JSX.Element | null {
  const recent = flows?.get(wayKey(way.move))?.lastMinute ?? 0;
  if (recent === 0) return null;
  const text = brief(recent);
  const [x, y] = way.at;
  const width = 12 + text.length * 7;
  return (
    <g class={`flow ${familyClass(way.move.to)}`}>
      <rect x={x - width / 2} y={y - 9} width={width} height="18" rx="9" />
      <text x={x} y={y + 4} text-anchor="middle">{text}</text>
    </g>
  );
}

interface CardProps extends StatechartProps {
  readonly card: Card;
  readonly drawn: Overview;
}

function CardBox(props: CardProps): JSX.Element {
  const { card, drawn, counts, frame, hrefOf, near, onNear } = props;
  const { state, x, y, width, height } = card;
  const number = counts?.(state.path);
  const lit = frame?.top === state.path;
  const passed = !lit && (frame?.passed.includes(state.path) ?? false);
  const href = hrefOf?.(state.path);
  const classes = [
    "card",
    familyClass(state.path),
    lit ? "lit" : "",
    passed ? "passed" : "",
    number === 0 ? "none" : "",
    near === state.path ? "near" : "",
  ];
  const said = [
    state.path,
    number === undefined ? "" : `: ${plural(number, "database")}`,
    lit ? ", active" : "",
    state.description === "" ? "" : `. ${state.description}`,
  ].join("");
  const compact = drawn.compact;
  const body = (
    <>
      <rect class="plate" x={x} y={y} width={width} height={height} rx="14" />
      <rect class="tint" x={x} y={y} width={width} height={height} rx="14" />
      <circle class="dot" cx={x + 18} cy={y + (compact ? 20 : 23)} r="4.5" />
      <text class="title" x={x + 30} y={y + (compact ? 25 : 29)}>{state.path}</text>
      {number !== undefined && (
        <text
          class="count"
          x={compact ? x + 14 : x + width - 16}
          y={y + (compact ? 56 : 32)}
          text-anchor={compact ? "start" : "end"}
        >
          {count(number)}
        </text>
      )}
      {compact ? <text class="inner" x={x + 14} y={y + 77}>{compactStep(props)}</text> : !drawn.terse &&
        wrapText(state.description, width - 32, 11.5, 2).map((line, index) => (
          <text key={index} class="about" x={x + 16} y={y + 50 + index * 14}>{line}</text>
        ))}
    </>
  );
  return (
    <g
      class={classes.join(" ")}
      onPointerEnter={() => onNear?.(state.path)}
      onPointerLeave={() => onNear?.(undefined)}
    >
      {href === undefined ? <g role="img" aria-label={said}>{body}</g> : (
        <a
          href={href}
          onClick={(event) => follow(event, href)}
          onFocus={() => onNear?.(state.path)}
          onBlur={() => onNear?.(undefined)}
        >
          {body}
        </a>
      )}
      {card.chips.map((chip) => <ChipBox key={chip.step.path} chip={chip} {...props} />)}
    </g>
  );
}

/** In a narrow card the one step that says most. */
function compactStep({ card, frame, counts }: CardProps): string {
  if (frame) return frame.top === card.state.path ? stepOf(frame.active) : "";
  const busiest = [...card.state.steps].sort((a, b) => (counts?.(b.path) ?? 0) - (counts?.(a.path) ?? 0))[0];
  const number = busiest && counts?.(busiest.path) || 0;
  return busiest && number > 0 ? `${busiest.title} ${count(number)}` : "";
}

function ChipBox({ chip, counts, frame, hrefOf }: CardProps & { readonly chip: Chip }): JSX.Element {
  const { step, x, y, width } = chip;
  const { path, title, kind } = step;
  const number = counts?.(path);
  const lit = frame?.active === path;
  const via = !lit && (frame?.from === path || (frame?.via.includes(path) ?? false));
  const classes = [
    "chip",
    kind,
    lit ? "lit" : "",
    via ? "via" : "",
    number === undefined ? "" : number > 0 ? "some" : "none",
  ];
  const href = hrefOf && number ? hrefOf(path) : undefined;
  const weight = lit || number ? 640 : 400;
  const room = width - 25 - (number ? measure(count(number), 11.5, 640) + 6 : 0);
  const body = (
    <>
      {href === undefined && <title>{step.description}</title>}
      <rect x={x} y={y} width={width} height={CHIP} rx="6" />
      {kind === "effect" && <path class="mark" d={`M${x + 7} ${y + 6.5}l6.5 4-6.5 4z`} />}
      {kind === "rest" && <circle class="mark" cx={x + 10} cy={y + 10.5} r="2.5" />}
      {kind === "choice" && <path class="mark" d={`M${x + 10} ${y + 6.5}l4 4-4 4-4-4z`} />}
      <text
        x={x + 19}
        y={y + 14.5}
        textLength={squeezed(title, room, 11.5, weight)}
        lengthAdjust="spacingAndGlyphs"
      >
        {title}
      </text>
      {number !== undefined && number > 0 && (
        <text class="number" x={x + width - 7} y={y + 14.5} text-anchor="end">{count(number)}</text>
      )}
    </>
  );
  return href === undefined ? <g class={classes.join(" ")}>{body}</g> : (
    <a
      class={classes.join(" ")}
      href={href}
      onClick={(event) => follow(event, href)}
    >
      {body}
    </a>
  );
}
