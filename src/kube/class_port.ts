/**
 * The port to the classes of databases, and to the one Secret that each names: what the operator asks of a Kubernetes
 * API for them. `classes.ts` implements it; the simulation over a model.
 *
 * @module
 */
import type { ExternalDatabaseClass } from "../api/class_schema.ts";
import type { ObjectKey } from "../api/schema.ts";
import type { JsonPatchOperation, RequestOptions, Source } from "./port.ts";
import type { StoredSecret } from "./secrets_port.ts";

/** The requests. Each rejects with a `KubeError` or the signal's reason; no message holds what a Secret holds. */
export interface ClassesPort {
  /** The classes, which have no namespace: `metadata.namespace` is empty. */
  readonly classes: Source<ExternalDatabaseClass>;
  /** JSON patch on the status of the class of this name; every caller tests `/metadata/uid`. */
  patchStatus(
    name: string,
    operations: readonly JsonPatchOperation[],
    options: RequestOptions,
  ): Promise<ExternalDatabaseClass>;
  /** One Secret and no other: lists and watches select it by name, so that a role may be bound to it. */
  secret(key: ObjectKey): Source<StoredSecret>;
}
