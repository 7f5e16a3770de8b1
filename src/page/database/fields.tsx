/** The spec against what was observed, field by field. @module */
import type { JSX } from "preact";
import type { FieldComparison } from "../../server/api/types.ts";
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
      <div class="scroll" role="region" aria-label="Wanted and observed, field by field" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Wanted</th>
              <th scope="col">Observed</th>
              <th scope="col">
                <span class="unseen">Verdict</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ field, wanted, observed, verdict }) => (
              <tr key={field} class={verdict}>
                <th scope="row">{shown(field)}</th>
                <td>{shown(wanted) || "–"}</td>
                <td>{shown(observed) || "–"}</td>
                <td class="verdict">{WORDS[verdict]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
