/**
 * What goes wrong beside the crash in the exhaustive mode: one fault of each kind.
 *
 * Chances are for the whole time of faults; what happens once happens just after the script's last deed, while its
 * work is under way, or when what the script asked for is there.
 *
 * @module
 */
import type { KubeFaults } from "./kube_port.ts";
import { type Action, type Deed, OUTAGES, type Plan } from "./plan.ts";

type Change = (plan: Plan) => Plan;

/** After the script's last deed, in milliseconds. */
const SOON_MS = 50;
/** Long enough for what was asked for, in milliseconds. */
const LATER_MS = 3_500;
const SPELL_MS = 2_000;

function cloud(settings: Plan["cloud"]): Change {
  return (p) => ({ ...p, cloud: { ...p.cloud, ...settings } });
}

function kube(faults: Partial<KubeFaults>): Change {
  return (p) => ({ ...p, kube: { ...p.kube, ...faults } });
}

/** A deed `ms` after the script's last. */
function deed(what: Deed, ms = SOON_MS): Change {
  return (p) => {
    const last = Math.max(...p.actions.map((a) => a.at));
    const action: Action = { at: last + ms, ...what };
    return { ...p, actions: [...p.actions, action] };
  };
}

/** The faults, by name. */
export const OTHER_FAULTS: Readonly<Record<string, Change>> = {
  "none": (p) => p,
  // The cloud's answers.
  "answers lost": cloud({ loseAnswers: 0.5 }),
  "refused before": cloud({ failBefore: 0.5 }),
  "refused after": cloud({ failAfter: 0.5 }),
  "late effects": cloud({ lateEffects: 1 }),
  "provisioning fails": cloud({ provisionFailures: 0.5 }),
  "rate limit": cloud({ ratePerSecond: 2 }),
  ...Object.fromEntries(
    OUTAGES.map((kind) => [`cloud: ${kind}`, deed({ do: "cloudOutage", kind, ms: SPELL_MS, of: "all" })]),
  ),
  "lists forbidden": deed({ do: "cloudOutage", kind: "forbidden", ms: SPELL_MS, of: "lists" }),
  "another account": deed({ do: "switchAccount", ms: SPELL_MS }),
  // What happens to the database.
  "storage grows": cloud({ autogrowAfterMs: 1_000 }),
  "minor upgrade": cloud({ minorUpgradeAfterMs: 1_000 }),
  "grown by hand": deed({ do: "console", nth: 0, change: { kind: "grow", by: 10 } }, LATER_MS),
  "shrunk by hand": deed({ do: "console", nth: 0, change: { kind: "shrink", by: 5 } }, LATER_MS),
  "broken": deed({ do: "console", nth: 0, change: { kind: "fail" } }, LATER_MS),
  "protected": deed({ do: "console", nth: 0, change: { kind: "protect", on: true } }),
  "vanished": deed({ do: "vanish", nth: 0 }),
  "vanished later": deed({ do: "vanish", nth: 0 }, LATER_MS),
  "duplicated": deed({ do: "duplicate", nth: 0 }, LATER_MS),
  "tag removed": deed({ do: "retag", nth: 0 }, LATER_MS),
  // The cluster's answers.
  "cluster refuses": kube({ failBefore: 0.4 }),
  "cluster answers lost": kube({ failAfter: 0.4 }),
  "cluster stalls": kube({ timeout: 0.3 }),
  "conflicts": kube({ conflict: 0.4 }),
  "cluster throttles": kube({ throttle: 0.4 }),
  "stale lists": kube({ staleList: 1, staleMs: 3_000 }),
  "late events": kube({ watchLagMs: 3_000 }),
  "silent watches": kube({ silentWatch: 1 }),
  "watches break": deed({ do: "breakWatches" }),
  "watches fall silent": deed({ do: "silenceWatches" }),
  "history forgotten": deed({ do: "compact" }),
  "cluster unreachable": deed({ do: "kubeOutage", kind: "unavailable", ms: SPELL_MS }),
  "cluster: 401": deed({ do: "kubeOutage", kind: "unauthorised", ms: SPELL_MS }),
  "cluster: 403": deed({ do: "kubeOutage", kind: "forbidden", ms: SPELL_MS }),
  // The processes.
  "the next dies too": (p) => ({ ...p, dooms: [null, { call: 5, when: "sent" }] }),
  "frozen": deed({ do: "freeze", nth: 0, ms: 20_000 }),
  "stopped": deed({ do: "stop", nth: 0 }),
  "clock jumps": deed({ do: "skew", nth: 0, ms: 600_000 }),
  "two by a lease": (p) => ({ ...p, replicas: 2 }),
  // People.
  "finalizer stripped": deed({ do: "stripFinalizers", name: "a" }),
  "status wiped": deed({ do: "stripStatus", name: "a" }),
  "status wiped later": deed({ do: "stripStatus", name: "a" }, LATER_MS),
  "id edited to none": deed({ do: "editStatus", name: "a", to: "nowhere" }),
  "id edited to none later": deed({ do: "editStatus", name: "a", to: "nowhere" }, LATER_MS),
  "id let go": deed({ do: "editStatus", name: "a", to: "next" }),
  "id let go later": deed({ do: "editStatus", name: "a", to: "next" }, LATER_MS),
  "abandoned": deed({ do: "abandon", name: "a" }),
  "CRD deleted": deed({ do: "deleteCrd" }),
};
