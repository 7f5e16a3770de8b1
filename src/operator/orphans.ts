/**
 * Reports databases whose CR is gone (S2, rule 22): never deletes them.
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { Logger } from "../core/log.ts";
import { messageOf } from "../core/text.ts";
import { type Cluster, KubeError } from "../kube/port.ts";
import type { Database } from "../providers/port.ts";
import { isRetained } from "../statechart/facts.ts";
import type { Round } from "./observer.ts";

/** Quorum reads a round makes at most, so that a lost cluster state does not become a storm. */
const MAX_CHECKS = 20;

/** Finds orphans over two rounds. */
export class OrphanWatch {
  /** Ids that were without CR in the last round. */
  #suspects = new Set<string>();
  readonly #orphans = new Map<string, Database>();

  constructor(
    private readonly options: {
      readonly cluster: Cluster;
      readonly log: Logger;
      /** Whether the reflector knows the whole cluster. */
      readonly synced: () => boolean;
      /** Whether a CR of this UID is known. */
      readonly isKnown: (uid: string) => boolean;
      /** Whether the namespace is watched. */
      readonly isWatched: (namespace: string) => boolean;
    },
  ) {}

  /** The orphans found so far. */
  get orphans(): readonly Database[] {
    return [...this.#orphans.values()];
  }

  /** Judges a complete list. */
  async judge(round: Round, signal: AbortSignal): Promise<void> {
    const { synced } = this.options;
    const { byId, unreadable } = round;
    for (const [id] of this.#orphans) if (!byId.has(id) && !unreadable.has(id)) this.#orphans.delete(id);
    if (!synced()) return;
    const without = [...round.byId.values()].map((l) => l.database).filter((d) => this.#isWithout(d));
    const twice = without.filter((d) => this.#suspects.has(d.id) && !this.#orphans.has(d.id)).slice(
      0,
      MAX_CHECKS,
    );
    const unread = [...unreadable.keys()].filter((id) => this.#suspects.has(id)); // nothing new is known of it (S6)
    this.#suspects = new Set([...without.map((d) => d.id), ...unread]);
    for (const [id] of this.#orphans) if (!this.#suspects.has(id)) this.#orphans.delete(id);
    for (const database of twice) await this.#check(database, signal);
  }

  #isWithout(d: Database): boolean {
    const uid = d.tags[TAG.uid];
    const namespace = d.tags[TAG.namespace];
    return uid !== undefined && namespace !== undefined && !isRetained(d) &&
      d.state !== "Deleting" && this.options.isWatched(namespace) && !this.options.isKnown(uid);
  }

  async #check(database: Database, signal: AbortSignal): Promise<void> {
    const { cluster, log } = this.options;
    const namespace = database.tags[TAG.namespace] ?? "";
    const name = database.tags[TAG.crName] ?? "";
    try {
      const found = await cluster.get({ namespace, name }, { signal });
      if (found.metadata.uid === database.tags[TAG.uid]) return;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof KubeError) || error.kind !== "notFound") {
        log.log("warn", "Failed to check a database without resource", {
          providerId: database.id,
          namespace,
          name,
          error: messageOf(error),
        });
        return; // not proven: the next round asks again
      }
    }
    this.#orphans.set(database.id, database);
    log.log("error", "A database has no resource any more; it is reported and not deleted", {
      providerId: database.id,
      namespace,
      name,
      uid: database.tags[TAG.uid],
    });
  }
}
