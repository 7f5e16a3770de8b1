import { abortable } from "@std/async";
import { assertEquals } from "@std/assert";
Deno.test("std", async () => {
  assertEquals(await abortable(Promise.resolve(1), new AbortController().signal), 1);
});
