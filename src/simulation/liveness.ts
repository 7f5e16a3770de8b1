/**
 * What must come once faults have stopped (L1, L2, S5): the world as the specs ask, then silence.
 *
 * @module
 */
import { ANNOTATION, FINALIZER, TAG } from "../api/constants.ts";
import { isOlderVersion } from "../api/resource_version.ts";
import type { ExternalDatabase, ExternalDatabaseSpec } from "../api/schema.ts";
import type { CloudRecord } from "../providers/simulated/types.ts";
import { isObserveOnly, policiesOf } from "../statechart/facts.ts";
import { isNew } from "../statechart/resource.ts";
import { ownerUid } from "../binding/secret.ts";
import { secretName } from "../statechart/binding.ts";
import { asksForSecret, secretProblem } from "./bindings.ts";
import { ofAnotherCluster } from "./kube_port.ts";
import { isLabelled } from "./secret_store.ts";
import type { Subject } from "./subject.ts";
import type { Safety } from "./safety.ts";
import { ACCOUNT, type World } from "./world.ts";

/** What of the world is not as it should be, one sentence each. */
export function unsettled(world: World, safety: Safety): string[] {
  const problems = unheard(world);
  // The process remembers an account that a wiped status, or one of before the cluster was restored, named, and waits
  // for a person as with one that is named.
  const elsewhere = (o: ExternalDatabase) =>
    o.status?.account === undefined &&
    (safety.books.isTainted(o.metadata.uid, "account") ||
      (safety.books.isTainted(o.metadata.uid, "restored") && switches(world))) &&
    words(o, "Synced") === "False/Conflict" && isOfAccounts(o);
  const uids = new Set<string>();
  for (const object of world.store.all()) {
    uids.add(object.metadata.uid);
    if (elsewhere(object)) continue;
    const problem = object.metadata.deletionTimestamp === undefined
      ? liveProblem(world, safety, object)
      : deletionProblem(world, object);
    if (problem !== undefined) problems.push(`${object.metadata.name}: ${problem}`);
  }
  for (const record of world.cloud.databases(ACCOUNT)) {
    const uid = record.tags[TAG.uid];
    if (uid === undefined || uids.has(uid) || record.tags[TAG.retained] !== undefined) continue;
    if (ofAnotherCluster(record.tags)) continue;
    if (mustFollow(world, safety, uid, record)) {
      problems.push(`${record.id} (${record.state}) outlives ${record.tags[TAG.crName]}, which vanished`);
    }
    if (safety.books.isTainted(uid, "forced", "account", "looksNew", "left", "abandoned", "restored")) {
      continue;
    }
    problems.push(`${record.id} (${record.state}) outlives its CR ${record.tags[TAG.crName]}`);
  }
  return problems;
}

function switches({ plan }: World): boolean {
  return plan.actions.some((a) => a.do === "switchAccount");
}

/**
 * Actors of the working process, without those of vanished CRs that wait for the account that a create of unknown
 * outcome was sent to: nobody else can say what became of it (rule 5, A2).
 */
export function countActors(world: World): number {
  const { supervisor } = world.working?.operator ?? {};
  if (supervisor === undefined) return 0;
  const waiting = [...supervisor.keepers].filter((k) =>
    world.store.byUid(k.object.metadata.uid) === undefined
  );
  return supervisor.size - (switches(world) ? waiting.length : 0);
}

/** Whether a database is to go with a CR that vanished while it was made: its maker still runs, and no CR named it (S2, C6). */
function mustFollow(world: World, safety: Safety, uid: string, { state }: CloudRecord): boolean {
  const vanished = safety.books.vanished.get(uid);
  if (vanished === undefined || vanished.writer !== world.working?.name || state === "Deleting") return false;
  if (world.working.hearing.isUnsure(uid)) return false; // its maker cannot know that no CR named it: it reports an orphan
  const { spec, status } = vanished.object;
  return !safety.books.wasNamed(uid) && status?.incarnation === undefined && !spec.paused &&
    policiesOf(vanished.object).deletion === "Delete" && spec.providerId === undefined &&
    !safety.books.isTainted(uid, "account", "looksNew", "duplicated", "restored") &&
    !world.plan.actions.some((a) => a.do === "deleteCrd");
}

