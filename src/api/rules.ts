/**
 * The rules that the API server itself checks when a resource changes (CEL).
 *
 * What they promise and assume (all tried on a real API server):
 * - Those of changes stand at the root, where both `spec` and `status` are seen, so that a mistake can be taken back as long as
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
  readonly messageExpression?: string;
  readonly fieldPath: string;
  readonly reason: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired";
  /** When true, `oldSelf` is an optional and the rule is checked at creation too. */
  readonly optionalOldSelf?: boolean;
}

/** `a || b || …`, one alternative a line. */
const anyOf = (...alternatives: readonly string[]): string => alternatives.join(" ||\n");

// Written with has() and not with optionals, whose orValue() the API server's cost estimate takes for unbounded text.
const NO_SPEC = "!has(self.spec) || !has(oldSelf.spec)";
const NOTHING_OBSERVED = "!has(self.status) || !has(self.status.observed)";
const NO_ID = "!has(self.status) || !has(self.status.providerId)";

/** Rules at the root of the resource. */
export const RULES: readonly ValidationRule[] = [
  {
    // Not by `required`: that would refuse every patch of an object stored without a spec, the status patch that
    // reports it included. The original design's CRD did not require one.
    rule: anyOf("has(self.spec)", "(oldSelf.hasValue() && !has(oldSelf.value().spec))"),
    message: "spec is required: give at least engine, version and sizeGb",
    fieldPath: ".spec",
    reason: "FieldValueRequired",
    optionalOldSelf: true,
  },
  {
    // A database cannot shrink. Down to what it has now, a larger wish can be taken back.
    rule: anyOf(
      NO_SPEC,
      "!has(self.spec.sizeGb) || !has(oldSelf.spec.sizeGb)",
      "self.spec.sizeGb >= oldSelf.spec.sizeGb",
      NOTHING_OBSERVED,
      "!has(self.status.observed.sizeGb)",
      "self.spec.sizeGb >= self.status.observed.sizeGb",
    ),
    message: "spec.sizeGb cannot shrink below the size that the database has",
    messageExpression:
      "'spec.sizeGb cannot shrink below what the database has; set it to %d or more'.format([self.status.observed.sizeGb])",
    fieldPath: ".spec.sizeGb",
    reason: "FieldValueInvalid",
  },
  {
    // R5: no engine turns into another in place. Clouds change the case of names (R6), so case does not count.
    rule: anyOf(
      NO_SPEC,
      "!has(self.spec.engine) || !has(oldSelf.spec.engine)",
      "self.spec.engine == oldSelf.spec.engine",
      NO_ID,
      "(has(self.status.observed) && has(self.status.observed.engine) && " +
        "self.spec.engine.lowerAscii() == self.status.observed.engine.lowerAscii())",
    ),
    message: "spec.engine cannot change once the database exists; create another ExternalDatabase instead",
    messageExpression: "'spec.engine cannot change once the database exists; keep \"' + " +
      "(has(self.status.observed) && has(self.status.observed.engine) ? self.status.observed.engine : oldSelf.spec.engine) + " +
      "'\" or create another ExternalDatabase'",
    fieldPath: ".spec.engine",
    reason: "FieldValueForbidden",
  },
  {
    // Rule 18: an id names the database that is adopted; one resource never moves to another.
    rule: anyOf(
      NO_SPEC,
      "!has(self.spec.providerId)",
      "(has(oldSelf.spec.providerId) && self.spec.providerId == oldSelf.spec.providerId)",
      NO_ID,
      "self.spec.providerId == self.status.providerId",
    ),
    message:
      "spec.providerId cannot name another database than status.providerId; remove it or create another ExternalDatabase",
    messageExpression: "'spec.providerId cannot name another database than \"' + self.status.providerId + " +
      "'\", which this resource has; remove it, set it to that, or create another ExternalDatabase'",
    fieldPath: ".spec.providerId",
    reason: "FieldValueForbidden",
  },
  {
    // A class is an account: no database moves from one to another.
    rule: anyOf(
      NO_SPEC,
      "has(self.spec.className) == has(oldSelf.spec.className) && " +
        "(!has(self.spec.className) || self.spec.className == oldSelf.spec.className)",
      NO_ID,
      "(has(self.status.className) ? has(self.spec.className) && self.spec.className == self.status.className " +
        ": !has(self.spec.className) || self.spec.className == '')",
    ),
    message:
      "spec.className cannot change once the database exists, as no database moves from one account to another; create another ExternalDatabase instead",
    fieldPath: ".spec.className",
    reason: "FieldValueForbidden",
  },
];

/**
 * Rules of `spec` alone, checked when a resource is made too. A status patch leaves `spec` as it is, and what did not
 * change is let through (ratcheting); besides, no object can have been stored with the field and without its rule.
 */
export const SPEC_RULES: readonly ValidationRule[] = [
  {
    // Nothing is created under ObserveOnly, so that without an id there is nothing to look at.
    rule: anyOf(
      "!has(self.managementPolicy)",
      "self.managementPolicy != 'ObserveOnly'",
      "has(self.providerId)",
    ),
    message:
      "spec.providerId is required where managementPolicy is ObserveOnly: it names the database to look at",
    fieldPath: ".providerId",
    reason: "FieldValueRequired",
  },
];
