/**
 * What must have come once the faults are over: the world as the specs ask (L1, L2, S2), then silence (S5).
 *
 * @module
 */
import { FINALIZER, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import type { CloudRecord } from "../../src/providers/simulated/types.ts";

/** UIDs of resources whose database the operator reported as left behind, by its log. */
export function reportedOrphans(log: string): Set<string> {
  const lines = log.split("\n").filter((line) => line.includes(ORPHAN));
  return new Set(lines.map((line) => (JSON.parse(line) as { readonly uid: string }).uid));
}

/** What the operator says of a database without resource (rule 22). */
const ORPHAN = '"A database has no resource any more; it is reported and not deleted"';

/** Lines of the operator's log that nothing excuses. */
export function alarming(log: string, isExcused: (uid: string) => boolean): string[] {
  return log.split("\n").filter((line) =>
    /ActorFailed|"level":"error"|Uncaught|unhandled/i.test(line) &&
    !(line.includes(ORPHAN) && isExcused((JSON.parse(line) as { readonly uid: string }).uid))
  );
}

/**
 * What of the world is not as it should be, one sentence each. `isExcused`: the database of that UID may be left, for
 * its resource was removed under the operator's finalizer, and the operator has said so.
 */
export function unsettled(
  objects: readonly ExternalDatabase[],
  databases: readonly CloudRecord[],
  isForeign: (id: string) => boolean,
  isExcused: (uid: string) => boolean,
): string[] {
  const problems: string[] = [];
  const byId = new Map(databases.map((d) => [d.id, d]));
  const uids = new Set<string>();
  for (const object of objects) {
    uids.add(object.metadata.uid);
    const problem = problemOf(object, byId);
    if (problem !== undefined) problems.push(`${object.metadata.name}: ${problem}`);
  }
  for (const { id, state, tags } of databases) {
    const uid = tags[TAG.uid];
    if (isForeign(id) || (uid !== undefined && uids.has(uid))) continue;
    if (tags[TAG.retained] !== undefined || (uid !== undefined && isExcused(uid))) continue;
    problems.push(`${id} (${state}) outlives its resource ${tags[TAG.crName]} (${uid})`);
  }
  return problems;
}

function problemOf(object: ExternalDatabase, byId: ReadonlyMap<string, CloudRecord>): string | undefined {
  const { metadata, spec, status } = object;
  const ready = words(object, "Ready");
  const synced = words(object, "Synced");
  if (metadata.deletionTimestamp !== undefined) return `is still being deleted: ${synced}`;
  if (metadata.finalizers?.includes(FINALIZER) !== true) return "has no finalizer";
  if (status?.observedGeneration !== metadata.generation) {
    return `observedGeneration ${status?.observedGeneration}, not ${metadata.generation}: ${synced}`;
  }
  const record = byId.get(status.providerId ?? "");
  if (record === undefined) return `has no database ${status.providerId ?? ""}: ${synced}`;
  if (record.tags[TAG.uid] !== metadata.uid) return `${record.id} is of ${record.tags[TAG.uid]}`;
  if (record.state !== "Available") return `${record.id} is ${record.state}: ${synced}`;
  if (record.version !== spec.version || record.sizeGb !== spec.sizeGb) {
    return `${record.version}, ${record.sizeGb} GiB, not ${spec.version}, ${spec.sizeGb} GiB: ${synced}`;
  }
  if (ready !== "True/Available" || synced !== "True/Available") return `Ready ${ready}, Synced ${synced}`;
  if (status.endpoint !== record.endpoint) return `endpoint ${status.endpoint}, not ${record.endpoint}`;
  return undefined;
}

function words(object: ExternalDatabase, type: "Ready" | "Synced"): string {
  const c = object.status?.conditions?.find((c) => c.type === type);
  return c === undefined ? "none" : `${c.status}/${c.reason}`;
}

/** The resources that changed between two lists, with what changed last. */
export function changes(before: readonly ExternalDatabase[], after: readonly ExternalDatabase[]): string[] {
  const versions = new Map(before.map((o) => [o.metadata.uid, o.metadata.resourceVersion]));
  const told = after
    .filter((o) => versions.get(o.metadata.uid) !== o.metadata.resourceVersion)
    .map((o) => `${o.metadata.name} changed: Synced ${words(o, "Synced")}`);
  const left = new Set(after.map((o) => o.metadata.uid));
  for (const o of before) if (!left.has(o.metadata.uid)) told.push(`${o.metadata.name} went`);
  return told;
}
