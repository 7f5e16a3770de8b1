/**
 * A drawing that can be looked at closer: by buttons, by `+`, `-` and `0`, and by Ctrl or ⌘ and the wheel, about the
 * pointer. It is moved by what scrolls: wheel, touch, arrow keys; and by dragging it.
 *
 * The frame keeps the size that it had, so that nothing around it moves; and nothing in it moves by itself.
 *
 * @module
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { announcement } from "../live/model.ts";

/** What {@linkcode Zoom} takes: a drawing's size in pixels, and what stands in it. */
export interface ZoomProps {
  readonly width: number;
  readonly height: number;
  /** What a screen reader calls the frame. */
  readonly label: string;
  /** The drawing may be wider than the frame, which scrolls then, and may be made smaller. */
  readonly wide?: boolean;
  /** Class, role and name of the drawing itself. */
  readonly svg: { readonly class: string; readonly role: "group" | "img"; readonly label: string };
  /** What stands under it, beside the buttons. */
  readonly under?: ComponentChildren;
  readonly children: ComponentChildren;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const STEP = 1.25;
const MOST = 4;
const LEAST = 0.4;
/** Room for a scroll bar below a drawing that is wider than its frame, in pixels. */
const BAR = 16;
/** A press that moves less is a click, in pixels. */
const STILL = 4;

/** The frame, the drawing and the buttons. */
export function Zoom({ width, height, label, wide = false, svg, under, children }: ZoomProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const [scale, setScale] = useState(1);
  /** The point of the drawing that is to stay where it is on the screen. */
  const kept = useRef<{ readonly of: Point; readonly at: Point } | undefined>(undefined);
  const held = useRef<{ readonly from: Point; readonly scroll: Point; moved: boolean } | undefined>(
    undefined,
  );
  const closer = scale > 1;

  const zoom = (to: number, at?: Point) => {
    const next = Math.min(MOST, Math.max(wide ? LEAST : 1, Math.abs(to - 1) < 0.02 ? 1 : to));
    const [box, drawing] = [frame.current?.getBoundingClientRect(), drawn()?.getBoundingClientRect()];
    if (next === scale || !box || !drawing) return;
    const about = at ?? { x: box.left + box.width / 2, y: box.top + box.height / 2 };
    kept.current = {
      of: { x: (about.x - drawing.left) / scale, y: (about.y - drawing.top) / scale },
      at: about,
    };
    setScale(next);
    announcement.value = `Zoom ${percent(next)}`;
  };
  const drawn = () => frame.current?.firstElementChild;

  useLayoutEffect(() => {
    if (frame.current) frame.current.style.height = `${height + (wide ? BAR : 0)}px`;
  }, [height, wide]);
  useLayoutEffect(() => {
    const drawing = drawn()?.getBoundingClientRect();
    const { current: keep } = kept;
    kept.current = undefined;
    if (!keep || !drawing) return;
    frame.current?.scrollBy(
      drawing.left + keep.of.x * scale - keep.at.x,
      drawing.top + keep.of.y * scale - keep.at.y,
    );
  }, [scale]);
  useLayoutEffect(() => {
    const { current: element } = frame;
    // Preact's own listeners of the wheel may be passive, and then the browser would zoom the whole page as well.
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(scale * Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 250), {
        x: event.clientX,
        y: event.clientY,
      });
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  });

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoom(scale * STEP);
    else if (event.key === "-") zoom(scale / STEP);
    else if (event.key === "0") zoom(1);
    else return;
    event.preventDefault();
  };
  const drag = {
    onPointerDown: (event: PointerEvent) => {
      const { current: element } = frame;
      held.current = undefined;
      if (event.pointerType !== "mouse" || event.button !== 0 || !element) return;
      const scroll = { x: element.scrollLeft, y: element.scrollTop };
      held.current = { from: { x: event.clientX, y: event.clientY }, scroll, moved: false };
    },
    onPointerMove: (event: PointerEvent) => {
      const [{ current: element }, { current: hold }] = [frame, held];
      if (!element || !hold || (event.buttons & 1) === 0) return;
      const by = { x: event.clientX - hold.from.x, y: event.clientY - hold.from.y };
      if (!hold.moved && Math.hypot(by.x, by.y) < STILL) return;
      if (!hold.moved) element.setPointerCapture(event.pointerId);
      hold.moved = true;
      element.scrollTo(hold.scroll.x - by.x, hold.scroll.y - by.y);
    },
    onClickCapture: (event: MouseEvent) => {
      if (!held.current?.moved) return;
      event.preventDefault();
      event.stopPropagation();
    },
    // A link in the drawing would be dragged instead.
    onDragStart: (event: DragEvent) => event.preventDefault(),
  };
  return (
    <div class="zoom" onKeyDown={onKeyDown}>
      <div
        ref={frame}
        class={`frame ${wide ? "wide" : ""} ${closer ? "closer" : ""}`}
        {...(wide || closer ? { role: "region", "aria-label": label, tabIndex: 0 } : {})}
        {...drag}
      >
        <svg
          width={Math.round(width * scale)}
          height={Math.round(height * scale)}
          viewBox={`0 0 ${width} ${height}`}
          class={svg.class}
          role={svg.role}
          aria-label={svg.label}
        >
          {children}
        </svg>
      </div>
      <div class="under">
        {under}
        <div class="zooms" role="group" aria-label={`Zoom: ${label}`}>
          <Button
            label="Zoom out"
            title="Zoom out (-)"
            at={scale <= (wide ? LEAST : 1)}
            go={() => zoom(scale / STEP)}
          >
            −
          </Button>
          <Button
            label={scale === 1 ? percent(1) : `${percent(scale)}, back to 100 %`}
            title="Back to 100 % (0)"
            at={scale === 1}
            go={() => zoom(1)}
          >
            {percent(scale)}
          </Button>
          <Button
            label="Zoom in"
            title="Zoom in (+, or Ctrl and the wheel)"
            at={scale >= MOST}
            go={() => zoom(scale * STEP)}
          >
            +
          </Button>
        </div>
      </div>
    </div>
  );
}

/** A button that keeps the focus where there is nothing more to do. */
function Button({ label, title, at, go, children }: {
  readonly label: string;
  readonly title: string;
  /** It is as far as it goes. */
  readonly at: boolean;
  readonly go: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <button type="button" class="quiet" aria-label={label} title={title} aria-disabled={at} onClick={go}>
      {children}
    </button>
  );
}

function percent(scale: number): string {
  return `${Math.round(scale * 100)} %`;
}
