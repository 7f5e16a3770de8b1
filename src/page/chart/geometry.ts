/**
 * Where the top-level states and the ways between them stand, for a width: a pure function, at scale 1, so that text
 * stays as large as it is meant on a phone and on a wall.
 *
 * The states run in their order through a snake of rows: the first row from left to right, the next from right to left.
 * Ways between neighbours are straight; the others bow above, below and between the rows.
 *
 * @module
 */
import type { ChartAnswer, ChartMove, ChartTop } from "../../server/api/types.ts";

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
  readonly path: string;
  readonly title: string;
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
  readonly cards: readonly Card[];
  readonly ways: readonly Way[];
}

/** Height of a card's head, with its name, number and meaning, and of a row of steps. */
export const HEAD = 74;
/** Height of a row of steps, and of a step in it. */
export const CHIP_ROW = 25;
export const CHIP = 21;
const PAD = 14;
const COMPACT_HEIGHT = 92;
/** Least width of a card that shows its steps. */
const ROOMY = 208;

/** The overview of `chart` in `width` pixels. */
export function overview(chart: ChartAnswer, width: number): Overview {
  const columns = width >= 780 ? 3 : 2;
  const gapX = width >= 1_080 ? 112 : width >= 780 ? 72 : 44;
  const edge = width >= 780 ? 16 : 8;
  const cardWidth = Math.min(340, Math.floor((width - 2 * edge - (columns - 1) * gapX) / columns));
  const compact = cardWidth < ROOMY;
  const left = Math.floor((width - columns * cardWidth - (columns - 1) * gapX) / 2);
  const abreast = cardWidth >= 330 ? 3 : 2;
  const rows = Math.ceil(chart.states.length / columns);
  const gapY = compact ? 56 : 104;
  const bow = compact ? 30 : 46;
  const cards: Card[] = [];
  let y = bow;
  for (let row = 0; row < rows; row++) {
    const states = chart.states.slice(row * columns, (row + 1) * columns);
    const most = Math.max(...states.map((state) => state.steps.length));
    const height = compact ? COMPACT_HEIGHT : HEAD + Math.ceil(most / abreast) * CHIP_ROW + PAD;
    states.forEach((state, index) => {
      const column = row % 2 === 0 ? index : columns - 1 - index;
      const x = left + column * (cardWidth + gapX);
      cards.push({
        state,
        x,
        y,
        width: cardWidth,
        height,
        chips: compact ? [] : chipsOf(state, x, y, cardWidth, abreast),
      });
    });
    y += height + gapY;
  }
  const height = y - gapY + bow;
  return { width, height, compact, cards, ways: waysOf(chart, cards, bow) };
}

function chipsOf(state: ChartTop, x: number, y: number, width: number, abreast: number): Chip[] {
  const gap = 6;
  const each = Math.floor((width - 2 * PAD - (abreast - 1) * gap) / abreast);
  return state.steps.map(({ path, title }, index) => ({
    path,
    title,
    x: x + PAD + (index % abreast) * (each + gap),
    y: y + HEAD + Math.floor(index / abreast) * CHIP_ROW,
    width: each,
  }));
}

type Side = "top" | "right" | "bottom" | "left";

interface End {
  readonly card: Card;
  readonly side: Side;
  /** Towards what it leads, for the order of ends on one side. */
  readonly towards: number;
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

function waysOf(chart: ChartAnswer, cards: readonly Card[], bow: number): Way[] {
  const find = (path: string) => cards.findIndex((card) => card.state.path === path);
  const ends: End[] = [];
  const planned = chart.moves.flatMap((move) => {
    const a = cards[find(move.from)];
    const b = cards[find(move.to)];
    if (!a || !b) return [];
    const [out, into] = sides(a, b);
    const key = `${move.from} ${move.to}`;
    const vertical = out === "left" || out === "right";
    const towards = (from: Card, to: Card, first: boolean) =>
      vertical
        ? (first === (out === "right") ? 0 : 1)
        : centre(to)[0] - centre(from)[0] + (first ? -0.5 : 0.5);
    ends.push({ card: a, side: out, towards: towards(a, b, true), key: `${key} out` });
    ends.push({ card: b, side: into, towards: towards(b, a, false), key: `${key} in` });
    const main = Math.abs(find(move.from) - find(move.to)) === 1;
    return [{ move, a, b, out, key, main }];
  });
  const points = spread(ends);
  return planned.map(({ move, a, b, out, key, main }): Way => {
    const from = points.get(`${key} out`) ?? centre(a);
    const to = points.get(`${key} in`) ?? centre(b);
    return { move, main, ...curve(from, to, out, bow) };
  });
}

/** Ends share the side of a card evenly, in the order of what they lead to. */
function spread(ends: readonly End[]): Map<string, readonly [number, number]> {
  const groups = new Map<string, End[]>();
  for (const end of ends) {
    const key = `${end.card.state.path} ${end.side}`;
    groups.set(key, [...groups.get(key) ?? [], end]);
  }
  const points = new Map<string, readonly [number, number]>();
  for (const group of groups.values()) {
    group.sort((a, b) => a.towards - b.towards || (a.key < b.key ? -1 : 1));
    group.forEach(({ card, side, key }, index) => {
      const part = (index + 1) / (group.length + 1);
      const inner = 0.1 + 0.8 * part;
      switch (side) {
        case "left":
        case "right": {
          const y = card.y + Math.min(card.height / 2, 46) + (index - (group.length - 1) / 2) * 24;
          points.set(key, [side === "left" ? card.x : card.x + card.width, y]);
          break;
        }
        case "top":
          points.set(key, [card.x + card.width * inner, card.y]);
          break;
        case "bottom":
          points.set(key, [card.x + card.width * inner, card.y + card.height]);
      }
    });
  }
  return points;
}

function curve(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  out: Side,
  bow: number,
): Pick<Way, "d" | "at" | "head"> {
  if (out === "left" || out === "right") {
    const to = x2 > x1 ? 1 : -1;
    return {
      d: `M${n(x1)} ${n(y1)}L${n(x2 - to * 6)} ${n(y2)}`,
      head: head(x2, y2, to, 0),
      at: [n((x1 + x2) / 2), n((y1 + y2) / 2)],
    };
  }
  const bowed = y1 === y2;
  const down = bowed ? (out === "top" ? 1 : -1) : y2 > y1 ? 1 : -1;
  const lift = out === "top" ? -bow : bow;
  const reach = (y2 - y1) * 0.55;
  const [c1, c2] = bowed ? [y1 + lift, y2 + lift] : [y1 + reach, y2 - reach];
  return {
    d: `M${n(x1)} ${n(y1)}C${n(x1)} ${n(c1)} ${n(x2)} ${n(c2)} ${n(x2)} ${n(y2 - down * 6)}`,
    head: head(x2, y2, 0, down),
    at: [n((x1 + x2) / 2), n(bowed ? y1 + lift * 0.75 : (y1 + y2) / 2)],
  };
}

/** A triangle with its tip at a point, that looks right (1, 0), down (0, 1) and so on. */
function head(x: number, y: number, dx: number, dy: number): string {
  const corner = (along: number, across: number) =>
    `${n(x - dx * along + dy * across)} ${n(y - dy * along + dx * across)}`;
  return `M${corner(0, 0)}L${corner(8, 4)}L${corner(8, -4)}Z`;
}

function n(value: number): number {
  return Math.round(value * 10) / 10;
}

function centre(card: Card): readonly [number, number] {
  return [card.x + card.width / 2, card.y + card.height / 2];
}
