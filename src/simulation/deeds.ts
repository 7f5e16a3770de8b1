/**
 * Lets one deed of a plan happen.
 *
 * @module
 */
import { ANNOTATION, FINALIZER, TAG } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { secretName } from "../statechart/binding.ts";
import { KubeError } from "../kube/port.ts";
import { type Fault, type FaultRule, REFUSALS } from "../providers/simulated/faults.ts";
import type { Verb } from "../providers/simulated/types.ts";
import type { Action, ConsoleChange, Deed, SECRET_HARMS } from "./plan.ts";
import { ACCOUNT, type World } from "./world.ts";

const NAMESPACE = "default";
const FOREIGN_FINALIZER = "example.com/keep";

/** A person's edit of what a status names, which leaves the rest of it. */
function editStatus(
  { store, cloud }: World,
  { metadata, status = {} }: ExternalDatabase,
  to: "former" | "nowhere" | "next",
): void {
  const { providerId, incarnation = 1, ...rest } = status;
  if (providerId === undefined) return;
  if (to === "next") return void store.setStatus(metadata, { ...rest, incarnation: incarnation + 1 });
  const former = cloud.ledger.effects({ kind: "create", by: "api" })
    .filter(({ uid, id }) => uid === metadata.uid && id !== providerId).at(-1)?.id;
  const id = to === "former" ? former : "db-nowhere";
  if (id !== undefined) store.setStatus(metadata, { ...status, providerId: id });
}

/** Does it; what the API server refuses stays undone. */
export function perform(world: World, action: Action): void {
  const { at: _at, ...deed } = action;
  world.observer.deed(deed as Deed);
  world.observer.say("fate", JSON.stringify(deed));
  try {
    act(world, deed as Deed);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    world.observer.say("fate", `refused: ${error.message}`);
  }
}

function act(world: World, deed: Deed): void {
  const { store, kube, cloud, clock } = world;
  const key = { namespace: NAMESPACE, name: "name" in deed ? deed.name : "" };
  if (world.calm && !("name" in deed)) return;
  switch (deed.do) {
    case "create":
      store.create(key, deed.spec, deed.foreignFinalizer ? [FOREIGN_FINALIZER] : []);
      return;
    case "edit":
      store.edit(key, deed.change);
      return;
    case "delete":
      store.delete(key);
      return;
    case "crossDelete":
      store.deleteAcross(key);
      clock.setTimeout(() => store.endCrossing(key), deed.ms);
      return;
    case "annotate":
      store.annotate(key, { [deed.key]: deed.value });
      return;
    case "abandon":
      store.annotate(key, { [ANNOTATION.abandon]: store.get(key).metadata.uid });
      return;
    case "label":
      store.meta(key, { labels: { rev: deed.value } });
      return;
    case "stripFinalizers": {
      const left = (store.get(key).metadata.finalizers ?? []).filter((f) => f !== FINALIZER);
      store.meta(key, { finalizers: left });
      return;
    }
    case "stripStatus":
      store.setStatus(key, {});
      return;
    case "editStatus":
      return editStatus(world, store.get(key), deed.to);
    case "adopt":
    case "takeOver": {
      const there = cloud.databases(cloud.settings.account).filter((d) => d.state === "Available");
      const chosen = nthOf(there, deed.nth);
      if (chosen === undefined) return;
      store.create(key, { ...deed.spec, providerId: chosen.id });
      const owner = chosen.tags[TAG.uid];
      if (deed.do === "takeOver" && owner !== undefined) {
        store.annotate(key, { [ANNOTATION.adoptFrom]: owner });
      }
      return;
    }
    case "observe": {
      const chosen = nthOf(cloud.databases(cloud.settings.account), deed.nth);
      if (chosen === undefined) return;
      store.create(key, { ...deed.spec, managementPolicy: "ObserveOnly", providerId: chosen.id });
      return;
    }
    case "manage": {
      const { policy: managementPolicy } = deed;
      const providerId = store.get(key).spec.providerId ?? store.get(key).status?.providerId;
      if (managementPolicy === "ObserveOnly" && providerId === undefined) return;
      store.edit(key, { managementPolicy, providerId });
      return;
    }
    case "secret":
      return harm(world, store.get(key), deed.harm);
    case "breakWatches":
      return kube.breakWatches();
    case "silenceWatches":
      return kube.silenceWatches();
    case "compact":
      store.compact();
      kube.secrets.compact();
      return kube.breakWatches();
    case "kubeOutage":
      kube.outage = deed.kind;
      kube.breakWatches();
      clock.setTimeout(() => kube.outage = undefined, deed.ms);
      return;
    case "kubeDenied": {
      kube.denied.set(deed.verb, deed.kind);
      clock.setTimeout(() => kube.denied.delete(deed.verb), deed.ms);
      return;
    }
    case "restore":
      if (store.crd !== "established") return;
      world.observer.restored(
        store.restore(clock.monotonic() - deed.ms, deed.bump),
        kube.secrets.restore(clock.monotonic() - deed.ms, deed.bump),
      );
      return kube.breakWatches();
    case "deleteCrd":
      store.deleteCrd();
      return;
    case "installCrd":
      store.installCrd();
      return;
    case "crash":
      world.process(deed.nth)?.crash("killed");
      return;
    case "freeze": {
      const frozen = world.process(deed.nth);
      frozen?.clock.freeze();
      clock.setTimeout(() => frozen?.clock.wake(), deed.ms);
      return;
    }
    case "stop":
      world.process(deed.nth)?.stop();
      return;
    case "skew": {
      const process = world.process(deed.nth);
      if (process !== undefined) process.clock.skewMs += deed.ms;
      return;
    }
    case "cloudOutage":
      cloud.faults.add(outage(deed));
      return;
    case "switchAccount":
      if (!cloud.settings.describesItself) return; // nobody could tell
      cloud.configure({ account: "another" });
      world.observer.accountSwitched();
      clock.setTimeout(() => {
        if (cloud.settings.account === ACCOUNT) return;
        cloud.configure({ account: ACCOUNT });
        world.observer.accountSwitched();
      }, deed.ms);
      return;
    case "console":
      return console(world, deed.nth, deed.change);
    case "vanish": {
      const chosen = nthOf(cloud.databases(), deed.nth);
      if (chosen !== undefined) cloud.remove(chosen.id);
      return;
    }
    case "duplicate": {
      const chosen = nthOf(cloud.databases().filter((d) => d.tags[TAG.uid] !== undefined), deed.nth);
      if (chosen === undefined) return;
      const { name, engine, version, sizeGb, tags, account } = chosen;
      world.observer.duplicated(tags[TAG.uid] ?? "");
      cloud.insert({ name, engine, version, sizeGb, tags, account });
      return;
    }
    case "retag": {
      const chosen = nthOf(cloud.databases(), deed.nth);
      if (chosen === undefined) return;
      const { [TAG.uid]: _uid, ...tags } = chosen.tags;
      cloud.edit(chosen.id, { tags });
      return;
    }
    case "foreign":
      cloud.insert({ name: deed.name, tags: { [TAG.crName]: deed.name, owner: "someone" } });
      return;
  }
}

