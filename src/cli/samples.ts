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

/** `count` manifests in the namespace `default`. */
export function sampleDatabases(count: number): Manifest[] {
  return Array.from({ length: count }, (_, index) => {
    const { name, ...spec } = NAMED[index] ??
      { name: `sample-${index + 1}`, engine: "postgres", version: "14.2", sizeGb: 10 };
    return { apiVersion: API_VERSION, kind: KIND, metadata: { name, namespace: "default" }, spec };
  });
}