/** What the operator has not heard of yet: a watch that fell silent is noticed after minutes. */
function unheard(world: World): string[] {
  const reflector = world.working?.operator.reflector;
  if (reflector === undefined) return ["no process works"];
  const all = world.store.all();
  // A throttled account is kept from being listed for minutes after the faults.
  const listedAt = world.working?.operator.observer?.roundAt;
  const agoMs = (world.working?.clock.monotonic() ?? 0) - (listedAt ?? 0);
  if (listedAt !== undefined && agoMs > world.time - world.plan.chaosMs) {
    return ["no whole list was sent since the faults ended"];
  }
  const old = all.filter((o) =>
    reflector.get(o.metadata.uid)?.metadata.resourceVersion !== o.metadata.resourceVersion
  );
  const problems = old.map((o) =>
    `${o.metadata.name}: version ${o.metadata.resourceVersion} was not heard of`
  );
  // A cluster restored to just before the operator's own write, which the watch had not told: a list brings it to light
  // within its half hour (`relistMs`), and what was lost is written again.
  for (const { metadata } of all) {
    const held = world.working?.operator.supervisor.held?.(metadata.uid);
    if (held !== undefined && isOlderVersion(metadata.resourceVersion, held.metadata.resourceVersion)) {
      problems.push(
        `${metadata.name}: version ${held.metadata.resourceVersion} is held, which is no more`,
      );
    }
  }
  // One that vanished while its database was made is still cleaned up after, or waits for a person with it (S2).
  const actors = countActors(world);
  if (actors !== all.length) problems.push(`${actors} actors for ${all.length} resources`);
  const { bindings } = world.working?.operator ?? {};
  if (bindings?.listed) problems.push(...unheardSecrets(world, bindings));
  if (reflector.size !== all.length) {
    problems.push(`${reflector.size} resources are known, not ${all.length}`);
  }
  return problems;
}

/** Connection Secrets that the operator has not heard of as they are. */
function unheardSecrets({ store, kube }: World, bindings: NonNullable<Subject["bindings"]>): string[] {
  const versions = (uid: string) =>
    bindings.of(uid).map((s) => s.kind === "ours" ? `${s.name} ${s.uid} ${s.resourceVersion}` : s.kind);
  const secrets = kube.secrets.all().filter(isLabelled);
  return store.all().flatMap(({ metadata: { name, uid } }) => {
    const is = secrets.filter((s) => ownerUid(s) === uid)
      .map(({ metadata: m }) => `${m.name} ${m.uid} ${m.resourceVersion}`);
    const heard = versions(uid);
    return is.length === heard.length && is.every((v) => heard.includes(v))
      ? []
      : [`${name}: its Secrets (${is.join(", ")}) were not heard of`];
  });
}

/** A create of unknown outcome was sent while the credentials were another's: a person must say (rule 5, A2). */
function isCreatedElsewhere(world: World, object: ExternalDatabase): boolean {
  return object.status?.providerId === undefined && switches(world) &&
    words(object, "Synced").endsWith("/Conflict");
}

