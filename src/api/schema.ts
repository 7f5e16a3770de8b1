/**
 * The `ExternalDatabase` resource: the one source of the TypeScript types and of the CRD in `crds/`.
 *
 * `deno task crds` writes the YAML from this schema; a test fails when they differ. Only what the API server's
 * structural schemas know is used here (no unions, no defaults on policies: rule 19).
 *
 * @module
 */
import { z } from "zod";

/** Bounds of `spec.pollInterval`, in milliseconds (rule 11: 10 s to 24 h). */
export const POLL_INTERVAL_MS = { min: 10_000, max: 86_400_000 } as const;

/** What the user asks for. */
export const specSchema = z.object({
  engine: z.string().min(1).max(63).regex(/^[A-Za-z][A-Za-z0-9-]*$/)
    .describe("Database engine, such as postgres or mysql. Cannot change once the database exists."),
  version: z.string().min(1).max(63).regex(/^[0-9A-Za-z][0-9A-Za-z._+-]*$/)
    .describe(
      "Engine version, such as 14.2. A prefix (14) accepts every version that starts with it. Never lowered.",
    ),
  sizeGb: z.int32().min(1).max(65536)
    .describe("Size of the storage in GiB. Can grow, never shrink."),
  deletionPolicy: z.enum(["Delete", "Retain", "Snapshot"]).optional()
    .describe(
      "What happens to the database when this resource is deleted. Snapshot: it is deleted once a final snapshot was taken, which status.finalSnapshot names. Default: Delete for a created database, Retain for an adopted one.",
    ),
  deletionProtection: z.boolean().optional()
    .describe(
      "While true the operator does not delete the database, whatever deletionPolicy says; false lets a deletion that waits go on. Kept at the provider too where it can be; absent leaves the provider's own as it is.",
    ),
  managementPolicy: z.enum(["Full", "ObserveOnly"]).optional()
    .describe(
      "ObserveOnly: the database of providerId is looked at and never changed, not even by a tag; deleting this resource leaves it as it is. Default: Full.",
    ),
  driftPolicy: z.enum(["Repair", "Report"]).optional()
    .describe(
      "What happens when the database differs from this spec. Default: Repair for a created database, Report for an adopted one.",
    ),
  onMissing: z.enum(["Recreate", "Report"]).optional()
    .describe(
      "What happens when the database is gone though this resource lives. Default: Recreate for a created database, Report for an adopted one.",
    ),
  pollInterval: z.string().max(32).optional()
    .meta({
      "x-kubernetes-validations": [{
        // Few digits, few parts: duration() must not overflow, since a rule that errors blocks every later patch.
        rule:
          "size(self) <= 32 && self.matches('^([0-9]{1,5}(s|m|h))+$') && duration(self) >= duration('10s') && duration(self) <= duration('24h')",
        message: "pollInterval must be a duration from 10s to 24h, such as 30s, 5m or 1h30m",
      }],
    })
    .describe(
      "How often the database is looked at when nothing changes, from 10s to 24h. Default: the operator's --poll-interval.",
    ),
  className: z.string().max(253).regex(/^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$/).optional()
    .describe(
      'Name of the ExternalDatabaseClass, which says in which account the database is made. Cannot change once the database exists. Default: the default class; where there is none, or for "", the account of the operator\'s own flags.',
    ),
  providerId: z.string().min(1).max(253).optional()
    .describe("Identifier of an existing database to adopt instead of creating one."),
  connectionSecretRef: z.object({
    name: z.string().min(1).max(253)
      .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/).optional()
      .describe(
        "Name of the Secret, in the resource's namespace. Default: the resource's name with -connection.",
      ),
  }).optional()
    .describe(
      "Asks for a Secret that holds all that a client needs to connect: type, provider, host, port, database, username, password and uri. Where the provider's databases are of no use without, there is one by default.",
    ),
  paused: z.boolean().optional()
    .describe("While true the operator changes nothing at the cloud, not even for a deletion."),
});

/** One `metav1.Condition`. */
export const conditionSchema = z.object({
  type: z.string().min(1).max(316)
    .describe(
      "Ready: the database can be used now. Synced: it is as this resource asks. WithinQuota: it holds no more than sizeGb, where nothing enforces that.",
    ),
  status: z.enum(["True", "False", "Unknown"]).describe("Unknown while the database cannot be read."),
  observedGeneration: z.int32().min(0).optional()
    .describe("The metadata.generation that this condition was set for."),
  lastTransitionTime: z.string().meta({ format: "date-time" }).describe("When status last changed."),
  reason: z.string().min(1).max(1024).describe("Why, in one CamelCase word, for machines."),
  message: z.string().max(32768).describe("Why, for people."),
});

