/**
 * `statechart --of NAMESPACE/NAME`: one actor's live chart and its history, for a terminal.
 *
 * What is told comes from an operator's HTTP API; nothing of it can end a line or repaint the terminal.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { spell } from "../core/spell.ts";
import { escapeUnsafe } from "../core/text.ts";
import { withDeadline } from "../core/wait.ts";
import { readTokenFile } from "../providers/token.ts";
import { innermostReason } from "../providers/transport.ts";
import type { CallRecord, DatabaseDetail, HistoryAnswer, HistoryEntry } from "../server/api/types.ts";
import { type ChartState, toChart } from "../statechart/draw/chart.ts";
import { databaseMachine } from "../statechart/machine.ts";

/** Which resource, and where the operator serves. */
export interface StatechartOfOptions {
  readonly namespace: string;
  readonly name: string;
  /** Base URL of the operator's HTTP server, without a trailing slash. */
  readonly url: string;
  /** File with the token that an operator behind `--http-auth` asks for; read for every request. */
  readonly tokenFile?: string | undefined;
  /** File with certificates (PEM) to trust besides the system's. */
  readonly caFile?: string | undefined;
}

/** What comes from outside. */
export interface StatechartOfEnvironment {
  readonly clock: Clock;
  readonly fetch: typeof fetch;
}

/** How long the operator may take to answer, in milliseconds. */
const DEADLINE_MS = 10_000;

/**
 * The text. Rejects with an Error that says what is wrong, and never quotes the token, where the operator does not answer,
 * lets its owner not in or knows no such resource.
 */
export async function showStatechart(
  options: StatechartOfOptions,
  environment: StatechartOfEnvironment,
): Promise<string> {
  if (options.caFile === undefined) return await show(options, environment);
  using client = Deno.createHttpClient({ caCerts: [await authorities(options.caFile)] });
  // The platform's type of a request does not know Deno's client.
  const trusting = (input: URL | RequestInfo, init?: RequestInit) =>
    environment.fetch(input, { ...init, client } as RequestInit);
  return await show(options, { ...environment, fetch: trusting });
}

/** The text of the file of `--ca-file`. Rejects with an Error that names the flag where it holds no certificate. */
async function authorities(path: string): Promise<string> {
  const text = await Deno.readTextFile(path).catch((cause: unknown) => {
    throw new Error("Reading the file of --ca-file failed", { cause });
  });
  // A file without one is taken silently, and every server would then be told to be untrusted.
  if (!text.includes("-----BEGIN CERTIFICATE-----")) {
    throw new Error(`--ca-file "${path}" holds no certificate in PEM`);
  }
  return text;
}

