import { assertEquals } from "@std/assert";
import { FormerUids } from "../../src/operator/former_uids.ts";

Deno.test("rule 3: a UID that is back is known once; the oldest of very many are forgotten", () => {
  const former = new FormerUids();
  for (let n = 0; n < 10_002; n++) former.add(`u${n}`);
  assertEquals(["u0", "u1", "u2", "u10001", "u10001", "new"].map((uid) => former.delete(uid)), [
    false,
    false,
    true,
    true,
    false,
    false,
  ]);
});
