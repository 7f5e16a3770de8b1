import { assert, assertEquals } from "@std/assert";
import { detailOf } from "../../src/cli/fleet_detail.ts";
import { fleetRows, type ShownKeeper } from "../../src/cli/fleet_rows.ts";
import { renderPage } from "../../src/server/page.ts";
import { ManualClock } from "../support/manual_clock.ts";

Deno.test("a credential in a failure's URL is masked wherever the message is cut", () => {
  const history = { namespace: "default", name: "orders", uid: "u-1", dropped: 0, entries: [] };
  const verdict = { status: "Unknown", reason: "ProviderUnavailable", message: "" };
  for (let before = 440; before < 520; before++) {
    const message = `${"x".repeat(before)} postgres://operator:hunter2-hunter2@db.example/x`;
    const observe = { effect: "observe", errorClass: "retryable", message, attempt: 1, until: 60_000 };
    const keeper = {
      object: {
        metadata: { namespace: "default", name: "orders", uid: "u-1", generation: 1 },
        spec: { engine: "postgres", version: "14", sizeGb: 20 },
      },
      snapshot: {
        value: { Available: "backingOff" },
        context: {
          decision: { state: "Available", ready: verdict, synced: verdict },
          knowledge: { failures: { observe } },
        },
      },
      hibernating: false,
    } as unknown as ShownKeeper;
    const { failures } = detailOf(keeper, history, new ManualClock());
    assertEquals(failures.length, 1);
    assert(!failures[0]!.message.includes("hunter2"), failures[0]!.message);
  }
});

Deno.test("F4: a resource of any stored status is shown, in its row, on the plain page and whole", () => {
  const history = { namespace: "default", name: "orders", uid: "u-1", dropped: 0, entries: [] };
  const anything = [7, "text", [], {}, true, null];
  const asked = { engine: "postgres", version: "14", sizeGb: 20 };
  for (const value of anything) {
    const odd = { engine: value, version: value, sizeGb: value, deletionProtection: value };
    for (const spec of [asked, { ...odd, className: value }]) {
      const keeper = {
        object: {
          metadata: { namespace: "default", name: "orders", uid: "u-1", generation: 1 },
          spec,
          status: {
            state: value,
            endpoint: value,
            providerId: value,
            className: value,
            observed: odd,
            conditions: [{ type: "Ready", status: value, reason: value, message: value }, { type: "Synced" }],
          },
        },
        snapshot: undefined, // its actor crashed on it
        hibernating: false,
      } as unknown as ShownKeeper;
      const clock = new ManualClock();
      const items = fleetRows({ supervisor: { keepers: [keeper] } }, clock);
      const page = { items, total: 1, query: { offset: 0, limit: 200 } };
      assert(renderPage({ page, states: new Map(), now: clock.now() }).includes("orders"));
      const { row, conditions } = detailOf(keeper, history, clock);
      assertEquals([row.ready, row.uid], ["Unknown", "u-1"]);
      for (const { message, reason } of conditions) assertEquals([typeof message, typeof reason], TEXTS);
    }
  }
});

Deno.test("R3, R5: a newer major and another engine differ, a newer minor and a larger disk do not", () => {
  const history = { namespace: "default", name: "orders", uid: "u-1", dropped: 0, entries: [] };
  const verdicts = (observed: Record<string, unknown>) => {
    const keeper = {
      object: {
        metadata: { namespace: "default", name: "orders", uid: "u-1", generation: 1 },
        spec: { engine: "postgres", version: "14", sizeGb: 20 },
        status: { observed: { engine: "postgres", version: "14.2", sizeGb: 20, ...observed } },
      },
      snapshot: undefined,
      hibernating: true,
    } as unknown as ShownKeeper;
    return detailOf(keeper, history, new ManualClock()).fields.filter(({ verdict }) => verdict !== "same")
      .map(({ field, verdict }) => `${field} ${verdict}`);
  };
  assertEquals(verdicts({ version: "16.1" }), ["version differs"]);
  assertEquals(verdicts({ version: "13.9" }), ["version differs"]);
  assertEquals(verdicts({ engine: "mysql" }), ["engine differs"]);
  assertEquals(verdicts({ version: "14.9", sizeGb: 50 }), []);
  assertEquals(verdicts({ sizeGb: 10 }), ["sizeGb differs"]);
});

const TEXTS = ["string", "string"];