async function show(options: StatechartOfOptions, environment: StatechartOfEnvironment): Promise<string> {
  const { namespace, name } = options;
  const path = `/api/databases/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const now = environment.clock.now();
  const detail = await ask<DatabaseDetail>(options, environment, path);
  if (detail !== undefined) return lines(actorLines(detail, now));
  const history = await ask<HistoryAnswer>(options, environment, `${path}/history`);
  if (history === undefined) {
    throw new Error(`The operator at ${options.url} knows no resource ${namespace}/${name}`);
  }
  const gone = history.goneAt === undefined ? "" : ` at ${history.goneAt}`;
  return lines([`${namespace}/${name} is gone from the cluster${gone}`, "", ...historyLines(history)]);
}

async function ask<T>(
  options: StatechartOfOptions,
  { clock, fetch }: StatechartOfEnvironment,
  path: string,
): Promise<T | undefined> {
  const { url, tokenFile } = options;
  const token = tokenFile === undefined ? undefined : await readTokenFile(tokenFile, { clock });
  const headers: HeadersInit = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return await withDeadline(
    { clock, ms: DEADLINE_MS, action: `Asking the operator at ${url}` },
    async (signal) => {
      const sent = fetch(`${url}${path}`, { headers, signal, redirect: "error" });
      const answer = await sent.catch((cause: unknown) => {
        throw new Error(`The operator at ${url} cannot be reached; ${adviceOn(cause)}`, { cause });
      });
      if (answer.status === 404) {
        await answer.body?.cancel();
        return undefined;
      }
      const text = await answer.text();
      const refusal = refusalOf(answer.status, options, path);
      if (refusal !== undefined) throw new Error(refusal);
      const json = answer.headers.get("content-type")?.startsWith("application/json") ?? false;
      if (!answer.ok || !json) {
        throw new Error(`What serves at ${url} is no operator of this version: HTTP status ${answer.status}`);
      }
      return JSON.parse(text) as T;
    },
  );
}

/** What to do about a request that got no answer. */
function adviceOn(cause: unknown): string {
  return /certificate/i.test(innermostReason(cause))
    ? "--ca-file names the CA that its certificate is from"
    : "--url says where it serves";
}

/** What a refusal means, and what to do; `undefined` where the status is none. */
function refusalOf(
  status: number,
  { url, tokenFile }: StatechartOfOptions,
  path: string,
): string | undefined {
  switch (status) {
    case 401:
      return tokenFile === undefined
        ? `The operator at ${url} asks for a token of the cluster (HTTP status 401): write one into a file, such as by ` +
          "kubectl create token, and name it by --token-file"
        : `The operator at ${url} does not take the token in --token-file "${tokenFile}" (HTTP status 401): it may have ` +
          "expired, or be of another cluster";
    case 403:
      return `The owner of the token in --token-file${
        tokenFile === undefined ? "" : ` "${tokenFile}"`
      } may not see ` +
        `this at ${url} (HTTP status 403): he needs the verb get on the non-resource URL /externaldatabases${path}, as ` +
        "the ClusterRole externaldatabase-page-reader gives it";
    case 429:
    case 503:
      return `The operator at ${url} cannot say now (HTTP status ${status}); try again`;
    default:
      return undefined;
  }
}

function actorLines(detail: DatabaseDetail, now: number): string[] {
  const { row, conditions, fields, failures, history, configuration, asleep } = detail;
  return [
    `${row.namespace}/${row.name}  ${configuration.at(-1) ?? row.state}${asleep ? " (asleep)" : ""}`,
    ...conditions.map(({ type, status, reason, message, since, unwritten }) => {
      const age = since === undefined ? "" : ` for ${spell(now - Date.parse(since))}`;
      return `  ${type} is ${status} (${reason})${age}: ${message}${unwritten ? " (not written yet)" : ""}`;
    }),
    ...fields.filter(({ verdict }) => verdict !== "same").map(({ field, wanted, observed, verdict }) =>
      `  ${field}: ${wanted ?? "unset"} is wanted, ${observed ?? "nothing"} was seen (${verdict})`
    ),
    ...failures.map(({ effect, errorClass, message, attempts, tryAt }) =>
      `  ${effect} failed ${
        attempts === 1 ? "once" : `${attempts} times`
      }, ${errorClass}: ${message}; tried again at ${tryAt}`
    ),
    ...(detail.nextTryAt === undefined
      ? []
      : [`  The actor does something by itself at ${detail.nextTryAt}`]),
    "",
    "Statechart",
    ...treeLines(toChart(databaseMachine).root.states, new Set(configuration), 1),
    "",
    ...historyLines(history),
  ];
}

/** The states as a tree; `▶` marks where the actor is. */
function treeLines(states: readonly ChartState[], active: ReadonlySet<string>, depth: number): string[] {
  return states.flatMap((state) => [
    `${"  ".repeat(depth)}${active.has(state.path) ? "▶" : "·"} ${state.key}`,
    // A state that the actor is not in is told in one line: the whole chart is told without --of.
    ...(active.has(state.path) ? treeLines(state.states, active, depth + 1) : []),
  ]);
}

function historyLines({ entries, dropped }: HistoryAnswer): string[] {
  const before = dropped === 0 ? "" : `, ${dropped} before them are not kept`;
  return [
    `History: ${entries.length} ${entries.length === 1 ? "step" : "steps"}${before}`,
    ...entries.flatMap(entryLines),
  ];
}

function entryLines(entry: HistoryEntry): string[] {
  const { at, event, cause, from, to, via, durationMs, generation, repeated = 0 } = entry;
  const way = from === to && via.length === 0
    ? `in ${to}`
    : [from || "(new)", ...passed(via), to].join(" → ");
  const again = repeated === 0 ? "" : `, and ${repeated} more like it until ${entry.lastAt ?? ""}`;
  return [
    `  ${at}  ${event}  ${way}  (after ${duration(durationMs)}, generation ${generation}${again})`,
    `      ${cause}`,
    ...entry.calls.map(callLine),
  ];
}

/** Where a decision is made says nothing to a person. */
function passed(via: readonly string[]): string[] {
  return via.filter((path) => !path.endsWith(".deciding"));
}

function callLine({ to, verb, outcome, detail, durationMs }: CallRecord): string {
  return `      ${to} ${verb}: ${outcome}, ${duration(durationMs)}${
    detail === undefined ? "" : `; ${detail}`
  }`;
}

function duration(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : spell(ms);
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${escapeUnsafe(text)}\n`).join("");
}
