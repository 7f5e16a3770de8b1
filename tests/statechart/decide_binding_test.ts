/**
 * The operator's mind by table: the connection Secret (K1 to K4).
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import { factsOf, factsText, type SecretSeen } from "../../src/binding/facts.ts";
import { bindingStatus } from "../../src/statechart/binding.ts";
import type { Knowledge } from "../../src/statechart/knowledge.ts";
import { learn } from "../../src/statechart/learn.ts";
import type { View } from "../../src/statechart/view.ts";
import { table } from "./decide_table.ts";
import {
  absent,
  condition,
  cr,
  type CrChange,
  db,
  deleting,
  inStep,
  known,
  NOW,
  seen,
  view,
} from "./support.ts";

const ACCESS = { type: "postgresql", database: "orders", username: "dbadmin" };
const OURS = db({ access: ACCESS });
const provider = (passwords?: "always" | "asked") => ({
  account: "acct",
  clientTokens: true,
  readLagMs: 1_000,
  effectBoundMs: 10_000,
  name: "simulated",
  passwords,
});
const V: Partial<View> = { provider: provider("asked"), secretsListed: true };
const ALWAYS: Partial<View> = { ...V, provider: provider("always") };

type Ours = SecretSeen & { readonly kind: "ours" };

function secret(change: Partial<Ours> = {}): Ours {
  return {
    kind: "ours",
    name: "orders-connection",
    uid: "secret-1",
    resourceVersion: "7",
    revision: "r1",
    facts: factsText(factsOf("simulated", "postgres", OURS)),
    ...change,
  };
}

const BINDING = { name: "orders-connection", id: "db-1", revision: "r1" };

/** A CR that asks for a Secret, whose database was seen just now. */
function bound(change: CrChange = {}, more: Partial<Knowledge> = {}): Knowledge {
  const object = cr({
    ...change,
    spec: { connectionSecretRef: {}, ...change.spec },
    status: inStep({ binding: BINDING, ...change.status }),
  });
  return known(object, { observation: seen(OURS), secret: secret(), ...more });
}

const rotate = { annotations: { [ANNOTATION.rotatePassword]: "2" } };
const failure = (effect: "bind" | "setPassword", errorClass: string) => ({
  [effect]: {
    effect,
    state: "Available" as const,
    errorClass,
    message: "no",
    attempt: 2,
    until: NOW + 4_000,
  },
});
const fresh = (secretSeen?: SecretSeen) =>
  known(cr({ spec: { connectionSecretRef: {} } }), { bornHere: true, provenNew: true, secret: secretSeen });
const early = secret({ facts: factsText(factsOf("simulated", "postgres")) });

