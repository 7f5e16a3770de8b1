/**
 * The judges of connection Secrets can find somebody guilty: a quiet world but for one planted misdeed.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { KIND_CLUSTER } from "../../src/simulation/kube_port.ts";
import { type Action, PLAIN_PLAN, type Plan } from "../../src/simulation/plan.ts";
import { runPlan } from "../../src/simulation/run.ts";
import type { World } from "../../src/simulation/world.ts";

const MINUTE = 60_000;
const KEY = { namespace: "default", name: "a" };
const SECRET = { namespace: "default", name: "a-connection" };
const FOREIGN = { namespace: "default", name: "theirs" };
const spec = { engine: "postgres", version: "14.2", sizeGb: 20, connectionSecretRef: {} };
const CREATE: Action = { at: 0, do: "create", name: "a", spec };

const PLAN: Plan = {
  ...PLAIN_PLAN,
  cloud: { latencyMs: 5, provisionMs: 100, modifyMs: 5_000, deleteMs: 5_000, jitter: 0 },
  kube: { ...KIND_CLUSTER, watchLagMs: 5 },
  chaosMs: 3 * MINUTE,
  restartMs: 500,
  actions: [CREATE],
};
/** When the plan's silence is under way. */
const SILENCE = 3 * MINUTE + 1_000 + 33_000 + MINUTE + 60_000;

/** Says of the resource, as the operator would, that it is not ready, and then that it is. */
function sayReady(world: World): void {
  for (const status of ["False", "True"] as const) {
    const before = world.store.get(KEY).status ?? {};
    const conditions = (before.conditions ?? []).map((c) => c.type === "Ready" ? { ...c, status } : c);
    world.store.patchStatus(
      KEY,
      [{ op: "replace", path: "/status", value: { ...before, conditions } }],
      "p1",
    );
  }
}

function foreign({ kube }: World): void {
  kube.secrets.create({ metadata: FOREIGN, type: "Opaque", data: { key: btoa("mine") } }, "user");
}

const MISDEEDS: readonly {
  readonly oracle: string;
  readonly what: string;
  readonly at?: number;
  readonly act: (world: World) => void;
}[] = [
  {
    oracle: "K2",
    what: "a foreign Secret that is written over",
    act: (w) => {
      foreign(w);
      w.kube.secrets.patch(FOREIGN, [{ op: "add", path: "/data/password", value: btoa("x") }], "p1");
    },
  },
  {
    oracle: "K2",
    what: "a foreign Secret that is deleted",
    act: (w) => {
      foreign(w);
      w.kube.secrets.delete(FOREIGN, undefined, "p1");
    },
  },
  {
    oracle: "K2",
    what: "a Secret that is taken from its owner",
    act: (w) =>
      void w.kube.secrets.patch(
        SECRET,
        [{ op: "replace", path: "/metadata/ownerReferences/0/uid", value: "someone" }],
        "p1",
      ),
  },
  {
    oracle: "K2",
    what: "a Secret that is nobody's",
    act: (w) => void w.kube.secrets.create({ metadata: FOREIGN, type: "Opaque", data: {} }, "p1"),
  },
  {
    oracle: "K4",
    what: "one that is called ready without its Secret",
    at: 100_000,
    act: (w) => {
      w.kube.secrets.delete(SECRET, undefined, "p1");
      sayReady(w);
    },
  },
  {
    oracle: "K4",
    what: "one that is called ready though its password does not log in",
    at: 100_000,
    act: (w) => {
      const { password = "" } = w.kube.secrets.get(SECRET).data ?? {};
      w.kube.secrets.patch(
        SECRET,
        [{ op: "replace", path: "/data/password", value: btoa(atob(password).toLowerCase()) }],
        "p1",
      );
      sayReady(w);
    },
  },
  {
    oracle: "password",
    what: "a password in a status",
    act: (w) => {
      const { password = "" } = w.kube.secrets.get(SECRET).data ?? {};
      w.store.patchStatus(KEY, [{ op: "add", path: "/status/providerState", value: atob(password) }], "p1");
    },
  },
  {
    oracle: "password",
    what: "a password in a log line",
    act: (w) => {
      const { password = "" } = w.kube.secrets.get(SECRET).data ?? {};
      const process = w.working;
      if (process !== undefined) w.observer.log(process, "info", `It is ${atob(password)}`, {});
    },
  },
  {
    oracle: "L1",
    what: "a Secret that does not log in, in the end",
    act: (w) => {
      const id = w.store.get(KEY).status?.providerId ?? "";
      w.cloud.call({ verb: "modify", id, body: { masterPassword: "another-one" } }, { caller: "p1" })
        .catch(() => {});
    },
  },
  {
    oracle: "S5",
    what: "a Secret that is written though all is in step",
    at: SILENCE,
    act: (w) =>
      void w.kube.secrets.patch(SECRET, [{ op: "add", path: "/metadata/annotations/a", value: "b" }], "p1"),
  },
];

Deno.test("The judges of connection Secrets find nobody guilty without a misdeed", async () => {
  assertEquals((await runPlan(PLAN)).violation, undefined);
});

for (const { oracle, what, at = 10_000, act } of MISDEEDS) {
  Deno.test(`The judge of ${oracle} sees ${what}`, async () => {
    const { violation } = await runPlan(PLAN, {
      onWorld: (world) => void world.clock.setTimeout(() => act(world), at),
    });
    assertEquals(violation?.oracle, oracle, violation?.what);
  });
}
