/** What each cloud account is asked, and what waits to be asked, by lane. @module */
import type { JSX } from "preact";
import type { AccountSummary } from "../../server/api/types.ts";
import { now } from "../live/model.ts";
import { shown } from "../text/safe.ts";
import { coarse, count, plural, relative } from "../text/time.ts";

/** What the lanes are called, the most urgent first. */
const LANES: ReadonlyMap<string, string> = new Map([
  ["urgent", "urgent"],
  ["create", "create"],
  ["followUp", "follow-up"],
  ["poll", "poll"],
]);
/** Accounts shown before the rest is folded. */
const OPEN = 3;

/** The panel. */
export function Budget({ accounts }: { readonly accounts: readonly AccountSummary[] }): JSX.Element {
  // What is held up comes first.
  const sorted = [...accounts].sort((a, b) => strain(b) - strain(a));
  return (
    <section class="panel budget" aria-labelledby="budget-heading">
      <h2 id="budget-heading">Cloud budget</h2>
      {sorted.length === 0 && <p class="soft">No account is in use.</p>}
      <Accounts accounts={sorted.slice(0, OPEN)} />
      {sorted.length > OPEN && (
        <details>
          <summary>{plural(sorted.length - OPEN, "more account")}</summary>
          <Accounts accounts={sorted.slice(OPEN)} />
        </details>
      )}
    </section>
  );
}

function Accounts({ accounts }: { readonly accounts: readonly AccountSummary[] }): JSX.Element {
  return <div class="accounts">{accounts.map((each) => <Account key={each.class} account={each} />)}</div>;
}

function Account({ account }: { readonly account: AccountSummary }): JSX.Element {
  const { provider, identity, queue, running, concurrency, ratePerSecond, pausedUntil, lastListAt } = account;
  const paused = pausedUntil !== undefined && Date.parse(pausedUntil) > now.value;
  const calls = inWords(account.callsLastMinute);
  const failures = inWords(account.failuresLastMinute);
  const waiting = total(queue);
  const limit = ratePerSecond > 0 ? `of ${count(ratePerSecond * 60)}` : "no limit";
  return (
    <article class={paused ? "account paused" : "account"}>
      <h3>
        {shown(account.class) || "Default account"}
        <span class="soft">{shown(provider)}{identity ? ` · ${shown(identity)}` : ""}</span>
      </h3>
      {paused && (
        <p class="throttled">
          Throttled; the next call is sent in {coarse(Date.parse(pausedUntil) - now.value)}
        </p>
      )}
      <dl class="figures">
        <div>
          <dt>Calls a minute</dt>
          <dd>
            <b>{count(total(account.callsLastMinute))}</b> <span class="soft">{limit}</span>
          </dd>
        </div>
        <div>
          <dt>In flight</dt>
          <dd>
            <b>{count(running)}</b> <span class="soft">of {count(concurrency)}</span>
          </dd>
        </div>
        <div>
          <dt>Waiting</dt>
          <dd>
            <b>{count(waiting)}</b>
          </dd>
        </div>
        <div>
          <dt>Last whole list</dt>
          <dd>{relative(lastListAt, now.value)}</dd>
        </div>
      </dl>
      {waiting > 0 && <Lanes queue={queue} total={waiting} />}
      {calls !== "" && <p class="soft verbs">{calls}</p>}
      {failures !== "" && <p class="failures">Failed: {failures}</p>}
    </article>
  );
}

/** What there was any of, by name. */
function inWords(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts).filter(([, value]) => value > 0)
    .map(([name, value]) => `${shown(name)} ${count(value)}`).join(" · ");
}

/** Calls that wait, as one band in proportion and in words. */
function Lanes({ queue, total }: {
  readonly queue: AccountSummary["queue"];
  readonly total: number;
}): JSX.Element {
  let x = 0;
  const lanes = lanesOf(queue).filter(({ calls }) => calls > 0);
  return (
    <div class="lanes">
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        {lanes.map(({ lane, calls }) => {
          const width = calls / total * 100;
          x += width;
          return <rect key={lane} class={lane} x={x - width} width={Math.max(0.5, width - 0.4)} height="6" />;
        })}
      </svg>
      <ul aria-label="Calls that wait, by lane">
        {lanes.map(({ lane, calls }) => (
          <li key={lane}>
            <i class={`dot ${lane}`} aria-hidden="true" />
            {LANES.get(lane) ?? lane} {count(calls)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The known lanes in their order, then the others. */
function lanesOf(queue: AccountSummary["queue"]) {
  const lanes = new Set([...LANES.keys(), ...Object.keys(queue)]);
  return [...lanes].map((lane) => ({ lane, calls: queue[lane] ?? 0 }));
}

function strain(account: AccountSummary): number {
  return (account.pausedUntil === undefined ? 0 : 1e9) + total(account.failuresLastMinute) * 1e3 +
    total(account.queue);
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, value) => sum + value, 0);
}