table("connection Secret", {
  "in order": { k: bound(), v: V, is: "Available/idle", ready: "True/Available" },
  "none is asked for": {
    k: known(cr({ status: inStep() }), { observation: seen(OURS) }),
    v: V,
    is: "Available/idle",
    ready: "True/Available",
  },
  "K1: none is there before the create": { k: fresh(), v: V, is: "Creating/bind" },
  "K1: it is there, and the create may go": { k: fresh(early), v: V, is: "Creating/create" },
  "K1: it still says where the last database was": { k: fresh(secret()), v: V, is: "Creating/bind" },
  "K1: its password is damaged before the create": {
    k: fresh({ ...early, revision: undefined }),
    v: V,
    is: "Creating/bind",
  },
  "always: by default": {
    k: known(cr(), { bornHere: true, provenNew: true }),
    v: ALWAYS,
    is: "Creating/bind",
  },
  "always, adopted: not unless asked for": {
    k: known(cr({ status: inStep({ adopted: true }) }), { observation: seen(OURS) }),
    v: ALWAYS,
    is: "Available/idle",
    ready: "True/Available",
  },
  "always, adopted and asked for": {
    k: bound({ status: { adopted: true, binding: undefined } as never }, { secret: { kind: "absent" } }),
    v: ALWAYS,
    is: "Available/bind",
  },
  "K4: the provider sets no passwords": {
    k: bound({ status: { binding: undefined } as never }, { secret: undefined }),
    v: { ...V, provider: provider() },
    is: "Available/idle",
    ready: "False/SecretPending",
  },
  "K2: gone": { k: bound({}, { secret: { kind: "absent" } }), v: V, is: "Available/bind" },
  "K2: damaged": { k: bound({}, { secret: secret({ revision: undefined }) }), v: V, is: "Available/bind" },
  "K2: incomplete": { k: bound({}, { secret: secret({ facts: "" }) }), v: V, is: "Available/bind" },
  "K2: another's, tried in its time": {
    k: bound({}, { secret: { kind: "absent" }, failures: failure("bind", "taken") }),
    v: V,
    is: "Available/idle",
    ready: "False/SecretConflict",
    synced: "SecretConflict",
    waitMs: 4_000,
  },
  "K3: another endpoint": {
    k: bound({}, { observation: seen({ ...OURS, endpoint: "standby:5432" }) }),
    v: V,
    is: "Available/bind",
  },
  "K3: no endpoint any more, the last one stands": {
    k: bound({}, { observation: seen({ ...OURS, endpoint: undefined }) }),
    v: V,
    is: "Creating/wait",
  },
  "K1: another password than the database has": {
    k: bound({}, { secret: secret({ revision: "r2" }) }),
    v: V,
    is: "Available/setPassword",
  },
  "K1: nobody knows which the database has": {
    k: bound({ status: { binding: { name: "orders-connection" } } }),
    v: V,
    is: "Available/setPassword",
  },
  "K1: of a database of before": {
    k: bound({ status: { binding: { ...BINDING, id: "db-0" } } }),
    v: V,
    is: "Available/setPassword",
  },
  "K1: the cluster went back in time": {
    k: bound({}, { passwordUnsure: true }),
    v: V,
    is: "Available/setPassword",
  },
  "K1: set by this process": {
    k: bound({ status: { binding: undefined } as never }, { passwordSet: { id: "db-1", revision: "r1" } }),
    v: V,
    is: "Available/idle",
    ready: "True/Available",
  },
  "K1: accepted, and the database is still at it": {
    k: bound({}, {
      secret: secret({ revision: "r2" }),
      passwordSet: { id: "db-1", revision: "r2", pendingSince: NOW },
      observation: seen({ ...OURS, state: "Modifying" }),
    }),
    v: V,
    is: "Available/wait",
    ready: "False/SecretPending",
  },
  "rule 8: a change of unknown outcome is waited out": {
    k: bound({}, { secret: secret({ revision: "r2" }), modifyUnknownSince: NOW - 4_000 }),
    v: V,
    is: "Available/idle",
    ready: "False/SecretPending",
    waitMs: 6_000,
  },
  "rule 8: so is what an earlier process may have sent": {
    k: bound({}, { secret: secret({ revision: "r2" }) }),
    v: { ...V, settleSince: NOW - 3_000 },
    is: "Available/idle",
    waitMs: 7_000,
  },
  "Q4: not while the database is changing": {
    k: bound({}, { secret: secret({ revision: "r2" }), observation: seen({ ...OURS, state: "Modifying" }) }),
    v: V,
    is: "Available/wait",
    ready: "False/SecretPending",
  },
  "a rotation is asked for": { k: bound({ meta: rotate }), v: V, is: "Available/bind" },
  "a rotation is in the Secret": {
    k: bound({ meta: rotate }, { secret: secret({ revision: "r2", rotation: "2" }) }),
    v: V,
    is: "Available/setPassword",
  },
  "a rotation waits for a pause": {
    k: bound({ meta: rotate, spec: { paused: true } }),
    v: V,
    is: "Available/idle",
  },
  "drift is repaired first": {
    k: bound({ spec: { sizeGb: 50 } }, { secret: { kind: "absent" } }),
    v: V,
    is: "Drifted/modify",
  },
  "drift that is only reported holds no Secret up": {
    k: bound({ spec: { sizeGb: 50, driftPolicy: "Report" } }, { secret: { kind: "absent" } }),
    v: V,
    is: "Drifted/bind",
  },
  "a failed write holds no drift up": {
    k: bound({ spec: { sizeGb: 50 } }, {
      secret: { kind: "absent" },
      failures: failure("bind", "kubernetes"),
    }),
    v: V,
    is: "Drifted/modify",
  },
  "L4: after a start the first list of Secrets is waited for": {
    k: bound({}, { secret: undefined }),
    v: { ...V, secretsListed: false, settleSince: NOW - 20_000 },
    is: "Available/idle",
    ready: "True/Available",
    waitMs: 40_000,
  },
  "after a minute without that list the Secret is read alone": {
    k: bound({}, { secret: undefined }),
    v: { ...V, secretsListed: false },
    is: "Available/bind",
  },
  "after a start, and the list shows none": {
    k: bound({}, { secret: undefined }),
    v: V,
    is: "Available/bind",
  },
  "after a start, not ready before: read at once": {
    k: bound(
      { status: { conditions: [condition("Ready", "False", "SecretPending"), condition("Synced")] } },
      {
        secret: undefined,
      },
    ),
    v: { ...V, secretsListed: false, settleSince: NOW - 20_000 },
    is: "Available/bind",
  },
  "another name": {
    k: bound({ spec: { connectionSecretRef: { name: "login" } } }),
    v: V,
    is: "Available/bind",
  },
  "an earlier one is left": {
    k: bound(),
    v: { ...V, secrets: [secret(), secret({ name: "login", uid: "secret-0" })] },
    is: "Available/bind",
  },
  "an earlier one was removed, and the watch lags": {
    k: bound({}, { secretsRemoved: ["secret-0"] }),
    v: { ...V, secrets: [secret(), secret({ name: "login", uid: "secret-0" })] },
    is: "Available/idle",
  },
  "asked for no more": {
    k: bound({ spec: { connectionSecretRef: undefined } as never }),
    v: V,
    is: "Available/bind",
  },
  "asked for no more, and removed": {
    k: bound({ spec: { connectionSecretRef: undefined } as never }, { secret: { kind: "unasked" } }),
    v: V,
    is: "Available/idle",
    ready: "True/Available",
  },
  "asked for no more, never told of, still there": {
    k: known(cr({ status: inStep() }), { observation: seen(OURS) }),
    v: { ...V, secrets: [secret()] },
    is: "Available/bind",
  },
  "the provider has not said, and nothing is known to be wrong": {
    k: bound(),
    v: { ...V, provider: undefined, providerError: "no route" },
    is: "Available/idle",
    ready: "True/Available",
  },
  "K4: the provider has not said, and it was not ready": {
    k: known(
      cr({
        status: inStep({
          binding: BINDING,
          conditions: [condition("Ready", "False", "SecretConflict"), condition("Synced")],
        }),
      }),
      { observation: seen(OURS), secret: { kind: "absent" } },
    ),
    v: { ...V, provider: undefined, providerError: "no route" },
    is: "Available/idle",
    ready: "False/SecretPending",
  },
  "K4: nor is a Secret that names no provider in order because none is known yet (tokenless seed 31503)": {
    k: known(
      cr({
        status: inStep({
          binding: BINDING,
          conditions: [condition("Ready", "False", "SecretPending"), condition("Synced")],
        }),
      }),
      { observation: seen(OURS), secret: secret({ facts: factsText(factsOf("", "postgres", OURS)) }) },
    ),
    v: { ...V, provider: undefined, providerError: "no route" },
    is: "Available/idle",
    ready: "False/SecretPending",
  },
  "missing: nothing is done about the Secret": {
    k: bound({ spec: { onMissing: "Report" } }, { secret: { kind: "absent" }, observation: absent() }),
    v: V,
    is: "Drifted/confirm",
  },
  "failed: nothing is done about the Secret": {
    k: bound({}, { secret: { kind: "absent" }, observation: seen({ ...OURS, state: "Failed" }) }),
    v: V,
    is: "Drifted/idle",
    ready: "False/DatabaseFailed",
  },
  "D3: a deletion does not look at it": {
    k: known(
      deleting({ spec: { connectionSecretRef: {} }, status: inStep({ binding: BINDING, removing: "db-1" }) }),
      {
        observation: seen(OURS),
        secret: { kind: "absent" },
      },
    ),
    v: V,
    is: "Deleting/remove",
  },
});

