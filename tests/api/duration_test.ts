import { assertEquals, assertThrows } from "@std/assert";
import { parseDuration } from "../../src/api/duration.ts";

for (
  const [text, ms] of [["250ms", 250], ["30s", 30_000], ["5m", 300_000], ["1h30m", 5_400_000], [
    "0s",
    0,
  ]] as const
) {
  Deno.test(`The duration ${text} is ${ms} ms`, () => assertEquals(parseDuration(text), ms));
}

for (const text of ["", "5", "m", "90d", "5 m", "-5m", "1e3s", "5m ", "5M", "9".repeat(400) + "h"]) {
  Deno.test(`The text "${text.slice(0, 9)}" is no duration, and the error quotes it`, () => {
    assertThrows(() => parseDuration(text), Error, `"${text.slice(0, 64)}" is not a duration`);
  });
}
