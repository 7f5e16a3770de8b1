/**
 * The page: the fleet as one plain table, without script, for people and screen readers alike.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { spell } from "../core/spell.ts";
import { escapeUnsafe } from "../core/text.ts";
import type { FleetPage, FleetQuery, FleetRow, OrphanRow } from "./fleet.ts";

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --line: #d9dee6; --paper: #fff; --wash: #f4f6f9;
  --link: #1756b8; --good: #14663a; --bad: #a3241c; --wait: #7a4a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9f0; --soft: #9ba7b6; --line: #2f3947; --paper: #141a22;
  --wash: #1c242e; --link: #8ab4ff; --good: #6fd39a; --bad: #ff9a90; --wait: #f0bd6a; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 1.5rem clamp(1rem, 3vw, 3rem); font: 14px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
h1 { margin: 0 0 .25rem; font-size: 1.4rem; }
p, nav { color: var(--soft); margin: .25rem 0 1rem; }
a { color: var(--link); }
ul { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 1rem; padding: 0; list-style: none; }
ul a { display: block; padding: .2rem .7rem; border: 1px solid var(--line); border-radius: 999px; text-decoration: none; }
ul a[aria-current] { background: var(--wash); font-weight: 600; color: var(--ink); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .6rem .75rem; color: var(--soft); }
th, td { padding: .4rem .6rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); white-space: nowrap; }
thead th { background: var(--wash); font-size: .8rem; letter-spacing: .02em; color: var(--soft); }
tbody th { font-weight: 600; }
td.message { white-space: normal; min-width: 18rem; max-width: 32rem; overflow-wrap: anywhere; }
td.number { text-align: right; }
code { font: .9em ui-monospace, monospace; }
.True { color: var(--good); } .False { color: var(--bad); } .Unknown { color: var(--wait); }
`;

/** The policy that the page is served under: no script, no other origin, only its own style. */
export const PAGE_CSP = "default-src 'none'; " +
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `text` fit for HTML text and quoted attributes, and for eyes: what would hide or turn it round is spelt out. */
export function escapeHtml(text: string): string {
  return escapeUnsafe(text).replace(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** What {@linkcode renderPage} takes. */
export interface PageOptions {
  readonly page: FleetPage;
  /** How many rows of the whole fleet are in each state. */
  readonly states: ReadonlyMap<string, number>;
  /** Databases whose CR is gone. @default none */
  readonly orphans?: readonly OrphanRow[];
  /** Wall time in milliseconds, for ages. */
  readonly now: number;
}

/** The whole HTML document. */
export function renderPage({ page, states, orphans = [], now }: PageOptions): string {
  const { items, total, query } = page;
  const first = items.length === 0 ? 0 : query.offset + 1;
  const shown = `${first}–${query.offset + items.length} of ${total}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>External databases</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>External databases</h1>
<p>As of <time datetime="${iso(now)}">${iso(now)}</time>. <a href="${link(query, {})}">Load again</a></p>
${stateLinks(states, query)}
<div class="scroll" role="region" aria-labelledby="fleet" tabindex="0">
<table>
<caption id="fleet">Databases ${shown}</caption>
<thead><tr>${HEADINGS.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead>
<tbody>
${
    items.length === 0
      ? `<tr><td colspan="${HEADINGS.length}">Nothing to show.</td></tr>`
      : items.map((row) => tableRow(row, now)).join("\n")
  }
</tbody>
</table>
</div>
${pageLinks(page)}
${orphanTable(orphans, now)}
</main>
</body>
</html>
`;
}

const HEADINGS = [
  "Namespace",
  "Name",
  "Engine",
  "Version",
  "Size",
  "State",
  "Ready",
  "Reason",
  "Message",
  "Endpoint",
  "Provider id",
  "Age",
  "Next try",
] as const;

function tableRow(row: FleetRow, now: number): string {
  const inner = row.detail?.startsWith(`${row.state}.`) ? row.detail.slice(row.state.length + 1) : row.detail;
  const detail = inner && inner !== row.state ? `<br><code>${escapeHtml(inner)}</code>` : "";
  const code = (text: string | undefined) => text ? `<code>${escapeHtml(text)}</code>` : "–";
  return "<tr>" +
    `<td>${escapeHtml(row.namespace)}</td><th scope="row">${escapeHtml(row.name)}</th>` +
    `<td>${escapeHtml(row.engine)}</td><td>${escapeHtml(row.version)}</td>` +
    `<td class="number">${escapeHtml(String(row.sizeGb))} GiB</td>` +
    `<td>${escapeHtml(row.state)}${detail}</td>` +
    `<td class="${READY_CLASS[row.ready] ?? "Unknown"}">${escapeHtml(row.ready)}</td>` +
    `<td>${escapeHtml(row.reason)}</td><td class="message">${escapeHtml(row.message)}</td>` +
    `<td>${code(row.endpoint)}</td><td>${code(row.providerId)}</td>` +
    `<td>${timeCell(row.createdAt, now)}</td><td>${timeCell(row.nextTryAt, now)}</td></tr>`;
}

/** Orphans shown; the metric counts them all. */
const MAX_ORPHANS = 200;

/** Nothing, while there are none (S2). */
function orphanTable(orphans: readonly OrphanRow[], now: number): string {
  if (orphans.length === 0) return "";
  const headings = ["Provider id", "Namespace", "Name", "UID", "Engine", "Version", "Size", "State", "Age"];
  const rows = orphans.slice(0, MAX_ORPHANS).map((o) =>
    `<tr><th scope="row"><code>${escapeHtml(o.providerId)}</code></th>` +
    `<td>${escapeHtml(o.namespace)}</td><td>${escapeHtml(o.name)}</td><td><code>${
      escapeHtml(o.uid)
    }</code></td>` +
    `<td>${escapeHtml(o.engine)}</td><td>${escapeHtml(o.version)}</td>` +
    `<td class="number">${escapeHtml(String(o.sizeGb))} GiB</td>` +
    `<td class="False">${escapeHtml(o.state)}</td><td>${timeCell(o.createdAt, now)}</td></tr>`
  );
  return `<h2>Orphans</h2>
<p>Databases whose resource is gone. They are reported and never deleted: delete them at the provider, or adopt them by
<code>spec.providerId</code>.</p>
<div class="scroll" role="region" aria-labelledby="orphans" tabindex="0">
<table>
<caption id="orphans">Orphans ${rows.length} of ${orphans.length}</caption>
<thead><tr>${headings.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</div>`;
}

const READY_CLASS: Readonly<Record<string, string>> = { True: "True", False: "False", Unknown: "Unknown" };

/** `3m` for what was, `in 12s` for what comes. */
function timeCell(text: string | undefined, now: number): string {
  const at = text === undefined ? NaN : Date.parse(text);
  if (text === undefined || Number.isNaN(at)) return "–";
  const words = at > now ? `in ${spell(at - now)}` : spell(now - at);
  return `<time datetime="${escapeHtml(text)}">${words}</time>`;
}

function stateLinks(states: ReadonlyMap<string, number>, query: FleetQuery): string {
  let all = 0;
  for (const count of states.values()) all += count;
  const item = (label: string, count: number, state: string | undefined) =>
    `<li><a href="${link(query, { state, offset: 0 })}"${
      query.state === state ? ' aria-current="true"' : ""
    }>` +
    `${escapeHtml(label)} ${count}</a></li>`;
  const each = [...states].sort(([a], [b]) => a < b ? -1 : 1).map(([state, count]) =>
    item(state, count, state)
  );
  return `<nav aria-label="By state"><ul>${[item("All", all, undefined), ...each].join("")}</ul></nav>`;
}

function pageLinks({ items, total, query }: FleetPage): string {
  const links: string[] = [];
  if (query.offset > 0) {
    const offset = Math.max(0, Math.min(query.offset, total) - query.limit);
    links.push(`<a rel="prev" href="${link(query, { offset })}">Earlier rows</a>`);
  }
  if (query.offset + items.length < total && items.length > 0) {
    links.push(`<a rel="next" href="${link(query, { offset: query.offset + query.limit })}">Later rows</a>`);
  }
  return links.length === 0 ? "" : `<nav aria-label="Rows"><p>${links.join(" · ")}</p></nav>`;
}

function link(query: FleetQuery, change: Partial<FleetQuery>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...query, ...change })) {
    if (value !== undefined && value !== 0) {
      parameters.set(key === "className" ? "class" : key, String(value));
    }
  }
  return escapeHtml(`/plain?${parameters}`);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
