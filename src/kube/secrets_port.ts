/**
 * The port to the cluster's Secrets, of which the operator reads and writes its own connection Secrets alone.
 *
 * @module
 */
import type { ObjectKey } from "../api/schema.ts";
import type { JsonPatchOperation, RequestOptions, Source } from "./port.ts";

/** A `metav1.OwnerReference`. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
}

/** A Secret as the API server holds it; `data` is base64. */
export interface StoredSecret {
  readonly metadata: ObjectKey & {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
    readonly ownerReferences?: readonly OwnerReference[] | undefined;
  };
  readonly type?: string | undefined;
  readonly data?: Readonly<Record<string, string>> | undefined;
}

/** A Secret that is to be created. */
export interface NewSecret {
  readonly metadata: ObjectKey & Pick<StoredSecret["metadata"], "labels" | "annotations" | "ownerReferences">;
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
}

/**
 * The requests. Each rejects with a `KubeError` or the signal's reason; no message holds what a Secret holds. Lists and
 * watches bring only what is labelled as managed by this operator.
 */
export interface Secrets extends Source<StoredSecret> {
  /** Kind `conflict` where one of that name exists. */
  create(secret: NewSecret, options: RequestOptions): Promise<StoredSecret>;
  /** JSON patch; every caller tests `/metadata/uid` and `/metadata/resourceVersion`. */
  patch(
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    options: RequestOptions,
  ): Promise<StoredSecret>;
  /** Deletes the object of this UID and no namesake. */
  delete(key: ObjectKey, uid: string, options: RequestOptions): Promise<void>;
}

/** What a Secret holds, as texts: what is no UTF-8 shows as U+FFFD, and is no credential. Throws on what is no base64. */
export function secretTexts(data: StoredSecret["data"]): Readonly<Record<string, string>> {
  const text = (value: string) =>
    new TextDecoder().decode(Uint8Array.from(atob(value), (c) => c.charCodeAt(0)));
  return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, text(value)]));
}
