/** The modify effect alone (rule 8): what it learns, and what it tells. */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { modify } from "../../src/operator/effects/modify.ts";
import { ProviderError } from "../../src/providers/port.ts";
import type { StepError } from "../../src/statechart/step_error.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { cr, db, deleting, inStep, known, NOW, seen, tags } from "../statechart/support.ts";
import { type Answers, EffectRig, failing, run } from "./effect_rig.ts";

const spec = { sizeGb: 50 };
const grown = known(cr({ spec, status: inStep() }), { observation: seen() });
const observed = (database = db()) => ({ kind: "present" as const, database, sentAt: NOW });

Deno.test("rule 8: a change is one request for what differs, told by an Event, and its answer is kept", async () => {
  const rig = new EffectRig();
  const answer = db({ state: "Modifying", pending: { sizeGb: 50 } });
  const { requests, learned } = await rig.run(modify, grown, { answer });
  assertEquals(requests, [["db-1", { sizeGb: 50 }]]);
  assertEquals([learned.observation, learned.modify], [observed(answer), { outcome: "answered", at: NOW }]);
  assertEquals(rig.events, [{
    regarding: grown.object,
    type: "Normal",
    reason: "Updating",
    action: "Update",
    note: "Changing sizeGb 20 → 50: at the provider it is not as the spec asks",
  }]);
});

Deno.test("design 4: what a change read is learned, whether it sends something or not", async () => {
  const cases: Record<string, Answers> = {
    "it is in step already": { database: db({ sizeGb: 50 }) },
    "it carries another's UID": { database: db({ tags: tags({ [TAG.uid]: "another" }) }) },
    "it is changing": { database: db({ state: "Modifying" }) },
    "it has accepted the change": { database: db({ pending: { sizeGb: 50 } }) },
    "drift is only reported": {
      latest: known(cr({ spec: { ...spec, driftPolicy: "Report" }, status: inStep() })),
    },
    "it is being deleted": { latest: known(deleting({ spec, status: inStep() })) },
    "it is paused": { latest: known(cr({ spec: { ...spec, paused: true }, status: inStep() })) },
  };
  for (const [words, answers] of Object.entries(cases)) {
    const rig = new EffectRig();
    const { sent, learned } = await rig.run(modify, grown, answers);
    const observation = observed(answers.database as ReturnType<typeof db> | undefined);
    assertEquals([sent, learned, rig.events], [[], { observation }, []], words);
  }
  const gone = await run(modify, grown, { database: "absent" });
  assertEquals(gone.learned, {
    observation: { kind: "absent", id: "db-1", sentAt: new ManualClock().monotonic() },
  });
});

Deno.test("design 6: a change that failed is learned with what was read: an absence where it is gone, a doubt where nobody answered", async () => {
  const at = new ManualClock().monotonic() + 20;
  const fails = async (errorClass: ProviderError["errorClass"]) => {
    const refusal = new ProviderError(errorClass, "no");
    const error = await failing(modify, grown, { refusal, slowMs: 20 });
    return [error.errorClass, error.learned];
  };
  assertEquals(await fails("rejected"), ["rejected", { observation: observed() }]);
  assertEquals(await fails("unknown"), [
    "unknown",
    { observation: observed(), modify: { outcome: "unknown", at } },
  ]);
  const refusal = new ProviderError("absent", "gone");
  assertEquals((await run(modify, grown, { refusal, slowMs: 20 })).learned, {
    observation: { kind: "absent", id: "db-1", sentAt: at - 20 }, // when it was sent, whatever the answer took
  });
});

Deno.test("R5: of several fields each is sent alone once all together were refused, until one is taken; any other failure ends it", async () => {
  const wanted = { sizeGb: 50, version: "17", deletionProtection: true };
  const all = known(cr({ spec: wanted, status: inStep() }), { observation: seen() });
  const database = db({ deletionProtection: false });
  const asks = async (
    answer: (change: Record<string, unknown>) => ProviderError["errorClass"] | undefined,
  ) => {
    const rig = new EffectRig();
    const asked: string[] = [];
    const refusal = ([, change]: readonly unknown[]) => {
      const fields = Object.keys(change as Record<string, unknown>).sort();
      asked.push(fields.join());
      const errorClass = answer(change as Record<string, unknown>);
      return errorClass === undefined ? undefined : new ProviderError(errorClass, `no ${fields}`);
    };
    const end = await rig.run(modify, all, { refusal, database }).then(
      ({ learned }) => learned.repair?.map(({ field }) => field).join(),
      (error: StepError) => error.message,
    );
    return [asked, end, rig.events.map(({ note }) => note.split(":")[0])];
  };
  const together = "deletionProtection,sizeGb,version";
  assertEquals(await asks(() => undefined), [
    [together],
    "version,sizeGb,deletionProtection",
    ["Changing sizeGb 20 → 50, version 14.2 → 17, deletionProtection false → true"],
  ]);
  assertEquals(await asks(({ version }) => version === undefined ? undefined : "rejected"), [
    [together, "deletionProtection"],
    "deletionProtection",
    ["Changing deletionProtection false → true"],
  ]);
  assertEquals(
    await asks((change) => "version" in change || "deletionProtection" in change ? "rejected" : undefined),
    [
      [together, "deletionProtection", "sizeGb"],
      "sizeGb",
      ["Changing sizeGb 20 → 50"],
    ],
  );
  // All of it refused: what was said of all together is told.
  assertEquals(await asks(() => "rejected"), [
    [together, "deletionProtection", "sizeGb", "version"],
    `no ${together}`,
    [],
  ]);
  // Whether it took effect nobody knows, or it is busy: nothing more is sent (rule 8).
  for (const errorClass of ["unknown", "busy", "retryable"] as const) {
    assertEquals(await asks(() => errorClass), [[together], `no ${together}`, []]);
    assertEquals(await asks((change) => "version" in change ? "rejected" : errorClass), [
      [together, "deletionProtection"],
      "no deletionProtection",
      [],
    ]);
  }
});

Deno.test("S3: without a recorded database there is none to change, and none is asked for", async () => {
  const bare = { ...cr({ spec }), status: undefined } as unknown as ExternalDatabase;
  for (const object of [cr({ spec }), bare]) {
    assertEquals((await failing(modify, known(object))).errorClass, "bug");
  }
});
