import { assert, assertEquals } from "@std/assert";
import { detailOf } from "../../src/cli/fleet_detail.ts";
import type { ShownKeeper } from "../../src/cli/fleet_rows.ts";
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
