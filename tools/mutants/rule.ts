/**
 * What a planted bug of a rule is: data, applied by {@linkcode plant}.
 *
 * @module
 */

/** One place of a planted bug. */
export interface Edit {
  /** Below `src/`. */
  readonly file: string;
  /** The function, `Class.method`, variable or property that holds the place. */
  readonly in: string;
  /** Text of the one expression or statement there, white space apart. */
  readonly find: string;
  /** Which of several, from 0; where there are several and none is named, planting fails. */
  readonly nth?: number;
  /** What takes its place: an expression for an expression, statements for a statement. */
  readonly replace: string;
}

/** A planted bug: a rule removed or inverted, at every place that keeps it. */
export interface RuleMutant {
  /** Unique, short, in words with hyphens. */
  readonly id: string;
  /** The rule of safety.md (`rule 5`), promise (`S6`) or part of design.md (`design 10`) that it breaks. */
  readonly breaks: string;
  /** What was planted, for people. */
  readonly says: string;
  readonly edits: readonly Edit[];
  /** It acts when its module is loaded, so it needs a process of its own. */
  readonly atLoad?: true;
}

/** A mutant of one place. */
export function mutant(
  breaks: string,
  id: string,
  says: string,
  file: string,
  within: string,
  find: string,
  replace: string,
  more: { readonly nth?: number; readonly and?: readonly Edit[]; readonly atLoad?: true } = {},
): RuleMutant {
  const { nth, and = [], atLoad } = more;
  const first: Edit = { file, in: within, find, replace, ...(nth === undefined ? {} : { nth }) };
  return { id, breaks, says, edits: [first, ...and], ...(atLoad === undefined ? {} : { atLoad }) };
}
