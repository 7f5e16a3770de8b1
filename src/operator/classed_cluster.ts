/**
 * The cluster whose answers say, beside what a resource is, what its class says where its spec says nothing: what an
 * effect reads anew is judged by the same policies as what its actor holds.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import type { Cluster } from "../kube/port.ts";
import { withClass } from "../statechart/class_view.ts";
import type { ClassDirectory } from "./classes.ts";

/** Adds the class to every single resource that is answered; lists and watches pass as they are. */
export function classedCluster(cluster: Cluster, classes: Pick<ClassDirectory, "view">): Cluster {
  const told = async (answer: Promise<ExternalDatabase>) => {
    const object = await answer;
    return withClass(object, { class: classes.view(object) });
  };
  return {
    get: (key, options) => told(cluster.get(key, options)),
    patch: (key, operations, options) => told(cluster.patch(key, operations, options)),
    patchStatus: (key, operations, options) => told(cluster.patchStatus(key, operations, options)),
    list: (request) => cluster.list(request),
    watch: (request) => cluster.watch(request),
    crdState: (options) => cluster.crdState(options),
    clusterId: (options) => cluster.clusterId(options),
  };
}
