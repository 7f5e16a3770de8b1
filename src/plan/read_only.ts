/**
 * What makes sure that a plan changes nothing: ports to provider and cluster through which no change can be sent.
 *
 * @module
 */
import type { Cluster } from "../kube/port.ts";
import type { Secrets } from "../kube/secrets_port.ts";
import type { DatabaseProvider } from "../providers/port.ts";

/** Something that is only to be read was asked for a change: a defect of the plan. */
export class ChangeRefusedError extends Error {
  override readonly name = "ChangeRefusedError";
}

function refuse(what: string): never {
  throw new ChangeRefusedError(`A plan changes nothing, and refused to ${what}`);
}

/** The provider's reads alone; its other methods throw before they reach it. */
export function readOnlyProvider(provider: DatabaseProvider): DatabaseProvider {
  return {
    name: provider.name,
    info: (options) => provider.info(options),
    get: (id, options) => provider.get(id, options),
    list: (options) => provider.list(options),
    create: () => refuse("create a database"),
    modify: () => refuse("change a database"),
    delete: () => refuse("delete a database"),
  };
}

/** The cluster's reads alone. */
export function readOnlyCluster(cluster: Cluster): Cluster {
  return {
    get: (key, options) => cluster.get(key, options),
    list: (request) => cluster.list(request),
    watch: () => refuse("watch"),
    crdState: (options) => cluster.crdState(options),
    clusterId: (options) => cluster.clusterId(options),
    patch: () => refuse("patch a resource"),
    patchStatus: () => refuse("patch a status"),
  };
}

/** The reads of single Secrets alone. */
export function readOnlySecrets(secrets: Secrets): Pick<Secrets, "get"> {
  return { get: (key, options) => secrets.get(key, options) };
}
