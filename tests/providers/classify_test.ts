import { assertEquals } from "@std/assert";
import { type CallVerb, printable, refusalClass, retryAfterMs } from "../../src/providers/classify.ts";
import { toState } from "../../src/providers/words.ts";

const VERBS: CallVerb[] = ["info", "get", "list", "create", "modify", "delete"];

/** Status and code → classes of info, get, list, create, modify, delete. */
const TABLE: [number, string | undefined, string][] = [
  [400, "InvalidParameter", "rejected rejected rejected rejected rejected rejected"],
  [401, undefined, "unauthorised unauthorised unauthorised unauthorised unauthorised unauthorised"],
  [403, "Forbidden", "unauthorised unauthorised unauthorised unauthorised unauthorised unauthorised"],
  [403, "QuotaExceeded", "rejected rejected rejected rejected rejected rejected"],
  [404, "NotFound", "retryable absent retryable retryable absent absent"],
  [404, undefined, "retryable retryable retryable retryable retryable retryable"],
  [408, undefined, "retryable retryable retryable unknown unknown unknown"],
  [409, "InvalidState", "busy busy busy busy busy busy"],
  [409, "IdempotencyMismatch", "exists exists exists exists exists exists"],
  [409, "TokenUsed", "exists exists exists exists exists exists"],
  [409, "AlreadyExists", "exists exists exists exists exists exists"],
  [409, "SnapshotExists", "rejected rejected rejected rejected rejected rejected"],
  [409, "SnapshotFailed", "rejected rejected rejected rejected rejected rejected"],
  [409, "DeletionProtected", "rejected rejected rejected rejected rejected rejected"],
  [409, "SomethingNew", "busy busy busy unknown busy busy"],
  [409, undefined, "busy busy busy unknown busy busy"],
  [422, undefined, "rejected rejected rejected rejected rejected rejected"],
  [429, undefined, "throttled throttled throttled throttled throttled throttled"],
  [500, "InternalError", "retryable retryable retryable unknown unknown unknown"],
  [503, "Unavailable", "retryable retryable retryable unknown unknown unknown"],
  [504, undefined, "retryable retryable retryable unknown unknown unknown"],
  [307, undefined, "retryable retryable retryable retryable retryable retryable"],
];

for (const [status, code, expected] of TABLE) {
  Deno.test(`a ${status} ${code ?? "without a code"} has one class for each call`, () => {
    assertEquals(VERBS.map((verb) => refusalClass({ verb, status, code })).join(" "), expected);
  });
}

Deno.test("L3: Retry-After is read as seconds or a date and clamped to 1 s … 5 min", () => {
  const now = Date.UTC(2026, 0, 1);
  const cases: [string | null | undefined, number][] = [
    ["7", 7_000],
    ["2.5", 2_500],
    ["0", 1_000],
    ["301", 300_000],
    ["9".repeat(400), 300_000],
    [new Date(now + 30_000).toUTCString(), 30_000],
    [new Date(now - 30_000).toUTCString(), 1_000],
    [new Date(now + 9_000_000).toUTCString(), 300_000],
    [undefined, 1_000],
    [null, 1_000],
    ["", 1_000],
    ["soon", 1_000],
    ["-5", 1_000],
    ["NaN", 1_000],
  ];
  for (const [header, expected] of cases) assertEquals(retryAfterMs(header, now), expected, String(header));
});

Deno.test("text of a stranger is bounded and carries no control or direction characters", () => {
  assertEquals(printable("a\u001b[31mb\nc\u202ed\u0000"), "a\\u001b[31mb\\u000ac\\u202ed\\u0000");
  assertEquals(printable("\n".repeat(1_000)).length, 300);
  assertEquals(printable("Größe ≥ 3"), "Größe ≥ 3");
});

Deno.test("no unknown word is Failed or Deleting: neither replaced nor taken for leaving", () => {
  for (
    const word of [
      "",
      "inaccessible-encryption-credentials",
      "stopped",
      "failing over",
      "not failed",
      "undeleting",
    ]
  ) {
    assertEquals(toState(word), { state: "Modifying", unknownState: true }, word);
  }
  for (const word of ["Provisioning", "Available", "Modifying", "Deleting", "Failed"] as const) {
    assertEquals(toState(word), { state: word });
  }
  for (const word of ["backing-up", "Maintenance", "configuring-log-exports", "storage_initialization"]) {
    assertEquals(toState(word), { state: "Modifying" }, "upkeep is known");
  }
});
