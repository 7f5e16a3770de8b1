/** Search and the choices that narrow the list; all of them are in the URL. @module */
import type { JSX } from "preact";
import { Icon } from "../icons.tsx";
import { refine } from "../live/browser.ts";
import { classes, namespaces, reasons } from "../live/model.ts";
import { shown } from "../text/safe.ts";
import { type FleetFilter, isNarrow, type Sort, SORTS } from "./query.ts";

const SORT_WORDS: Readonly<Record<Sort, string>> = {
  attention: "Needs a person first",
  name: "Name",
  state: "State",
  next: "Next try",
  age: "Newest first",
};

/** The row of controls above the list. */
export function Filters({ filter }: { readonly filter: FleetFilter }): JSX.Element {
  const set = (change: Partial<FleetFilter>) => refine({ ...filter, ...change });
  return (
    <form
      class="filters"
      role="search"
      aria-label="Databases"
      onSubmit={(event) => event.preventDefault()}
    >
      <label class="search">
        <span class="unseen">Search by name, message, endpoint or id</span>
        <Icon name="search" />
        <input
          type="search"
          placeholder="Search name, message, endpoint, id"
          value={filter.q ?? ""}
          onInput={(event) => refine({ ...filter, q: event.currentTarget.value || undefined }, false)}
        />
      </label>
      <Choice
        name="Namespace"
        all="All namespaces"
        value={filter.namespace}
        options={namespaces.value}
        choose={(namespace) => set({ namespace })}
      />
      <Choice
        name="Reason"
        all="All reasons"
        value={filter.reason}
        options={reasons.value}
        choose={(reason) => set({ reason })}
      />
      <Choice
        name="Class"
        all="All classes"
        value={filter.class}
        options={classes.value}
        choose={(chosen) => set({ class: chosen })}
      />
      <label class="choice">
        <span class="unseen">Order</span>
        <select
          value={filter.sort ?? "attention"}
          onChange={(event) => set({ sort: SORTS.find((each) => each === event.currentTarget.value) })}
        >
          {SORTS.map((sort) => <option key={sort} value={sort}>{SORT_WORDS[sort]}</option>)}
        </select>
      </label>
      <label class="only">
        <input
          type="checkbox"
          checked={filter.attention === true}
          onChange={(event) => set({ attention: event.currentTarget.checked || undefined })}
        />
        Needs a person
      </label>
      {filter.detail !== undefined && (
        <button
          type="button"
          class="tag"
          onClick={() => set({ detail: undefined })}
        >
          {shown(filter.detail)}
          <Icon name="cross" />
          <span class="unseen">: remove this filter</span>
        </button>
      )}
      {isNarrow(filter) && (
        <button type="button" class="quiet" onClick={() => refine({ sort: filter.sort })}>Show all</button>
      )}
    </form>
  );
}

/** Marks the choice of everything: no name is like it. */
const ALL = "\u0001all";

function Choice({ name, all, value, options, choose }: {
  readonly name: string;
  readonly all: string;
  readonly value: string | undefined;
  readonly options: readonly (readonly [string, number])[];
  readonly choose: (value: string | undefined) => void;
}): JSX.Element {
  // What the URL asks for can be chosen though no row has it now.
  const known = value === undefined || options.some(([option]) => option === value)
    ? options
    : [...options, [value, 0] as const];
  return (
    <label class={value === undefined ? "choice" : "choice chosen"}>
      <span class="unseen">{name}</span>
      <select
        value={value ?? ALL}
        onChange={(event) =>
          choose(event.currentTarget.value === ALL ? undefined : event.currentTarget.value)}
      >
        <option value={ALL}>{all}</option>
        {known.map(([option, number]) => (
          <option key={option} value={option}>{`${shown(option) || "(none)"} · ${number}`}</option>
        ))}
      </select>
    </label>
  );
}
