/** A link within the page: a real one, which a plain click follows without loading anew. @module */
import type { ComponentChildren, JSX } from "preact";
import { go } from "./live/browser.ts";

/** What {@linkcode Link} takes: an anchor's attributes. */
export interface LinkProps {
  readonly href: string;
  readonly class?: string;
  readonly label?: string | undefined;
  /** It leads to where one is. */
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

/** An anchor to a path of this page. */
export function Link({ href, class: name = "", label, current, children }: LinkProps): JSX.Element {
  return (
    <a
      href={href}
      class={name}
      aria-label={label}
      aria-current={current ? "page" : undefined}
      onClick={(event) => follow(event, href)}
    >
      {children}
    </a>
  );
}

/** Follows `href` in the page unless the click asks for a tab or a window of its own. */
export function follow(event: MouseEvent, href: string): void {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(href);
}