/** How often one field was repaired without effect (R6). */
export const repairSchema = z.object({
  field: z.enum(["version", "sizeGb", "deletionProtection"]).describe("The field of spec that was repaired."),
  attempts: z.int32().min(0).describe("Repairs sent for this wanted value."),
  wanted: z.string().max(63).describe("The wanted value, as text. Another one starts a new count."),
  lastAttemptTime: z.string().meta({ format: "date-time" }).describe("When the last repair was sent."),
});

/** What the operator says of it. */
export const statusSchema = z.object({
  state: z.enum(["Pending", "Creating", "Available", "Drifted", "Deleting", "Finalized"]).optional()
    .describe("Where the resource is in its life."),
  endpoint: z.string().max(1024).optional().describe("host:port to connect to."),
  providerId: z.string().max(253).optional().describe("Identifier of the database at the provider."),
  providerState: z.string().max(253).optional().describe("The provider's own word for the database's state."),
  account: z.string().max(1024).optional().describe(
    "Identity of the provider account that holds the database.",
  ),
  className: z.string().max(253).optional().describe(
    "The ExternalDatabaseClass that the database is of; absent means the account of the operator's own flags.",
  ),
  incarnation: z.int32().min(1).optional().describe(
    "Counts the databases created for this resource; absent means 1.",
  ),
  adopted: z.boolean().optional().describe("True when the database was adopted rather than created."),
  observeOnly: z.boolean().optional().describe(
    "True while the database was only ever observed: nothing of this resource was written on it.",
  ),
  finalSnapshot: z.string().max(63).optional().describe(
    "Name of the final snapshot that a deletion takes, or has taken, before it deletes the database.",
  ),
  removing: z.string().max(253).optional().describe(
    "Identifier of the database whose deletion was, or is about to be, asked for.",
  ),
  provisioningFailures: z.int32().min(0).optional().describe(
    "Databases in a row that failed before they were ever available.",
  ),
  losses: z.int32().min(0).optional().describe(
    "Databases in a row that were gone at the provider and were created anew; each makes the next wait longer.",
  ),
  lastLossTime: z.string().meta({ format: "date-time" }).optional().describe(
    "When the last database of those that losses counts was given up.",
  ),
  observedGeneration: z.int32().min(0).optional().describe(
    "The metadata.generation that the operator last acted on.",
  ),
  observed: z.object({
    engine: z.string().max(253).optional().describe("Engine of the database."),
    version: z.string().max(253).optional().describe("Version that the database runs."),
    sizeGb: z.int32().optional().describe("Size of its storage in GiB."),
    usedGb: z.int32().optional().describe(
      "What it holds, in GiB rounded up, where sizeGb is a quota that nothing enforces.",
    ),
  }).optional().describe("What the provider last said of the database."),
  repair: z.array(repairSchema).max(8).meta({
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["field"],
  }).optional().describe("Repairs that have not taken effect yet."),
  binding: z.object({
    name: z.string().max(253).describe("Name of the Secret."),
    id: z.string().max(253).optional().describe("Identifier of the database that the password was set at."),
    revision: z.string().max(63).optional().describe(
      "Opaque name of the password that was last set there; the Secret carries that of the one it holds.",
    ),
    rotation: z.string().max(262144).optional().describe(
      "The db.my.domain/rotate-password annotation last acted on.",
    ),
  }).optional().describe("The Secret to connect by, as servicebinding.io asks of a provisioned service."),
  lastHandledReconcile: z.string().max(262144).optional().describe(
    "The db.my.domain/reconcile annotation last acted on.",
  ),
  lastHandledConfirmation: z.string().max(262144).optional().describe(
    "The db.my.domain/confirm-absence annotation last acted on.",
  ),
  conditions: z.array(conditionSchema).max(16).meta({
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
  }).optional().describe(
    "What holds of the database now, and why. What each reason means, and what to do: on the operator's page, under /reasons. Wait with: kubectl wait --for=condition=Ready.",
  ),
});

/** `spec` of an ExternalDatabase. */
export type ExternalDatabaseSpec = z.infer<typeof specSchema>;
/** `status` of an ExternalDatabase. */
export type ExternalDatabaseStatus = z.infer<typeof statusSchema>;
/** One condition in `status.conditions`. */
export type Condition = z.infer<typeof conditionSchema>;
/** Repair count of one field. */
export type Repair = z.infer<typeof repairSchema>;

/** The part of `metav1.ObjectMeta` that the operator reads. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** One custom resource as the API server holds it. `spec` of a stored object may predate today's schema: see `validateSpec`. */
export interface ExternalDatabase {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: ExternalDatabaseSpec;
  readonly status?: ExternalDatabaseStatus | undefined;
  /** What its class says where its spec says nothing: put in by the operator that holds the object, never stored. */
  readonly class?:
    | {
      readonly name: string;
      readonly defaults?:
        | Pick<ExternalDatabaseSpec, "deletionPolicy" | "driftPolicy" | "onMissing">
        | undefined;
    }
    | undefined;
}

/** Namespace and name. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

/** `namespace/name`, as logs and maps have it. */
export function keyText({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
