/**
 * The final snapshot of a deletion (rule 17, D7): its name, and whether one is to be taken.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import { incarnationOf, policiesOf } from "./facts.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";

/** Longest name of a snapshot: fits every provider, and a DNS label. */
const MAX_CHARS = 63;

/**
 * `<namespace>-<name>-<uid8>-<incarnation>-<digest>`, of a–z, 0–9 and single dashes, beginning with a letter. Derived,
 * never chosen, so that whoever asks again after a crash asks for the same one. The digest is of UID and database: a
 * UID may come to have several databases (S1), and a restored cluster counts their incarnations anew.
 */
export function finalSnapshotName(object: ExternalDatabase, databaseId: string): string {
  const { namespace, name, uid } = object.metadata;
  const uid8 = plain(uid).replaceAll("-", "").slice(0, 8);
  const tail = `${uid8}-${incarnationOf(object)}-${digest(`${uid}/${databaseId}`)}`;
  const front = plain(`${namespace}-${name}`).replace(/^(?=[^a-z]|$)/, "db-");
  return `${front.slice(0, MAX_CHARS - 1 - tail.length).replace(/-+$/, "")}-${tail}`;
}

function plain(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
}

/** FNV-1a, 32 bits, in seven characters: enough to tell the few databases of one UID apart. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(36).padStart(7, "0");
}

/**
 * The name of the snapshot to be taken before `database` is deleted, or `undefined` where none is to be. One that failed
 * before anybody could use it holds nothing, and clouds refuse to take a snapshot of it.
 */
export function snapshotOf(object: ExternalDatabase, database: ExternalState): string | undefined {
  if (policiesOf(object).deletion !== "Snapshot") return undefined;
  const { status } = object;
  const used = database.endpoint !== undefined ||
    (database.id === status?.providerId && status.endpoint !== undefined);
  return database.state === "Failed" && !used ? undefined : finalSnapshotName(object, database.id);
}

/** Whether the status names the snapshot, or was written to and lost it to a CRD that does not know the field. */
export function isSnapshotSaid({ reported }: Knowledge, object: ExternalDatabase, name: string): boolean {
  return object.status?.finalSnapshot === name ||
    (reported !== undefined && reported.resourceVersion === object.metadata.resourceVersion &&
      reported.text.includes(`finalSnapshot: "${name}"`));
}
