/** The frame around every view: where one is, where one can go, and whether what is shown is up to date. @module */
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { ChartView } from "./chart/view.tsx";
import { DatabaseView } from "./database/view.tsx";
import { FleetView } from "./fleet/view.tsx";
import { Icon } from "./icons.tsx";
import { Link } from "./link.tsx";
import { announcement, connection, now, route, summary } from "./live/model.ts";
import { ReasonsView } from "./reasons/view.tsx";
import type { Route } from "./route.ts";
import { coarse } from "./text/time.ts";
import { nextTheme, theme } from "./theme.ts";

/** The whole page. */
export function App(): JSX.Element {
  const here = route.value;
  const title = titleOf(here);
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <>
      <a class="skip" href="#view">Skip to the content</a>
      <header class="bar">
        <Link href="/" class="brand" label="External databases, the fleet">
          <Icon name="mark" />
          <span>External databases</span>
        </Link>
        <nav aria-label="Views">
          <Link href="/" current={here.view === "fleet"}>Fleet</Link>
          <Link href="/chart" current={here.view === "chart"}>Chart</Link>
          <Link href="/reasons" current={here.view === "reasons"}>Reasons</Link>
        </nav>
        <Connected />
        <button
          type="button"
          class="quiet"
          onClick={nextTheme}
          aria-label={`Colours: ${theme.value}. Change`}
          title={`Colours: ${theme.value}`}
        >
          <Icon name="theme" />
        </button>
      </header>
      <main id="view" tabIndex={-1} class={`view ${here.view}`}>
        <View here={here} />
      </main>
      <p class="unseen" role="status" aria-live="polite">{announcement.value}</p>
    </>
  );
}

function View({ here }: { readonly here: Route }): JSX.Element {
  switch (here.view) {
    case "fleet":
      return <FleetView />;
    case "chart":
      return <ChartView />;
    case "reasons":
      return <ReasonsView reason={here.reason} />;
    case "database":
      return (
        <DatabaseView key={`${here.namespace}/${here.name}`} namespace={here.namespace} name={here.name} />
      );
    case "nowhere":
      return (
        <section class="empty">
          <h1 tabIndex={-1}>Nothing is here</h1>
          <p>
            <Link href="/">To the fleet</Link>
          </p>
        </section>
      );
  }
}

/** Live, or since when not; what stands by says so. */
function Connected(): JSX.Element {
  const { value } = connection;
  const phase = summary.value?.phase;
  if (value.state === "lost") {
    return (
      <p class="connection lost" role="status">
        <i class="lamp" aria-hidden="true" />
        <span>
          Disconnected<span class="wide">
            for {coarse(now.value - value.since)}; what is shown may be old
          </span>
        </span>
      </p>
    );
  }
  const words = value.state === "connecting"
    ? "Connecting"
    : phase === undefined || phase === "leading"
    ? "Live"
    : phase === "standby"
    ? "Live, standing by"
    : `Live, ${phase}`;
  return (
    <p class={`connection ${value.state}`} role="status">
      <i class="lamp" aria-hidden="true" />
      <span>{words}</span>
    </p>
  );
}

function titleOf(here: Route): string {
  switch (here.view) {
    case "fleet":
      return "External databases";
    case "chart":
      return "Statechart · External databases";
    case "reasons":
      return `${here.reason ?? "Reasons"} · External databases`;
    case "database":
      return `${here.namespace}/${here.name} · External databases`;
    case "nowhere":
      return "Not found · External databases";
  }
}