function deletionProblem(world: World, object: ExternalDatabase): string | undefined {
  if (!object.metadata.finalizers?.includes(FINALIZER)) return undefined;
  const itself = world.cloud.get(object.status?.providerId ?? "");
  if (
    words(object, "Ready").endsWith("/ExternalMissing") && itself?.account === ACCOUNT &&
    object.status?.account === ACCOUNT
  ) return `is said to miss ${itself.id}, which is there`;
  if (object.spec.paused) return undefined; // waits for a person
  const { status } = object;
  const said = words(object, "Synced");
  // So do these, while there is a database to be held: of one without a recorded id a lookup finds out that it is gone.
  const mine = world.cloud.presentByUid().get(object.metadata.uid) ?? [];
  const there = itself !== undefined || mine.some((d) => d.account === ACCOUNT);
  const held = there && object.spec.deletionProtection === true && said.endsWith("/DeletionProtected");
  if (held) return undefined;
  const { snapshots } = world.cloud.settings;
  if (there && !snapshots && said.endsWith("/SnapshotUnsupported")) return undefined;
  if (status?.account === undefined && isCreatedElsewhere(world, object)) return undefined; // so does this
  // So does this, once it has heard of its deletion: a restore that reuses versions may keep that from it for long.
  if (status?.account !== undefined && status.account !== ACCOUNT) return reasonIs(object, "Conflict");
  const record = world.cloud.get(status?.providerId ?? "");
  if (record !== undefined && record.tags[TAG.uid] !== object.metadata.uid) return undefined; // and this
  return `is still being deleted: ${words(object, "Synced")}`;
}

function liveProblem(world: World, safety: Safety, object: ExternalDatabase): string | undefined {
  const { spec, status, metadata } = object;
  const observes = isObserveOnly(object);
  if (!observes && !metadata.finalizers?.includes(FINALIZER)) {
    return spec.paused && isNew(object) ? undefined : "has no finalizer";
  }
  if (status?.observedGeneration !== metadata.generation) {
    return `observedGeneration ${status?.observedGeneration}, not ${metadata.generation}: ${
      words(object, "Synced")
    }`;
  }
  if (spec.paused) return reasonIs(object, "Paused");
  if (status.account !== undefined && status.account !== ACCOUNT) {
    // Nobody reads it any more, so after three periods nobody can say that it is usable.
    const readable = world.cloud.get(status.providerId ?? "")?.account === ACCOUNT; // recorded while the account changed
    // What its Secret lacks is said of a database that is usable: that turns too.
    if (!readable && /^True|\/Secret/.test(words(object, "Ready"))) {
      return "is said to be usable though nobody reads it";
    }
    return reasonIs(object, "Conflict");
  }
  if (observes) return observedProblem(world, object);
  if (status.providerId === undefined) {
    if (spec.providerId !== undefined) return adoptionProblem(world, object);
    if (isCreatedElsewhere(world, object)) return undefined;
    if (isSecretTaken(world, object)) return reasonIs(object, "SecretConflict");
    return `has no database: ${words(object, "Synced")}`;
  }
  const record = world.cloud.get(status.providerId);
  if (record === undefined || record.account !== ACCOUNT) {
    return policiesOf(object).missing === "Report"
      ? reasonIs(object, "ExternalMissing", "MassAbsence")
      : `its database ${status.providerId} is gone: ${words(object, "Synced")}`;
  }
  return databaseProblem(world, safety, object, record);
}

/** What is only observed says how it is, and is left as it is. */
function observedProblem(world: World, object: ExternalDatabase): string | undefined {
  const { spec, status } = object;
  const record = world.cloud.get(status?.providerId ?? spec.providerId ?? "");
  if (record?.account !== ACCOUNT) return reasonIs(object, "ExternalMissing");
  if (status?.providerId === undefined) return `does not observe ${record.id}: ${words(object, "Synced")}`;
  if (record.state === "Failed") return reasonIs(object, "DatabaseFailed");
  if (record.state !== "Available") return `its database is ${record.state}`;
  if (status.providerId !== spec.providerId) return reasonIs(object, "Conflict", "DriftReported");
  const drifted = isBehind(spec, record) || isProtectionOff(world, object, record) ||
    record.engine.toLowerCase() !== spec.engine.toLowerCase() ||
    compare(spec.version, record.version) === "beyond";
  if (drifted) return reasonIs(object, "DriftReported");
  const well = words(object, "Ready") === "True/Available" && words(object, "Synced") === "True/Available";
  const taken = words(object, "Synced") === "False/Duplicate";
  return well || taken ? undefined : `Ready ${words(object, "Ready")}, Synced ${words(object, "Synced")}`;
}

