/** Times that go on by themselves. @module */
import type { JSX } from "preact";
import { now } from "./live/model.ts";
import { coarse, relative, timeOfDay } from "./text/time.ts";

/** `in 12 s`, `3 m ago`: kept up to date, exact on hovering. */
export function When({ at }: { readonly at: string | undefined }): JSX.Element {
  if (at === undefined) return <span class="soft">–</span>;
  return <time dateTime={at} title={at}>{relative(at, now.value)}</time>;
}

/** How long ago: `3 m`. */
export function Age({ at }: { readonly at: string | undefined }): JSX.Element {
  if (at === undefined) return <span class="soft">–</span>;
  return <time dateTime={at} title={at}>{coarse(now.value - Date.parse(at))}</time>;
}

/** The same of something that is to come: what is past is due. */
export function Next({ at }: { readonly at: string | undefined }): JSX.Element {
  return at !== undefined && Date.parse(at) <= now.value
    ? <time dateTime={at} title={at}>due now</time>
    : <When at={at} />;
}

/** The time of day, exact. */
export function At({ at }: { readonly at: string }): JSX.Element {
  return <time dateTime={at} title={at}>{timeOfDay(at)}</time>;
}
