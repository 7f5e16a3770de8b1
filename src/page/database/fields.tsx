/** The spec against what was observed, field by field. @module */
import type { JSX } from "preact";
import type { FieldComparison } from "../../server/api/types.ts";
import { ScrollTable } from "../scroll_table.tsx";
import { shown } from "../text/safe.ts";

const WORDS = { same: "in step", differs: "differs", unknown: "not known" } as const;

/** What {@linkcode Fields} takes. */
export interface FieldsProps {
  readonly fields: readonly FieldComparison[];
  readonly generation: number;
  readonly acted: number | undefined;
}

/** The table. */
export function Fields({ fields, generation, acted }: FieldsProps): JSX.Element {
  return (
    <section class="panel fields" aria-labelledby="fields-heading">
      <h2 id="fields-heading">Wanted and observed</h2>
      <p class="soft">
        Generation {generation}
        {acted === generation
          ? ", acted on"
          : acted === undefined
          ? ", not acted on yet"
          : `; ${acted} was acted on`}
      </p>
      <ScrollTable
        label="Wanted and observed, field by field"
        heads={["Field", "Wanted", "Observed", <span key="verdict" class="unseen">Verdict</span>]}
      >
        {fields.map(({ field, wanted, observed, verdict }) => (
          <tr key={field} class={verdict}>
            <th scope="row">{shown(field)}</th>
            <Value text={shown(wanted)} />
            <Value text={shown(observed)} />
            <td class="verdict">{WORDS[verdict]}</td>
          </tr>
        ))}
      </ScrollTable>
    </section>
  );
}

/** A word stays whole; what is longer may break where it must. */
function Value({ text }: { readonly text: string }): JSX.Element {
  return <td class={text.length > 14 ? "long" : undefined}>{text || "–"}</td>;
}
