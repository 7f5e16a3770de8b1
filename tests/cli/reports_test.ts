import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { healthOf, readyOf, type Reported } from "../../src/cli/reports.ts";
import { fleetRows, type FleetSource } from "../../src/cli/fleet_rows.ts";
import { ManualClock } from "../support/manual_clock.ts";

interface Changes {
  readonly identified?: boolean;
  readonly identityError?: string;
  readonly synced?: boolean;
  readonly reason?: string;
  readonly attemptAgoMs?: number;
  readonly contactAgoMs?: number;
  readonly lagMs?: number;
  readonly accountError?: string;
  readonly holder?: string;
  readonly leaseError?: string;
}

function subject(changes: Changes = {}): Reported {
  const clock = new ManualClock({ monotonic: 10_000_000 });
  const now = clock.monotonic();
  return {
    clock,
    loop: { lagMs: () => changes.lagMs ?? 0 },
    holder: () => changes.holder,
    leaseError: () => changes.leaseError,
    operator: {
      get clusterId(): string {
        if (changes.identified === false) throw new Error("not known yet");
        return "c-1";
      },
      identityError: changes.identityError,
      account: { error: changes.accountError },
      reflector: {
        synced: changes.synced ?? true,
        reason: changes.reason,
        lastAttempt: now - (changes.attemptAgoMs ?? 0),
        lastContact: now - (changes.contactAgoMs ?? 0),
        size: 3,
      },
    },
  };
}

Deno.test("W6: an API outage is no reason to restart while attempts are made, nor is one at the start", () => {
  const outage = subject({ contactAgoMs: 7_200_000, attemptAgoMs: 20_000, synced: false, reason: "refused" });
  assertEquals(healthOf(outage, "working"), { healthy: true, reasons: [] });
  const start = subject({ identified: false, contactAgoMs: 7_200_000, attemptAgoMs: 7_200_000 });
  assertEquals(healthOf(start, "working").healthy, true);
  assertEquals(
    healthOf(subject({ contactAgoMs: 7_200_000, attemptAgoMs: 7_200_000 }), "standby").healthy,
    true,
  );
});

Deno.test("a reflector that no longer tries and a stuck event loop are reasons to restart", () => {
  const stuck = healthOf(subject({ contactAgoMs: 700_000, attemptAgoMs: 700_000 }), "working");
  assertEquals(stuck, { healthy: false, reasons: ["No attempt to reach the API server for 700 s"] });
  const late = healthOf(subject({ lagMs: 31_000 }), "standby");
  assertEquals(late, { healthy: false, reasons: ["The event loop is 31 s late"] });
});

Deno.test("W9: readiness says why not, such as a missing CRD, and for how long the watch is silent", () => {
  const missing = readyOf(subject({ synced: false, reason: "the CRD is missing" }), "working");
  assertEquals(missing, { ready: false, reasons: ["Not in step with the cluster: the CRD is missing"] });
  const silent = readyOf(subject({ contactAgoMs: 200_000 }), "working");
  assertEquals(silent, { ready: false, reasons: ["No sign of life from the API server for 200 s"] });
  assertStringIncludes(
    readyOf(subject({ identified: false }), "working").reasons.join(),
    "identity is not known",
  );
  assertEquals(readyOf(subject({ identified: false, identityError: "forbidden" }), "working"), {
    ready: false,
    reasons: ["The cluster's identity is not known yet: forbidden"],
  });
  const good = readyOf(subject({ contactAgoMs: 12_000 }), "working");
  assertEquals(good, {
    ready: true,
    reasons: ["3 resources; last sign of life from the API server 12 s ago"],
  });
});

Deno.test("a standby is ready and names the holder; a stopping operator is not; a silent cloud is only told", () => {
  assertEquals(readyOf(subject({ holder: "pod-b", synced: false }), "standby"), {
    ready: true,
    reasons: ["Standing by: the lease is held by pod-b"],
  });
  assertEquals(readyOf(subject(), "standby"), { ready: true, reasons: ["Waiting for the lease"] });
  assertEquals(readyOf(subject({ leaseError: "forbidden" }), "standby"), {
    ready: false,
    reasons: ["Waiting for the lease", "The lease cannot be had: forbidden"],
  });
  assertEquals(readyOf(subject({ leaseError: "refused", holder: "pod-b" }), "standby").ready, true);
  assertEquals(readyOf(subject(), "stopping").ready, false);
  const cloudless = readyOf(subject({ accountError: "no route" }), "working");
  assertEquals(cloudless.ready, true);
  assert(cloudless.reasons.includes("The provider does not answer: no route"));
});

Deno.test("L4: a row shows the actor's own state, verdict and next try, and lives with objects of any shape", () => {
  const clock = new ManualClock({ monotonic: 1_000, now: Date.UTC(2026, 0, 1) });
  const metadata = { name: "a", namespace: "n", uid: "u", resourceVersion: "1", generation: 1 };
  const keepers = [
    {
      hibernating: false,
      object: {
        metadata,
        spec: { engine: "postgres", version: "14", sizeGb: 20 },
        status: { providerId: "db-1" },
      },
      snapshot: {
        value: { Creating: "backingOff" },
        context: {
          decision: {
            state: "Creating",
            ready: { status: "False", reason: "CreateFailed", message: "The version is unknown" },
          },
          knowledge: {
            failures: { observe: { until: 500 }, report: { until: 61_000 }, create: { until: 31_000 } },
          },
        },
      },
    },
    {
      hibernating: true,
      object: {
        metadata,
        spec: { engine: 5, sizeGb: "x" },
        status: {
          state: "Available",
          conditions: [{ type: "Ready", status: "True", reason: "Available", message: "m" }],
        },
      },
      snapshot: undefined,
    },
    { hibernating: false, object: { metadata, spec: undefined }, snapshot: undefined },
    {
      hibernating: false,
      object: { metadata, spec: undefined },
      snapshot: {
        value: { Creating: "waiting" },
        context: {
          decision: { state: "Creating", ready: { status: "False", reason: "Creating", message: "m" } },
          rest: { ms: 4_000, until: 5_000 },
          knowledge: { failures: {} },
        },
      },
    },
  ];
  const [failing, asleep, strange, waiting] = fleetRows(
    { supervisor: { keepers } } as unknown as FleetSource,
    clock,
  );
  assertEquals([failing?.state, failing?.detail, failing?.ready, failing?.reason, failing?.message], [
    "Creating",
    "Creating.backingOff",
    "False",
    "CreateFailed",
    "The version is unknown",
  ]);
  assertEquals([failing?.nextTryAt, failing?.providerId], ["2026-01-01T00:00:30.000Z", "db-1"]);
  assertEquals([asleep?.state, asleep?.detail, asleep?.ready, asleep?.engine, asleep?.sizeGb], [
    "Available",
    "asleep",
    "True",
    "",
    0,
  ]);
  assertEquals(waiting?.nextTryAt, "2026-01-01T00:00:04.000Z", "the time that was decided on");
  assertEquals([strange?.state, strange?.ready, strange?.reason], ["Pending", "Unknown", "Pending"]);
});
