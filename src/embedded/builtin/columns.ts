/**
 * Table columns that several kinds share, with the server's descriptions.
 *
 * @module
 */
import type { Column } from "../resource.ts";

/** The name. */
export const NAME_COLUMN: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description:
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
};

const CREATION =
  "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/** The age. */
export const AGE_COLUMN: Column = { name: "Age", type: "string", description: CREATION };

/** The time of creation, of kinds that show it as such. */
export const CREATED_COLUMN: Column = { name: "Created At", type: "date", description: CREATION };