function harm(world: World, object: ExternalDatabase, how: (typeof SECRET_HARMS)[number]): void {
  const { secrets } = world.kube;
  const key = { namespace: NAMESPACE, name: secretName(object) ?? "" };
  switch (how) {
    case "delete":
      return secrets.delete(key, undefined, "user");
    case "password":
      return secrets.edit(key, { password: btoa("12345678") });
    case "key": {
      const left = Object.keys(secrets.get(key).data ?? {});
      return secrets.edit(key, { [nthOf(left, secrets.rv) ?? "uri"]: undefined });
    }
    case "label":
      secrets.patch(key, [{ op: "remove", path: "/metadata/labels" }], "user");
      return;
    case "foreign":
      if (secrets.find(key) !== undefined) secrets.delete(key, undefined, "user");
      secrets.create({ metadata: key, type: "Opaque", data: { key: btoa("mine") } }, "user");
      return;
  }
}

function nthOf<T>(items: readonly T[], nth: number): T | undefined {
  return items[nth % Math.max(1, items.length)];
}

function console(world: World, nth: number, change: ConsoleChange): void {
  const { cloud } = world;
  const chosen = nthOf(cloud.databases().filter((d) => d.state === "Available"), nth);
  if (chosen === undefined) return;
  switch (change.kind) {
    case "grow":
      cloud.edit(chosen.id, { sizeGb: chosen.sizeGb + change.by });
      return;
    case "shrink":
      cloud.edit(chosen.id, { sizeGb: Math.max(1, chosen.sizeGb - change.by) });
      return;
    case "version":
      cloud.edit(chosen.id, { version: change.version });
      return;
    case "full":
      cloud.edit(chosen.id, { word: "storage-full" });
      return;
    case "fail":
      cloud.edit(chosen.id, { state: "Failed", word: undefined });
      return;
    case "protect":
      cloud.edit(chosen.id, { protected: change.on });
      return;
  }
}

type Many = "reads" | "writes" | "lists";

const VERBS: Record<Many, readonly Verb[]> = {
  reads: ["get", "list", "info"],
  writes: ["create", "modify", "delete"],
  lists: ["list"],
};

function outage(deed: Deed & { readonly do: "cloudOutage" }): FaultRule {
  const verbs = deed.of === "all" ? undefined : deed.of in VERBS ? VERBS[deed.of as Many] : [deed.of as Verb];
  return { verbs, forMs: deed.ms, fault: faultOf(deed) };
}

/** Later than the operator waits for an answer, in milliseconds; a change's effect still comes within its bound. */
const SLOW_MS = 33_000;

function faultOf({ kind, retryAfterS }: Deed & { readonly do: "cloudOutage" }): Fault {
  switch (kind) {
    case "lost":
    case "stall":
      return { answer: kind, effect: "done" };
    case "slow":
      return { delayMs: SLOW_MS };
    case "busy":
      return {
        answer: { status: 409, code: "InvalidState", message: "Another operation is in progress" },
        effect: "none",
      };
    case "throttled":
      return { answer: { ...REFUSALS.throttled, retryAfterSeconds: retryAfterS ?? 1 }, effect: "none" };
    default:
      return { answer: REFUSALS[kind], effect: "none" };
  }
}
