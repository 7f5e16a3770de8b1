/**
 * A cluster that went back in time: etcd restored from a backup, with its version raised as Kubernetes advises
 * (`etcdutl snapshot restore --bump-revision --mark-compacted`) or without.
 *
 * An older copy of an object is mostly no news but an old answer: an API server that lags must never undo what is
 * known (W8). What proves that history itself was rewritten:
 * - a list as new as the version that is held of an object, which shows an older one of it, or another content under
 *   the same version;
 * - a read of that one object, a quorum read, sent after that version was held, which does so.
 * Whatever is less than that is asked for, object by object.
 *
 * @module
 */
import { isOlderVersion } from "../api/resource_version.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { equal } from "../core/equal.ts";
import type { Logger } from "../core/log.ts";
import { KubeError, type Source, type Watched } from "./port.ts";

/** What an arriving copy is to what is held of its UID. */
export type Standing =
  /** As new or newer. */
  | "current"
  /** It proves that the cluster went back. */
  | "rewound"
  /** Older than what is held, and so is its source. */
  | "doubtful";

/** Judges a copy that came from a source as new as resourceVersion `asOf`. */
export function standing(copy: Watched, asOf: string, held: Watched | undefined): Standing {
  if (held === undefined) return "current";
  const { resourceVersion } = copy.metadata;
  const known = held.metadata.resourceVersion;
  if (resourceVersion === known) return sameContent(copy, held) ? "current" : "rewound";
  if (!isOlderVersion(resourceVersion, known)) return "current";
  return isOlderVersion(asOf, known) ? "doubtful" : "rewound";
}

/** Whether the answer of a quorum read or a write, sent when `held` was known, proves that the cluster went back. */
export function isRewound(answer: Watched, held: Watched): boolean {
  return answer.metadata.uid === held.metadata.uid &&
    standing(answer, held.metadata.resourceVersion, held) === "rewound";
}

/** A quorum read of what is held: the object of that UID as it is, or `undefined` when there is none any more. */
export async function readAgain<T extends Watched>(
  cluster: Source<T>,
  held: T,
  signal: AbortSignal,
): Promise<T | undefined> {
  const { namespace, name, uid } = held.metadata;
  try {
    const object = await cluster.get({ namespace, name }, { signal });
    return object.metadata.uid === uid ? object : undefined;
  } catch (error) {
    if (error instanceof KubeError && error.kind === "notFound") return undefined;
    throw error;
  }
}

/** Objects that are asked for, of those held in a version that a list has not reached. */
const ASKED = 3;

/** Judges lists that are older than what was seen before. */
export class ListAge<T extends Watched = ExternalDatabase> {
  #staleSince: number | undefined;

  constructor(
    private readonly options: {
      readonly cluster: Source<T>;
      readonly log: Logger;
      readonly now: () => number;
      /** How long a list is refused that nothing proves old or new, in milliseconds. */
      readonly refuseMs: number;
      /** Everything that is held in the list's scope. */
      readonly held: () => Iterable<T>;
    },
  ) {}

  /** A list was taken in. */
  reset(): void {
    this.#staleSince = undefined;
  }

  /**
   * Judges a list of version `listed` by the newest version that was `seen`: true when the cluster went back, so that
   * all of it is the truth. Throws when it is to be refused, as it comes from a server that lags and would undo what
   * is known. Where nothing that is held can tell, it is refused for some time only.
   */
  async check(listed: string, seen: string, signal: AbortSignal): Promise<boolean> {
    if (!isOlderVersion(listed, seen)) return false;
    const { now, refuseMs, log } = this.options;
    const proof = await this.#ask(listed, signal);
    if (proof === undefined) this.#staleSince ??= now();
    else this.#staleSince = undefined;
    if (proof === "rewound" || (this.#staleSince !== undefined && now() - this.#staleSince >= refuseMs)) {
      log.log("warn", "The cluster went back in time: was it restored from a backup", { seen, listed });
      return proof === "rewound";
    }
    throw new KubeError(
      "unavailable",
      `Listing: the API server answered with version ${listed}, older than ${seen}, which was seen`,
    );
  }

  async #ask(listed: string, signal: AbortSignal): Promise<"rewound" | "stale" | undefined> {
    let asked = 0;
    for (const held of this.options.held()) {
      if (!isOlderVersion(listed, held.metadata.resourceVersion)) continue;
      const found = await readAgain(this.options.cluster, held, signal);
      if (found !== undefined) return isRewound(found, held) ? "rewound" : "stale";
      if (++asked >= ASKED) break;
    }
    return undefined;
  }
}

/** Whether two copies of one version say the same, as far as the operator reads them. */
function sameContent(a: Watched, b: Watched): boolean {
  return a === b || equal(essence(a), essence(b));
}

function essence({ metadata, spec, status }: Watched): readonly unknown[] {
  const { generation, deletionTimestamp, finalizers, annotations } = metadata;
  return [generation, deletionTimestamp, finalizers, annotations, spec, status];
}
