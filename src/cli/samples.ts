/**
 * The demo's sample resources.
 *
 * @module
 */
import { API_VERSION, KIND } from "../api/constants.ts";
import type { ExternalDatabaseSpec } from "../api/schema.ts";

/** A resource as a person applies it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: ExternalDatabaseSpec;
}

const NAMED: readonly (ExternalDatabaseSpec & { readonly name: string })[] = [
  { name: "orders", engine: "postgres", version: "14.2", sizeGb: 20 },
  { name: "catalogue", engine: "mysql", version: "8.0", sizeGb: 50 },
  { name: "analytics", engine: "postgres", version: "15.4", sizeGb: 100 },
];

/** What the samples ask the local cloud for: one version, so that one is fetched. */
export const LOCAL_VERSION = "16";

/** `count` manifests in the namespace `default`, for the simulated cloud or for one that has PostgreSQL alone. */
export function sampleDatabases(count: number, cloud: "local" | "simulated" = "simulated"): Manifest[] {
  return Array.from({ length: count }, (_, index) => {
    const { name, ...other } = NAMED[index] ??
      { name: `sample-${index + 1}`, engine: "postgres", version: "14.2", sizeGb: 10 };
    const spec = cloud === "simulated" ? other : { ...other, engine: "postgres", version: LOCAL_VERSION };
    return { apiVersion: API_VERSION, kind: KIND, metadata: { name, namespace: "default" }, spec };
  });
}
