/**
 * Facts that decisions ask for: each of these was a planted bug that nothing had caught.
 */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { decide } from "../../src/statechart/decide.ts";
import {
  isAccountConfirmed,
  isOfAnotherAccount,
  isUnseen,
  mayBeShown,
  pollMs,
} from "../../src/statechart/facts.ts";
import { absent, cr, db, deleting, inStep, known, NOW, seen, tags, UID, view } from "./support.ts";

Deno.test("rule 11: a CR's own poll interval is held between 10 s and 24 h, however it was stored (H2)", () => {
  const of = (pollInterval: string) => pollMs(known(cr({ spec: { pollInterval } })), view());
  assertEquals(["1s", "10s", "5m", "24h", "2160h"].map(of), [
    10_000,
    10_000,
    300_000,
    86_400_000,
    86_400_000,
  ]);
  assertEquals(of("soon"), 300_000, "the operator's own where it is no time");
});

Deno.test("rule 12: an absence from before the right account answered again may be another account's word (S4, A2)", () => {
  const back = view({ accountSince: NOW - 3_000, accountWords: [NOW - 3_000] });
  const said = (ageMs: number) =>
    known(cr({ status: inStep() }), { observation: absent(ageMs), account: "acct" });
  assertEquals(isOfAnotherAccount(said(5_000), back, NOW - 5_000), true);
  assertEquals(isOfAnotherAccount(said(2_000), back, NOW - 2_000), false);
  assertEquals(isOfAnotherAccount({ ...said(5_000), account: undefined }, back, NOW - 5_000), false);
  const looked = { lookup: { sentAt: NOW - 4_000, found: [] } };
  assertEquals(decide({ ...said(5_000), ...looked }, back).step, "confirm");
  const dying = known(deleting({ status: inStep() }), {
    observation: absent(5_000),
    account: "acct",
    ...looked,
  });
  assertEquals(decide(dying, back).step, "confirm");
});

Deno.test("rule 12: the account speaks shortly before an absence is asked for and after it: else it is read again (S4, A2)", () => {
  const k = known(cr({ status: inStep() }), { account: "acct" });
  const at = NOW - 1_000;
  const sure = (...accountWords: number[]) => isAccountConfirmed(k, view({ accountWords }), at);
  assertEquals(sure(at - 500, NOW), true);
  assertEquals(sure(at - 11_000, NOW), false, "long before");
  assertEquals(sure(NOW - 500, NOW), false, "both after it");
  assertEquals(sure(), false);
  assertEquals(isAccountConfirmed(k, view({ accountWords: [at - 500], accountAt: at - 600 }), at), false);
  assertEquals(isAccountConfirmed({ ...k, account: undefined }, view({ accountWords: [] }), at), true);
});

Deno.test("A4: unseen is a recorded database while another was read; where none is recorded, or read, none is", () => {
  const recorded = cr({ status: inStep() });
  assertEquals(isUnseen(known(recorded, { observation: seen(db({ id: "db-2" })) })), true);
  assertEquals(isUnseen(known(recorded, { observation: absent(100, "db-2") })), true);
  assertEquals(isUnseen(known(recorded, { observation: seen() })), false);
  assertEquals(isUnseen(known(recorded, { observation: absent() })), false);
  assertEquals(isUnseen(known(recorded)), false);
  assertEquals(isUnseen(known(cr(), { observation: seen() })), false);
});

Deno.test("rule 18, D8: a retained mark gives away what carries the UID of who set it, and nothing that another has since", () => {
  const looker = cr({ meta: { uid: "looker", namespace: "other" } });
  const marked = (by: string) => mayBeShown(looker, db({ tags: tags({ [TAG.retained]: by }) }));
  assertEquals([marked(UID), marked("the owner before")], [true, false]);
});
