/**
 * Colours and type of the drawn chart, light and dark.
 *
 * Plain selectors and literal colours only: renderers without CSS variables draw the light one.
 *
 * @module
 */

/** Hues of the top-level states in their order; more states begin again. */
export const FAMILIES: readonly { readonly light: string; readonly dark: string }[] = [
  { light: "#5b63d3", dark: "#9aa2ff" },
  { light: "#1f78d1", dark: "#6db3ff" },
  { light: "#14804a", dark: "#5fd19a" },
  { light: "#b36b00", dark: "#f0b450" },
  { light: "#c23934", dark: "#ff8b85" },
  { light: "#5f6b7a", dark: "#a9b5c4" },
];

/** Colours of arrows by what makes the transition happen. */
export const KINDS = {
  event: { light: "#28303c", dark: "#dbe2ec", dash: "" },
  done: { light: "#14804a", dark: "#5fd19a", dash: "" },
  error: { light: "#c23934", dark: "#ff8b85", dash: "" },
  after: { light: "#7a4fc0", dark: "#c3a1ff", dash: "5 3" },
  always: { light: "#7a8594", dark: "#93a0b2", dash: "" },
  snapshot: { light: "#1f78d1", dark: "#6db3ff", dash: "2 3" },
  initial: { light: "#28303c", dark: "#dbe2ec", dash: "" },
} as const;

const FACE = "Helvetica, Arial, 'Liberation Sans', sans-serif";
const MONO = "ui-monospace, Menlo, Consolas, 'Liberation Mono', monospace";

/** The style sheet of a drawing. */
export function styleSheet(): string {
  return [
    `text { font-family: ${FACE}; }`,
    ".title { font-size: 20px; font-weight: 700; } .subtitle { font-size: 12px; }",
    ".top { font-size: 14px; font-weight: 700; } .key { font-size: 12px; font-weight: 700; }",
    `.body { font-size: 11px; } .actor { font-family: ${MONO}; font-size: 10.5px; }`,
    ".note { font-size: 10.5px; font-style: italic; } .rule { fill: none; stroke-width: 1; }",
    ".label { font-size: 10.5px; } .any-text { font-size: 10.5px; font-style: italic; }",
    ".arrow { fill: none; stroke-width: 1.4; stroke-linejoin: round; }",
    ".frame { stroke-width: 1.5; } .box { stroke-width: 1.2; } .any { stroke-width: 1.2; stroke-dasharray: 3 3; }",
    ".band { stroke: none; } .halo text { paint-order: stroke; stroke-width: 5px; stroke-linejoin: round; }",
    ...Object.entries(KINDS).filter(([, kind]) => kind.dash).map(([name, kind]) =>
      `.arrow.${name} { stroke-dasharray: ${kind.dash}; }`
    ),
    colours("light"),
    `@media (prefers-color-scheme: dark) {\n${colours("dark")}\n}`,
  ].join("\n");
}

function colours(scheme: "light" | "dark"): string {
  const light = scheme === "light";
  const paper = light ? "#ffffff" : "#12171e";
  const card = light ? "#ffffff" : "#1b222c";
  const ink = light ? "#1c2430" : "#e6ebf2";
  const soft = light ? "#5a6675" : "#9ba7b6";
  return [
    `.paper { fill: ${paper}; } .pill { fill: ${paper}; fill-opacity: 0.92; }`,
    `.title, .top, .key { fill: ${ink}; } .subtitle, .body, .note, .guard, .any-text { fill: ${soft}; } .any { fill: ${paper}; stroke: ${soft}; }`,
    `.halo text { stroke: ${paper}; stroke-opacity: 0.85; } .box { fill: ${card}; } .rule { stroke: ${soft}; stroke-opacity: 0.35; }`,
    ...FAMILIES.flatMap((family, index) => [
      `.f${index} .frame { fill: ${family[scheme]}; fill-opacity: ${light ? 0.055 : 0.09}; stroke: ${
        family[scheme]
      }; stroke-opacity: 0.75; }`,
      `.f${index} .band { fill: ${family[scheme]}; } .f${index} .box { stroke: ${family[scheme]}; }`,
      `.f${index} .actor, .f${index} .mark { fill: ${family[scheme]}; }`,
    ]),
    ...Object.entries(KINDS).map(([name, kind]) =>
      `.arrow.${name} { stroke: ${kind[scheme]}; } .head.${name}, .label.${name}, .dot.${name} { fill: ${
        kind[scheme]
      }; }`
    ),
  ].join("\n");
}
