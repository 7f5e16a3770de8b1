/**
 * The adopt effect (rule 18): takes over a database that is nobody's, or whose owner lets it go.
 *
 * @module
 */
import { ANNOTATION, TAG } from "../../api/constants.ts";
import { newerOf } from "../../api/resource_version.ts";
import type { ExternalDatabase } from "../../api/schema.ts";
import { KubeError } from "../../kube/port.ts";
import { type Database, ProviderError } from "../../providers/port.ts";
import type { ProviderGateway } from "../gateway.ts";
import { quote } from "../../statechart/drift.ts";
import { isAdopted, isRetained, specOf } from "../../statechart/facts.ts";
import type { Knowledge, Observation } from "../../statechart/knowledge.ts";
import type { Learned } from "../../statechart/learned.ts";
import { StepError } from "../../statechart/step_error.ts";
import { emit } from "./announce.ts";
import { LateRead, type Read, superseded } from "./late_read.ts";
import {
  type EffectEnv,
  type EffectFunction,
  having,
  isManaged,
  readById,
  readObject,
  stepError,
  stillAllowed,
  stillWanted,
  SupersededError,
  tagsOf,
} from "./env.ts";

/** Checks the owner, writes the tags, reads them again; only then is the database this CR's. */
export const adopt: EffectFunction = async (env, { knowledge, latest }, signal) => {
  const readAt = env.clock.monotonic();
  const object = await readObject(env, knowledge.object, signal);
  if (object === undefined) return { gone: true };
  const id = specOf(object).providerId;
  if (
    id === undefined ||
    (object.status?.providerId ?? id) !== id || !isManaged(object)
  ) {
    return { object };
  }
  return await having(
    object,
    () => alone(env, id, object, () => takeOver(env, { object, readAt }, id, latest, signal)),
  );
};

/** Databases whose adoption is under way: for which UID, and until when a write of its tags may still take effect. */
const underWay = new WeakMap<ProviderGateway, Map<string, { readonly uid: string; until: number }>>();

function adoptionsOf({ gateway, clock }: EffectEnv) {
  const adoptions = underWay.get(gateway) ?? new Map<string, { readonly uid: string; until: number }>();
  underWay.set(gateway, adoptions);
  for (const [id, { until }] of adoptions) if (until <= clock.monotonic()) adoptions.delete(id);
  return adoptions;
}

/**
 * Of two that read one database as free the later would write over the tags of the first, after that had read them
 * again; and so would a write of tags that takes effect late (rule 5).
 */
async function alone<T>(
  env: EffectEnv,
  id: string,
  object: ExternalDatabase,
  work: () => Promise<T>,
): Promise<T> {
  const adoptions = adoptionsOf(env);
  const { uid } = object.metadata;
  const earlier = adoptions.get(id);
  if (earlier !== undefined && earlier.uid !== uid) {
    throw new StepError("busy", `The database ${quote(id)} is just being adopted by another resource`);
  }
  const mine = { uid, until: Number.POSITIVE_INFINITY };
  adoptions.set(id, mine);
  const settled = () => {
    if (earlier === undefined) adoptions.delete(id);
    else adoptions.set(id, earlier); // its own write of before may still be on the way
  };
  try {
    const result = await work();
    settled();
    return result;
  } catch (error) {
    if (error instanceof StepError && error.errorClass === "unknown") {
      const { provider } = env.view(uid);
      mine.until = env.clock.monotonic() + (provider?.effectBoundMs ?? 0);
    } else settled();
    throw error;
  }
}

