/**
 * The cluster for a process that may lose its lease: it writes nothing without it (rule 21, H1).
 *
 * @module
 */
import { messageOf } from "../core/text.ts";
import { type Cluster, KubeError } from "../kube/port.ts";
import type { Secrets } from "../kube/secrets_port.ts";

/** Checks `fence` before every write; what it throws becomes a KubeError of kind `unavailable`. Records of calls that were in flight when a drain began still pass. */
export function fencedCluster(cluster: Cluster, fence: (() => void) | undefined): Cluster {
  if (fence === undefined) return cluster;
  const check = checking(fence);
  return {
    get: (key, options) => cluster.get(key, options),
    list: (request) => cluster.list(request),
    watch: (request) => cluster.watch(request),
    crdState: (options) => cluster.crdState(options),
    clusterId: (options) => cluster.clusterId(options),
    // deno-lint-ignore require-await -- what the check throws is to be a rejection
    patch: async (key, operations, options) => {
      check();
      return cluster.patch(key, operations, options);
    },
    // deno-lint-ignore require-await -- as above
    patchStatus: async (key, operations, options) => {
      check();
      return cluster.patchStatus(key, operations, options);
    },
  };
}

/** The same for Secrets. */
export function fencedSecrets(
  secrets: Secrets | undefined,
  fence: (() => void) | undefined,
): Secrets | undefined {
  if (secrets === undefined || fence === undefined) return secrets;
  const check = checking(fence);
  return {
    get: (key, options) => secrets.get(key, options),
    list: (request) => secrets.list(request),
    watch: (request) => secrets.watch(request),
    // deno-lint-ignore require-await -- as above
    create: async (secret, options) => {
      check();
      return secrets.create(secret, options);
    },
    // deno-lint-ignore require-await -- as above
    patch: async (key, operations, options) => {
      check();
      return secrets.patch(key, operations, options);
    },
    // deno-lint-ignore require-await -- as above
    delete: async (key, uid, options) => {
      check();
      return secrets.delete(key, uid, options);
    },
  };
}

function checking(fence: () => void): () => void {
  return () => {
    try {
      fence();
    } catch (error) {
      throw new KubeError("unavailable", messageOf(error), {
        cause: error,
      });
    }
  };
}
