/**
 * The Lease object that simulated processes share; the elector that takes and keeps it is the operator's own.
 *
 * @module
 */
import type { LeaseRecord, LeaseWrite } from "../kube/lease_port.ts";
import { KubeError } from "../kube/port.ts";

/** The object as the API server holds it. Everything happens at once here, as in `kube_store.ts`. */
export class SimulatedLease {
  #record: LeaseRecord | undefined;
  #rv = 0;

  /** Who holds it by the API server's own books, whether or not it still lives. */
  get holder(): string | undefined {
    return this.#record?.holderIdentity || undefined;
  }

  get(): LeaseRecord | undefined {
    return this.#record;
  }

  /** Throws `conflict` where there is one. */
  create(write: LeaseWrite): LeaseRecord {
    if (this.#record !== undefined) throw new KubeError("conflict", "the Lease exists", { status: 409 });
    return this.#store(write);
  }

  /** Throws `notFound` where there is none, `conflict` where it is at another version. */
  update(resourceVersion: string, write: LeaseWrite): LeaseRecord {
    if (this.#record === undefined) {
      throw new KubeError("notFound", "the Lease was not found", { status: 404 });
    }
    if (this.#record.resourceVersion !== resourceVersion) {
      throw new KubeError("conflict", "the Lease has been modified", { status: 409 });
    }
    return this.#store(write);
  }

  #store(write: LeaseWrite): LeaseRecord {
    return this.#record = {
      ...write,
      resourceVersion: String(++this.#rv),
      acquireTime: String(write.acquireTime),
      renewTime: String(write.renewTime),
    };
  }
}