async function takeOver(
  env: EffectEnv,
  { object, readAt }: Read,
  id: string,
  latest: () => Knowledge,
  signal: AbortSignal,
): Promise<Learned> {
  const observed = object.status?.observeOnly === true;
  const again = object.status?.providerId === id && !observed; // recorded, and its tags were lost
  const sentAt = env.clock.monotonic();
  const before = await read(env, id, signal);
  if (again && before.tags[TAG.uid] !== undefined) {
    return { object, observation: { kind: "present", database: before, sentAt } };
  }
  const consent = await requireConsent(env, object, before, signal);
  if (before.tags[TAG.uid] !== object.metadata.uid || before.tags[TAG.retained] !== undefined) {
    if (before.state !== "Available") {
      const { state, unknownState, providerState } = before;
      const word = unknownState ? `${quote(providerState)}, a state that is not known here,` : state;
      // Whatever else it is passes; that it failed is for a person.
      throw new StepError("busy", `The database ${quote(id)} is ${word} and takes no tags now`, {
        code: state === "Failed" ? "DatabaseFailed" : undefined,
      });
    }
    return await tag(env, { object, readAt }, { id, consent }, latest, signal);
  }
  return await verify(env, object, id, { object }, signal);
}

/** Writes the tags. From here on a database may carry our UID that is not recorded: a deletion must look for it. */
async function tag(
  env: EffectEnv,
  { object, readAt }: Read,
  { id, consent }: { readonly id: string; readonly consent: string | undefined },
  latest: () => Knowledge,
  signal: AbortSignal,
): Promise<Learned> {
  const stillConsents = (now: ExternalDatabase) => {
    if (consent === undefined || consentsTo(now, consent)) return;
    throw new SupersededError("The consent was taken back");
  };
  const again = new LateRead(env, { object, readAt }, signal, (now) => {
    if (now === undefined || !isManaged(now) || specOf(now).providerId !== id) {
      throw new SupersededError("The adoption is no longer wanted");
    }
    stillConsents(now);
  });
  const { uid } = object.metadata;
  const tags = {
    ...tagsOf(object, env.clusterId()),
    [TAG.retained]: null,
    // One that was created, and whose tags were lost, stays one that was created.
    ...(isAdopted(object, id) ? { [TAG.adopted]: uid } : {}),
  };
  const wanted = () => {
    stillWanted(latest, "adoption")();
    const now = newerOf(object, latest().object);
    stillAllowed(env, now);
    if (specOf(latest().object).providerId !== id) {
      throw new SupersededError("The spec does not name the database any more");
    }
    stillConsents(now);
  };
  let at: number;
  try {
    ({ answeredAt: at } = await env.gateway.modify(
      id,
      { tags },
      "create",
      signal,
      wanted,
      () => again.whenLate(),
    ));
  } catch (error) {
    if (error instanceof SupersededError) return superseded(latest(), again);
    const lost = error instanceof ProviderError && error.errorClass === "unknown";
    throw stepError(error, lost ? { tagged: { id, at: env.clock.monotonic() } } : undefined);
  }
  const learned = await verify(env, object, id, { object, tagged: { id, at } }, signal);
  // Of one that is not recorded yet the record tells.
  if (object.status?.observeOnly) {
    emit(env, object, {
      type: "Normal",
      reason: "Adopted",
      action: "Adopt",
      note: `Adopted the database ${quote(id)}, which was only observed before`,
    });
  }
  return learned;
}

/** Reads the database again; another may have written its tags over ours. */
async function verify(
  env: EffectEnv,
  object: ExternalDatabase,
  id: string,
  learned: Learned,
  signal: AbortSignal,
): Promise<Learned> {
  let observation: Observation;
  try {
    observation = await readById(env, id, "create", signal);
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    throw error.knowing(learned);
  }
  if (observation.kind === "absent") throw missing(id, learned);
  if (observation.database.tags[TAG.uid] !== object.metadata.uid) {
    throw taken(env, object, observation.database, learned);
  }
  return { ...learned, observation };
}

async function read(
  env: EffectEnv,
  id: string,
  signal: AbortSignal,
): Promise<Database> {
  const observation = await readById(env, id, "create", signal);
  if (observation.kind === "absent") throw missing(id);
  return observation.database as Database;
}

