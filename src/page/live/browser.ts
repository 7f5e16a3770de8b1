/**
 * The browser's side of the model: address, history, clock and the feed's ports.
 *
 * @module
 */
import { messageOf } from "../../core/text.ts";
import { formatFilter } from "../fleet/query.ts";
import type { FleetFilter } from "../fleet/query.ts";
import { parseRoute } from "../route.ts";
import type { ChartAnswer, OrphanRow } from "../../server/api/types.ts";
import { Feed } from "./feed.ts";
import * as model from "./model.ts";
import { NameOrder } from "./order.ts";
import { Repeat } from "./repeat.ts";

/** How long a question may take, in milliseconds. */
const LIMIT_MS = 20_000;
/** How often the orphans are asked for, in milliseconds; nothing tells of them by itself. */
const ORPHANS_MS = 30_000;

const order = new NameOrder();
let feed: Feed | undefined;
let asking: Repeat | undefined;

/** Asks for `path` as JSON; rejects when the answer is none, or is not there in time. */
async function getJson(path: string, signal?: AbortSignal): Promise<unknown> {
  const answer = await fetch(path, {
    headers: { accept: "application/json" },
    signal: AbortSignal.any([AbortSignal.timeout(LIMIT_MS), ...(signal ? [signal] : [])]),
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return await answer.json();
}

/** Starts everything; once. */
export function start(): void {
  model.now.value = Date.now();
  setInterval(() => model.now.value = Date.now(), 1_000);
  addEventListener("popstate", arrive);
  document.addEventListener("visibilitychange", look);
  addEventListener("pagehide", rest);
  addEventListener("pageshow", look);
  const ports = {
    now: () => Date.now(),
    later: (work: () => void, ms: number) => {
      const timer = setTimeout(work, ms);
      return () => clearTimeout(timer);
    },
  };
  feed = new Feed({
    ...ports,
    get: getJson,
    open: (path) => new EventSource(path),
    frame: (work) => requestAnimationFrame(work),
    random: () => Math.random(),
  }, {
    rows: (rows) => model.rows.value = order.of(rows),
    summary: (summary) => model.summary.value = summary,
    database: (detail) => model.database.value = detail,
    connection: (connection) => model.connection.value = connection,
  });
  asking = new Repeat(ports, () => void loadOrphans(), ORPHANS_MS);
  look();
  arrive();
}

/** Goes to a path of this page, as a link does; the focus follows to the new view. */
export function go(path: string): void {
  const url = new URL(path, location.href);
  if (url.pathname === location.pathname && url.search === location.search) return;
  const moved = url.pathname !== location.pathname;
  history.pushState(null, "", url);
  arrive();
  if (moved) {
    scrollTo({ top: 0 });
    requestAnimationFrame(() => document.querySelector<HTMLElement>("#view h1")?.focus());
  }
}

/** Another filter in the same view; typing leaves no trail in the browser's history. */
export function refine(filter: FleetFilter, trail = true): void {
  const url = `${location.pathname}${formatFilter(filter)}`;
  if (trail) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  arrive();
}

/** A page that nobody sees asks for nothing. */
function look(): void {
  if (document.visibilityState === "hidden") return rest();
  feed?.resume();
  asking?.resume();
}

function rest(): void {
  feed?.pause();
  asking?.pause();
}

function arrive(): void {
  const route = parseRoute(location.pathname);
  const before = model.route.value;
  model.search.value = location.search;
  if (JSON.stringify(route) !== JSON.stringify(before)) {
    model.database.value = undefined;
    model.route.value = route;
  }
  // The operator lays the chart out at the first request for it, so only who looks at one asks.
  if ((route.view === "chart" || route.view === "database") && !chartAsked) void loadChart();
  feed?.follow(route.view === "database" ? `${route.namespace}/${route.name}` : undefined);
}

let chartAsked = false;

async function loadChart(): Promise<void> {
  chartAsked = true;
  model.chart.value = { state: "loading" };
  try {
    const value = await getJson("/api/chart") as ChartAnswer;
    model.chart.value = { state: "here", value };
  } catch (error) {
    model.chart.value = { state: "failed", why: messageOf(error) };
    setTimeout(() => void loadChart(), LIMIT_MS);
  }
}

async function loadOrphans(): Promise<void> {
  try {
    const { items } = await getJson("/api/orphans") as { items: OrphanRow[] };
    model.orphans.value = items;
  } catch {
    // The connection says that the operator cannot be reached; what was known of orphans stays.
  }
}