/** Whether the cloud's deletion protection is not as the spec asks, where that can be set. */
function isProtectionOff({ cloud }: World, { spec }: ExternalDatabase, record: CloudRecord): boolean {
  return cloud.settings.protectable && spec.deletionProtection !== undefined &&
    spec.deletionProtection !== record.protected;
}

function databaseProblem(
  world: World,
  safety: Safety,
  object: ExternalDatabase,
  record: CloudRecord,
): string | undefined {
  const { spec, status, metadata } = object;
  if (record.tags[TAG.uid] !== metadata.uid) {
    // To be adopted, again where its tags were taken away: a failed one takes none until a person mends it.
    const adopts = record.state === "Failed" && spec.providerId === record.id;
    // One that it only observed until a moment ago is adopted as soon as its owner is gone.
    if (status?.observeOnly && spec.providerId === record.id) return adoptionProblem(world, object);
    return reasonIs(object, "Conflict", ...(adopts ? ["CreateFailed"] : []));
  }
  if (record.state === "Failed") return reasonIs(object, "DatabaseFailed", "ProvisioningFailed");
  if (record.state !== "Available") return `its database is ${record.state}`;
  const taken = asksForSecret(world, object) && isSecretTaken(world, object);
  if (taken && !words(object, "Ready").endsWith("/SecretConflict")) {
    return `its Secret is another's, but Ready is ${words(object, "Ready")}`;
  }
  const lack = taken ? undefined : bindingProblem(world, safety, object);
  if (lack !== undefined) {
    return `${lack}: Ready ${words(object, "Ready")}, Synced ${words(object, "Synced")}`;
  }
  const version = compare(spec.version, record.version);
  const irreparable = record.engine.toLowerCase() !== spec.engine.toLowerCase() || version === "beyond";
  const drifted = version === "behind" || record.sizeGb < spec.sizeGb ||
    isProtectionOff(world, object, record);
  if (drifted && policiesOf(object).drift === "Report") return reasonIs(object, "DriftReported");
  if (drifted) {
    return `differs: ${record.version}, ${record.sizeGb} GiB, not ${spec.version}, ${spec.sizeGb} GiB: ${
      words(object, "Synced")
    }`;
  }
  if (irreparable) return reasonIs(object, "ImmutableFieldChanged", "DriftNotRepairable");
  // Named while another one was being made, or stood in for by one that carries the UID: a person must say (rule 18).
  if (spec.providerId !== undefined && spec.providerId !== status?.providerId) {
    return reasonIs(object, "Conflict");
  }
  const bad = (words(object, "Ready") !== "True/Available" && !taken) ||
    (!taken && words(object, "Synced") !== "True/Available" &&
      !(safety.books.isTainted(metadata.uid, "looksNew", "account", "duplicated", "restored") &&
        words(object, "Synced") === "False/Duplicate"));
  if (bad) return `Ready ${words(object, "Ready")}, Synced ${words(object, "Synced")}`;
  if (status?.endpoint !== record.endpoint) return `endpoint ${status?.endpoint}, not ${record.endpoint}`;
  const { observed } = status ?? {};
  if (observed?.sizeGb !== record.sizeGb || observed.version !== record.version) {
    return `observed ${JSON.stringify(observed)}, not ${record.version}, ${record.sizeGb} GiB`;
  }
  return undefined;
}

/** Whether the Secret that a resource asks for is another's, or nobody's. */
function isSecretTaken({ kube }: World, object: ExternalDatabase): boolean {
  const { namespace, uid } = object.metadata;
  const secret = kube.secrets.find({ namespace, name: secretName(object) ?? "" });
  return secret !== undefined && ownerUid(secret) !== uid;
}

