/**
 * One Lease object (coordination.k8s.io/v1), as leader election needs it.
 *
 * @module
 */
import { CoordinationV1Api, type V1Lease, V1MicroTime } from "@kubernetes/client-node";
import { OPERATOR_NAME } from "../api/constants.ts";
import type { ObjectKey } from "../api/schema.ts";
import { apiConfiguration, normalised, perCall } from "./client.ts";
import { KubeError } from "./port.ts";
import type { Transport } from "./transport.ts";

/** What a Lease says. */
export interface LeaseRecord {
  /** Of the object, for a guarded update. */
  readonly resourceVersion: string;
  /** Empty when it was released. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with microseconds, as read; for people. */
  readonly acquireTime: string | undefined;
  readonly renewTime: string | undefined;
  readonly leaseTransitions: number;
}

/** What is written. Times are wall time in milliseconds. */
export interface LeaseWrite {
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTime: number;
  readonly renewTime: number;
  readonly leaseTransitions: number;
}

/** One Lease object. Its methods reject with {@linkcode KubeError} or the signal's reason. */
export interface LeasePort {
  /** `undefined` when there is none. */
  get(signal: AbortSignal): Promise<LeaseRecord | undefined>;
  /** Kind `conflict` when there is one already. */
  create(write: LeaseWrite, signal: AbortSignal): Promise<LeaseRecord>;
  /** Kind `conflict` when the object is no longer at `resourceVersion`. */
  update(resourceVersion: string, write: LeaseWrite, signal: AbortSignal): Promise<LeaseRecord>;
}

/** The Lease of this namespace and name. Give it a transport of its own (`Transport.separate`): renewals must not wait behind other requests. */
export function createLeasePort(transport: Transport, key: ObjectKey): LeasePort {
  const api = new CoordinationV1Api(apiConfiguration(transport));
  const call = (verb: string, doing: string, signal: AbortSignal) => ({
    verb,
    action: `${doing} the Lease ${key.namespace}/${key.name}`,
    signal,
  });
  return {
    async get(signal) {
      const c = call("get", "Reading", signal);
      try {
        return await normalised(
          transport,
          c,
          async () => toRecord(await api.readNamespacedLease(key, perCall(transport, c))),
        );
      } catch (error) {
        if (error instanceof KubeError && error.kind === "notFound") return undefined;
        throw error;
      }
    },
    create(write, signal) {
      const c = call("create", "Creating", signal);
      const body = toLease(key, write);
      const request = { namespace: key.namespace, body, fieldManager: OPERATOR_NAME };
      return normalised(
        transport,
        c,
        async () => toRecord(await api.createNamespacedLease(request, perCall(transport, c))),
      );
    },
    update(resourceVersion, write, signal) {
      const c = call("update", "Writing", signal);
      const request = { ...key, body: toLease(key, write, resourceVersion), fieldManager: OPERATOR_NAME };
      return normalised(
        transport,
        c,
        async () => toRecord(await api.replaceNamespacedLease(request, perCall(transport, c))),
      );
    },
  };
}

function toLease(key: ObjectKey, write: LeaseWrite, resourceVersion?: string): V1Lease {
  return {
    metadata: { ...key, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    spec: {
      holderIdentity: write.holderIdentity,
      leaseDurationSeconds: write.leaseDurationSeconds,
      acquireTime: new V1MicroTime(write.acquireTime), // exactly six digits, or the API server answers 400
      renewTime: new V1MicroTime(write.renewTime),
      leaseTransitions: write.leaseTransitions,
    },
  };
}

function toRecord(lease: V1Lease): LeaseRecord {
  const spec = lease.spec ?? {};
  // Typed V1MicroTime, but what is read back is a string.
  const time = (value: unknown) => value === undefined || value === null ? undefined : String(value);
  return {
    resourceVersion: lease.metadata?.resourceVersion ?? "",
    holderIdentity: spec.holderIdentity ?? "",
    leaseDurationSeconds: spec.leaseDurationSeconds ?? 0,
    acquireTime: time(spec.acquireTime),
    renewTime: time(spec.renewTime),
    leaseTransitions: spec.leaseTransitions ?? 0,
  };
}
