/** Times that go on by themselves. @module */
import type { JSX } from "preact";
import { now } from "./live/model.ts";
import { relative, timeOfDay } from "./text/time.ts";

/** `in 12 s`, `3 m ago`: kept up to date, exact on hovering. */
export function When({ at }: { readonly at: string | undefined }): JSX.Element {
  if (at === undefined) return <span class="soft">–</span>;
  return <time dateTime={at} title={at}>{relative(at, now.value)}</time>;
}

/** The time of day, exact. */
export function At({ at }: { readonly at: string }): JSX.Element {
  return <time dateTime={at} title={at}>{timeOfDay(at)}</time>;
}
