/**
 * All planted bugs of rules.
 *
 * @module
 */
import type { RuleMutant } from "../rule.ts";
import { BETWEEN } from "./between.ts";
import { BINDINGS } from "./bindings.ts";
import { CLASSES } from "./classes.ts";
import { CREATING } from "./creating.ts";
import { DELETING } from "./deleting.ts";
import { DESIGN } from "./design.ts";
import { DOORS } from "./doors.ts";
import { DRAWN_DOORS } from "./drawn_doors.ts";
import { OBSERVING } from "./observing.ts";
import { POLICIES } from "./policies.ts";
import { PROCESSES } from "./processes.ts";

/** Every planted bug of a rule of safety.md or a part of design.md. */
export const RULE_MUTANTS: readonly RuleMutant[] = [
  ...CREATING,
  ...OBSERVING,
  ...DELETING,
  ...POLICIES,
  ...PROCESSES,
  ...DESIGN,
  ...CLASSES,
  ...BINDINGS,
  ...DOORS,
  ...DRAWN_DOORS,
  ...BETWEEN,
];
