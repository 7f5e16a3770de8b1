/**
 * Where the top-level states and the ways between them stand, for a width: a pure function, at scale 1, so that text
 * stays as large as it is meant on a phone and on a wall.
 *
 * The states run in their order through a snake of rows: the first row from left to right, the next from right to left.
 * Ways between neighbours are straight; the others bow above, below and between the rows.
 *
 * @module
 */
import type { ChartAnswer, ChartMove, ChartStep, ChartTop } from "../../server/api/types.ts";
import { wayKey } from "./flow.ts";

/** A placed state. */
export interface Card {
  readonly state: ChartTop;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Its steps, two or more abreast; none where the card is too narrow for them. */
  readonly chips: readonly Chip[];
}

/** A placed step, absolute. */
export interface Chip {
  readonly step: ChartStep;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** A placed way. */
export interface Way {
  readonly move: ChartMove;
  /** An SVG path, and that of its head. */
  readonly d: string;
  readonly head: string;
  /** Where its number stands. */
  readonly at: readonly [number, number];
  /** It leads to the next state in the machine's order, or back from it. */
  readonly main: boolean;
}

/** The whole. */
export interface Overview {
  readonly width: number;
  readonly height: number;
  /** Cards without steps. */
  readonly compact: boolean;
  /** Cards without their meaning. */
  readonly terse: boolean;
  readonly cards: readonly Card[];
  readonly ways: readonly Way[];
}

/** Height of a card's head: with its name and number, and with its meaning too. */
const HEAD = 46;
const TALL_HEAD = 76;
/** Height of a step. */
export const CHIP = 21;
/** Height of a row of steps. */
const CHIP_ROW = 25;
const PAD = 14;
const COMPACT_HEIGHT = 92;
/** Least width of a card that shows its steps. */
const ROOMY = 208;

/** The overview of `chart` in `width` pixels; `terse` cards leave their meaning out. */
export function overview(chart: ChartAnswer, width: number, terse = false): Overview {
  const head = terse ? HEAD : TALL_HEAD;
  const columns = width >= 780 ? 3 : 2;
  const gapX = width >= 1_080 ? 112 : width >= 780 ? 72 : 44;
  const edge = width >= 780 ? 16 : 8;
  const cardWidth = Math.min(340, Math.floor((width - 2 * edge - (columns - 1) * gapX) / columns));
  const compact = cardWidth < ROOMY;
  const left = Math.floor((width - columns * cardWidth - (columns - 1) * gapX) / 2);
  const abreast = cardWidth >= 330 ? 3 : 2;
  const rows = Math.ceil(chart.states.length / columns);
  const gapY = compact ? 60 : terse ? 84 : 104;
  const bow = compact ? 30 : 46;
  const cards: Card[] = [];
  let y = bow;
  for (let row = 0; row < rows; row++) {
    const states = chart.states.slice(row * columns, (row + 1) * columns);
    const heights = states.map((state) =>
      compact ? COMPACT_HEIGHT : head + Math.ceil(state.steps.length / abreast) * CHIP_ROW + PAD - 4
    );
    const height = Math.max(...heights);
    states.forEach((state, index) => {
      const column = row % 2 === 0 ? index : columns - 1 - index;
      const x = left + column * (cardWidth + gapX);
      cards.push({
        state,
        x,
        y,
        width: cardWidth,
        // A state with nothing inside is no taller than its head; all others of a row are as tall as the tallest.
        height: state.steps.length === 0 ? heights[index] ?? height : height,
        chips: compact ? [] : chipsOf(state, x, y + head, cardWidth, abreast),
      });
    });
    y += height + gapY;
  }
  const height = y - gapY + bow;
  return {
    width,
    height,
    compact,
    terse,
    cards,
    ways: waysOf(chart, cards, bow, terse && !compact ? 28 : 42),
  };
}

function chipsOf(state: ChartTop, x: number, y: number, width: number, abreast: number): Chip[] {
  const gap = 6;
  const each = Math.floor((width - 2 * PAD - (abreast - 1) * gap) / abreast);
  return state.steps.map((step, index) => ({
    step,
    x: x + PAD + (index % abreast) * (each + gap),
    y: y + Math.floor(index / abreast) * CHIP_ROW,
    width: each,
  }));
}

type Side = "top" | "right" | "bottom" | "left";
type Point = readonly [number, number];

interface End {
  readonly card: Card;
  readonly side: Side;
  /** Towards what it leads, for the order of ends on one side. */
  readonly towards: number;
  /** It leads straight to the card below or above. */
  readonly straight: boolean;
  readonly key: string;
}

interface Plan {
  readonly move: ChartMove;
  readonly out: Side;
  /** How far a way between ends on the same side bows out. */
  readonly bow: number;
  readonly main: boolean;
  readonly key: string;
}

/** Which sides a way leaves and enters by. */
function sides(a: Card, b: Card): readonly [Side, Side] {
  if (a.y === b.y) {
    const near = Math.abs(a.x - b.x) < a.width * 1.9;
    if (near) return a.x < b.x ? ["right", "left"] : ["left", "right"];
    return a.y < 100 ? ["top", "top"] : ["bottom", "bottom"];
  }
  return a.y < b.y ? ["bottom", "top"] : ["top", "bottom"];
}

function waysOf(chart: ChartAnswer, cards: readonly Card[], bow: number, shoulder: number): Way[] {
  const find = (path: string) => cards.findIndex((card) => card.state.path === path);
  const rows = [...new Set(cards.map((card) => card.y))].sort((a, b) => a - b);
  const ends: End[] = [];
  const plans = chart.moves.flatMap((move): Plan[] => {
    const [i, j] = [find(move.from), find(move.to)];
    const [a, b] = [cards[i], cards[j]];
    if (!a || !b) return [];
    const [out, into] = sides(a, b);
    const key = wayKey(move);
    const straight = a.x === b.x && Math.abs(rows.indexOf(a.y) - rows.indexOf(b.y)) === 1;
    const onward = out === "right" || out === "bottom" || out === into && a.x < b.x;
    // There and back lie side by side and do not cross: of two ways between the same cards one keeps to one side.
    const aside = onward ? -0.5 : 0.5;
    const mirrored = out === into;
    const across = out === "left" || out === "right";
    const towards = (from: Card, to: Card, sign: number) => (across ? 0 : to.x - from.x) + aside * sign;
    ends.push({ card: a, side: out, towards: towards(a, b, 1), straight, key: `${key} out` });
    ends.push({ card: b, side: into, towards: towards(b, a, mirrored ? -1 : 1), straight, key: `${key} in` });
    return [{ move, out, bow: mirrored && !onward ? bow * 0.6 : bow, main: Math.abs(i - j) === 1, key }];
  });
  const points = spread(ends, shoulder);
  return plans.map(({ move, out, bow, main, key }): Way => {
    const from = points.get(`${key} out`) ?? [0, 0];
    const to = points.get(`${key} in`) ?? [0, 0];
    return { move, main, ...curve(from, to, out, bow) };
  });
}

/** Distance of two ways that lie side by side. */
const BESIDE = 26;
/** Where the corners of a card begin, which no way leaves by. */
const CORNER = 16;

/** Ends share the side of a card, in the order of what they lead to; those that lead straight keep to the middle. */
function spread(ends: readonly End[], shoulder: number): Map<string, Point> {
  const groups = Map.groupBy(ends, ({ card, side }) => `${card.state.path} ${side}`);
  const points = new Map<string, Point>();
  for (const group of groups.values()) {
    const ordered = group.toSorted((a, b) => a.towards - b.towards || (a.key < b.key ? -1 : 1));
    const [first] = ordered;
    if (!first) continue;
    const { card, side } = first;
    if (side === "left" || side === "right") {
      const x = side === "left" ? card.x : card.x + card.width;
      ordered.forEach(({ key }, index) => {
        const aside = (index - (ordered.length - 1) / 2) * BESIDE;
        points.set(key, [x, card.y + shoulder + aside]);
      });
      continue;
    }
    const y = side === "top" ? card.y : card.y + card.height;
    const straight = ordered.filter((end) => end.straight);
    const others = ordered.filter((end) => !end.straight);
    const half = straight.length > 0;
    const room = half ? (card.width - straight.length * BESIDE) / 2 - CORNER : card.width - 2 * CORNER;
    straight.forEach(({ key }, index) => {
      points.set(key, [card.x + card.width / 2 + (index - (straight.length - 1) / 2) * BESIDE, y]);
    });
    for (const after of [false, true]) {
      const some = others.filter((end) => after === (half && end.towards >= 0));
      const from = after ? card.x + card.width - CORNER - room : card.x + CORNER;
      some.forEach(({ key }, index) => points.set(key, [from + room * (index + 0.5) / some.length, y]));
    }
  }
  return points;
}

function curve([x1, y1]: Point, [x2, y2]: Point, out: Side, bow: number): Pick<Way, "d" | "at" | "head"> {
  if (out === "left" || out === "right") {
    const to = x2 > x1 ? 1 : -1;
    const middle = (x1 + x2) / 2;
    return {
      d: `M${px(x1)} ${px(y1)}C${px(middle)} ${px(y1)} ${px(middle)} ${px(y2)} ${px(x2 - to * 6)} ${px(y2)}`,
      head: arrowHead(x2, y2, to, 0),
      at: [px(middle), px((y1 + y2) / 2)],
    };
  }
  const bowed = out === "bottom" ? y2 <= y1 || Math.abs(y2 - y1) < bow : y2 >= y1;
  const far = out === "top" ? Math.min(y1, y2) - bow : Math.max(y1, y2) + bow;
  const down = (out === "bottom") === bowed ? -1 : 1;
  const reach = (y2 - y1) * 0.55;
  const [c1, c2] = bowed ? [far, far] : [y1 + reach, y2 - reach];
  return {
    d: `M${px(x1)} ${px(y1)}C${px(x1)} ${px(c1)} ${px(x2)} ${px(c2)} ${px(x2)} ${px(y2 - down * 6)}`,
    head: arrowHead(x2, y2, 0, down),
    // Nearer to where it begins, so that those of two ways side by side stand apart.
    at: bowed
      ? [px((x1 + x2) / 2), px((y1 + y2) / 8 + far * 0.75)]
      : [px(between(x1, x1, x2, x2)), px(between(y1, c1, c2, y2))],
  };
}

/** How far along a way its number stands. */
const ALONG = 0.28;

/** One coordinate of a curve of Bézier there. */
function between(a: number, b: number, c: number, d: number): number {
  const [t, u] = [ALONG, 1 - ALONG];
  return a * u ** 3 + 3 * b * u ** 2 * t + 3 * c * u * t ** 2 + d * t ** 3;
}

/** The path of a triangle with its tip at a point, that looks right (1, 0), down (0, 1) or anywhere between. */
export function arrowHead(x: number, y: number, dx: number, dy: number): string {
  const corner = (along: number, across: number) =>
    `${px(x - dx * along + dy * across)} ${px(y - dy * along - dx * across)}`;
  return `M${corner(0, 0)}L${corner(8, 4)}L${corner(8, -4)}Z`;
}

/** Pixels as they stand in a path. */
export function px(value: number): number {
  return Math.round(value * 10) / 10;
}