/** Whether a CR says that it takes over what that owner has. */
function consentsTo({ metadata }: ExternalDatabase, owner: string): boolean {
  return metadata.annotations?.[ANNOTATION.adoptFrom] === owner;
}

/**
 * Throws `taken` unless the database is free, ours already, retained, orphaned in this cluster, or consented to: then it
 * resolves with the owner that the consent is to. The
 * taker's own word is consent only where the owner is within reach of whoever gave it: in the same namespace, or in
 * another cluster, which cannot be read. Else a user of one namespace could take the live database of another.
 */
async function requireConsent(
  env: EffectEnv,
  object: ExternalDatabase,
  database: Database,
  signal: AbortSignal,
): Promise<string | undefined> {
  const owner = database.tags[TAG.uid];
  const here = isOfThisCluster(env, database);
  if (owner === undefined || (owner === object.metadata.uid && here)) return undefined;
  if (mayConsent(env, object, database) && consentsTo(object, owner)) return owner;
  const kept = isRetained(database);
  if (kept && !here) return undefined;
  // A restored cluster may have the owner of a kept one again, which knows nothing of that tag (S3).
  if (here && await ownerIsGone(env, database, owner, signal, kept)) return undefined;
  throw taken(env, object, database);
}

function isOfThisCluster(env: EffectEnv, { tags }: Tagged): boolean {
  return tags[TAG.cluster] === undefined || tags[TAG.cluster] === env.clusterId();
}

/** Whether the annotation on the taker can be consent (rule 18). */
function mayConsent(env: EffectEnv, taker: ExternalDatabase, database: Tagged): boolean {
  return !isOfThisCluster(env, database) || database.tags[TAG.namespace] === taker.metadata.namespace;
}

type Tagged = Pick<Database, "id" | "tags">;

/** A quorum read of the owner that the tags name: gone, or its name is another's; of one that was `kept`, or going, or not named. */
async function ownerIsGone(
  env: EffectEnv,
  database: Database,
  owner: string,
  signal: AbortSignal,
  kept: boolean,
): Promise<boolean> {
  const namespace = database.tags[TAG.namespace];
  const name = database.tags[TAG.crName];
  if (namespace === undefined || name === undefined) return kept;
  try {
    const { uid, deletionTimestamp } = (await env.cluster.get({ namespace, name }, { signal })).metadata;
    return uid !== owner || (kept && deletionTimestamp !== undefined);
  } catch (error) {
    if (error instanceof KubeError && error.kind === "notFound") return true;
    // An operator of some namespaces may not read the others': the mark is all that there is to go by.
    if (kept && error instanceof KubeError && error.kind === "forbidden") return true;
    throw stepError(error);
  }
}

/** Names the owner, and the way to consent, only to whom it helps. */
function taken(env: EffectEnv, taker: ExternalDatabase, database: Tagged, learned: Learned = {}): StepError {
  const { tags } = database;
  const id = quote(database.id);
  if (!mayConsent(env, taker, database)) {
    return new StepError(
      "taken",
      `The database ${id} belongs to a resource of another namespace, which must release it first: ` +
        "set deletionPolicy to Retain there and delete that resource",
      { learned },
    );
  }
  const owner = tags[TAG.uid] ?? "";
  const words = `${tags[TAG.namespace] ?? "?"}/${tags[TAG.crName] ?? "?"} (UID ${owner}, cluster ${
    tags[TAG.cluster] ?? "?"
  })`;
  return new StepError(
    "taken",
    `The database ${id} belongs to ${words}; to take it over, annotate this resource with ${ANNOTATION.adoptFrom}=${owner}`,
    { learned },
  );
}

function missing(id: string, learned: Learned = {}): StepError {
  return new StepError(
    "rejected",
    `spec.providerId names the database ${quote(id)}, which the provider does not have`,
    { learned },
  );
}
