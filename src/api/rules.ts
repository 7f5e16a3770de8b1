/**
 * The rules that the API server itself checks when a resource changes (CEL).
 *
 * What they promise and assume (all tried on a real API server):
 * - They stand at the root, where both `spec` and `status` are seen, so that a mistake can be taken back as long as
 *   the database has not followed it. None stands on `status`: that would block the operator's own status patches.
 * - Each compares with `oldSelf` first, so that a write which does not change the field passes whatever is stored. A
 *   status patch in particular can never be refused because the spec was edited meanwhile (safety.md rule 6).
 * - None can fail to evaluate on stored data that lacks a field: a rule that *errors* would block every later patch of
 *   that object, the removal of its finalizer included.
 *
 * @module
 */

/** One entry of `x-kubernetes-validations`. */
export interface ValidationRule {
  /** CEL; true means accepted. */
  readonly rule: string;
  /** What the user reads when `messageExpression` is absent. */
  readonly message: string;
  /** CEL for a message that quotes values. */
  readonly messageExpression: string;
  readonly fieldPath: string;
  readonly reason: "FieldValueInvalid" | "FieldValueForbidden";
}

/** `a || b || …`, one alternative a line. */
const anyOf = (...alternatives: readonly string[]): string => alternatives.join(" ||\n");

const OBSERVED_SIZE = "self.?status.?observed.?sizeGb";
const OBSERVED_ENGINE = "self.?status.?observed.?engine";
const PROVIDER_ID = "self.?status.?providerId";

/** Rules at the root of the resource. */
export const RULES: readonly ValidationRule[] = [
  {
    // A database cannot shrink. Up to what it has now, a larger wish can be taken back.
    rule: anyOf(
      "!self.?spec.?sizeGb.hasValue()",
      "!oldSelf.?spec.?sizeGb.hasValue()",
      "self.spec.sizeGb >= oldSelf.spec.sizeGb",
      `!${OBSERVED_SIZE}.hasValue()`,
      `self.spec.sizeGb >= ${OBSERVED_SIZE}.orValue(0)`,
    ),
    message: "spec.sizeGb cannot shrink below the size that the database has",
    messageExpression: "'spec.sizeGb cannot shrink below the ' + string(self.status.observed.sizeGb) + " +
      "' GiB that the database has; set it to ' + string(self.status.observed.sizeGb) + ' or more'",
    fieldPath: ".spec.sizeGb",
    reason: "FieldValueInvalid",
  },
  {
    // R5: no engine turns into another in place. Clouds change the case of names (R6), so case does not count.
    rule: anyOf(
      "self.?spec.?engine.orValue('') == oldSelf.?spec.?engine.orValue('')",
      `!${PROVIDER_ID}.hasValue()`,
      `self.?spec.?engine.orValue('').lowerAscii() == ${OBSERVED_ENGINE}.orValue('').lowerAscii()`,
    ),
    message: "spec.engine cannot change once the database exists; create another ExternalDatabase instead",
    messageExpression: "'spec.engine cannot change once the database exists; keep \"' + " +
      `${OBSERVED_ENGINE}.orValue(oldSelf.?spec.?engine.orValue('')) + ` +
      "'\" or create another ExternalDatabase'",
    fieldPath: ".spec.engine",
    reason: "FieldValueForbidden",
  },
  {
    // Rule 18: an id names the database that is adopted; one resource never moves to another.
    rule: anyOf(
      "!self.?spec.?providerId.hasValue()",
      "self.?spec.?providerId.orValue('') == oldSelf.?spec.?providerId.orValue('')",
      `!${PROVIDER_ID}.hasValue()`,
      `self.spec.providerId == ${PROVIDER_ID}.orValue('')`,
    ),
    message:
      "spec.providerId cannot name another database than status.providerId; remove it or create another ExternalDatabase",
    messageExpression: "'spec.providerId cannot name another database than \"' + self.status.providerId + " +
      "'\", which this resource has; remove it, set it to that, or create another ExternalDatabase'",
    fieldPath: ".spec.providerId",
    reason: "FieldValueForbidden",
  },
];
