/**
 * Light or dark: as the system has it, until the reader says otherwise; kept in this browser alone.
 *
 * @module
 */
import { signal } from "@preact/signals";

/** What the reader asked for. */
export type Theme = "auto" | "light" | "dark";
const THEMES: readonly Theme[] = ["auto", "light", "dark"];
const KEY = "theme";

/** The present choice. */
export const theme = signal<Theme>("auto");

/** Takes up the choice of the last visit. */
export function restoreTheme(): void {
  choose(THEMES.find((each) => each === stored()) ?? "auto");
}

/** The next choice of the three. */
export function nextTheme(): void {
  choose(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto");
}

function choose(next: Theme): void {
  theme.value = next;
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser that keeps nothing: the choice holds for this visit.
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