/** K1: whoever asks for a Secret can log in by it; whoever does not has none. */
function bindingProblem(world: World, safety: Safety, object: ExternalDatabase): string | undefined {
  const { uid } = object.metadata;
  if (asksForSecret(world, object)) {
    // Both the Secret and what the status says of it may be of before the password that the database has.
    if (safety.books.isTainted(uid, "restored")) {
      // One that was deleted where no watch of before the restore tells of it: a list does, in its half hour.
      const { namespace } = object.metadata;
      const gone = world.kube.secrets.find({ namespace, name: secretName(object) ?? "" }) === undefined;
      return gone && words(object, "Ready").startsWith("True/")
        ? "it is called ready without its Secret"
        : undefined;
    }
    const { binding } = object.status ?? {};
    if (binding?.name !== secretName(object)) return `its status names the Secret ${binding?.name}`;
    return secretProblem(world, object);
  }
  if (object.status?.binding !== undefined) return "its status still names a Secret";
  // One whose label a user took off is out of the operator's sight, and goes with its resource.
  const left = world.kube.secrets.all().find((s) => ownerUid(s) === uid && isLabelled(s));
  // Where no resource asks for a Secret nobody watches them; this one goes with its resource.
  return left === undefined || world.working?.operator.bindings?.listed === false ||
      safety.books.isTainted(uid, "restored", "looksNew")
    ? undefined
    : `the Secret ${left.metadata.name} is left`;
}

/** An adoption that a person must sort out: its database is gone, or another's. */
function adoptionProblem(world: World, object: ExternalDatabase): string | undefined {
  const record = world.cloud.get(object.spec.providerId ?? "");
  if (record?.account !== ACCOUNT) return reasonIs(object, "CreateFailed");
  const owner = record.tags[TAG.uid];
  const lives = owner !== undefined && owner !== object.metadata.uid &&
    world.store.byUid(owner) !== undefined;
  const consents = object.metadata.annotations?.[ANNOTATION.adoptFrom] === owner;
  if (lives && !consents) return reasonIs(object, "Conflict");
  if (record.state === "Failed") return undefined; // takes no tags until a person mends it
  return `does not adopt ${record.id} (${record.state}): ${words(object, "Synced")}`;
}

/** A person's answer to what waits for one: absences are confirmed. */
export function confirmAbsences(world: World, value: string): void {
  for (const object of world.store.all()) {
    if (!words(object, "Synced").endsWith("/MassAbsence")) continue;
    world.store.annotate(object.metadata, { [ANNOTATION.confirmAbsence]: value });
  }
}

function reasonIs(object: ExternalDatabase, ...reasons: readonly string[]): string | undefined {
  const said = words(object, "Synced");
  return reasons.some((r) => said.endsWith(`/${r}`))
    ? undefined
    : `says ${said}, not ${reasons.join(" or ")}`;
}

/** Whether a conflict is one of accounts, and not one of who owns a database, which may be over by itself. */
function isOfAccounts({ status }: ExternalDatabase): boolean {
  return status?.conditions?.some((c) => /credentials belong to account/i.test(c.message)) ?? false;
}

function words(object: ExternalDatabase, type: "Ready" | "Synced"): string {
  const c = object.status?.conditions?.find((c) => c.type === type);
  return c === undefined ? "none" : `${c.status}/${c.reason}`;
}

/** Whether a database has less than a spec asks for. */
export function isBehind(spec: ExternalDatabaseSpec, record: CloudRecord): boolean {
  return compare(spec.version, record.version) === "behind" || record.sizeGb < spec.sizeGb;
}

/** A database's version seen from the spec's: what it asks for, behind it, or beyond it for good. */
function compare(wanted: string, version: string): "in step" | "behind" | "beyond" {
  if (version === wanted || version.startsWith(`${wanted}.`)) return "in step";
  const [major = 0, minor = 0] = wanted.split(".").map(Number);
  const [seenMajor = 0, seenMinor = 0] = version.split(".").map(Number);
  if (seenMajor !== major) return seenMajor > major ? "beyond" : "behind";
  return seenMinor >= minor ? "in step" : "behind";
}