Deno.test("the status tells name, database, revision and rotation as far as they are known, and nothing that is not", () => {
  const told = (k: Knowledge) => bindingStatus(k);
  assertEquals(told(known(cr())), undefined);
  assertEquals(told(fresh(early)), { name: "orders-connection" });
  assertEquals(told(bound()), BINDING);
  assertEquals(told(bound({}, { secret: { kind: "absent" } })), BINDING);
  assertEquals(told(bound({}, { secret: { kind: "unasked" } })), undefined);
  assertEquals(told(bound({}, { secret: undefined })), BINDING);
  const rotated = bound({}, {
    secret: secret({ revision: "r2", rotation: "2" }),
    passwordSet: { id: "db-1", revision: "r2" },
  });
  assertEquals(told(rotated), { ...BINDING, revision: "r2", rotation: "2" });
  assertEquals(told({ ...rotated, passwordSet: undefined }), BINDING, "not set yet");
});

Deno.test("what a watch says of a Secret is taken in if it is newer, of that name, or the cluster went back", () => {
  const k = bound();
  const heard = (change: Partial<Ours>, rewound?: boolean) =>
    learn(k, { secretHeard: { secret: secret(change), rewound } }, NOW).secret;
  assertEquals(
    heard({ resourceVersion: "8", revision: "r2" }),
    secret({ resourceVersion: "8", revision: "r2" }),
  );
  assertEquals(heard({ resourceVersion: "6", revision: "r0" }), k.secret);
  assertEquals(
    heard({ resourceVersion: "6", revision: "r0" }, true),
    secret({ resourceVersion: "6", revision: "r0" }),
  );
  assertEquals(heard({ resourceVersion: "8", name: "login" }), k.secret);
  assertEquals(learn(k, { secretGone: "secret-0" }, NOW).secret, k.secret);
  assertEquals(learn(k, { secretGone: "secret-1" }, NOW).secret, { kind: "absent" });
  const unknown = bound({}, { secret: undefined });
  assertEquals(learn(unknown, { secretHeard: { secret: secret() } }, NOW).secret, secret());
  const over = bound({}, { secret: { kind: "unasked" } });
  assertEquals(learn(over, { secretHeard: { secret: secret() } }, NOW).secret, { kind: "unasked" });
});

Deno.test("a password counts as set once its database was seen Available by a read after it", () => {
  const pending = { id: "db-1", revision: "r2", pendingSince: NOW };
  const k = bound({}, { passwordSet: pending });
  const after = (state: "Available" | "Modifying", sentAt: number) =>
    learn(k, { observation: { kind: "present", database: db({ state }), sentAt } }, NOW + 100).passwordSet;
  assertEquals(after("Modifying", NOW + 50), pending);
  assertEquals(after("Available", NOW - 50), pending);
  assertEquals(after("Available", NOW + 50), { id: "db-1", revision: "r2" });
  assertEquals(view(V).secretsListed, true);
});
