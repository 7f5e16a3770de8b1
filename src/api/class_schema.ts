/**
 * The `ExternalDatabaseClass` resource: which account a database is made in, and within which bounds. The one source of
 * the TypeScript types and of the CRD in `crds/`, as `schema.ts` is for the databases themselves.
 *
 * @module
 */
import { z } from "zod";
import { CLASS_PROVIDERS } from "./constants.ts";
import { conditionSchema, type ObjectMeta, specSchema } from "./schema.ts";

const { deletionPolicy, driftPolicy, onMissing, pollInterval } = specSchema.shape;

/** What the administrator writes. */
export const classSpecSchema = z.object({
  provider: z.enum(CLASS_PROVIDERS).meta({
    "x-kubernetes-validations": [{
      rule: "self == oldSelf",
      message:
        "provider cannot change, as databases would be looked for in another cloud; create another class",
      reason: "FieldValueForbidden",
    }],
  }).describe("The kind of cloud: simulated, http, postgres, aws-rds or local. Cannot change."),
  parameters: z.record(z.string(), z.string().max(4096)).meta({ maxProperties: 64 }).optional()
    .describe(
      "Settings of the provider, such as url for http or region for aws-rds; docs/classes.md lists them. Condition Accepted names the one that is not right.",
    ),
  credentialsSecretRef: z.object({
    namespace: z.string().min(1).max(63).regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/).optional()
      .describe("Namespace of the Secret. Default: the operator's own."),
    name: z.string().min(1).max(253).regex(/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/).describe(
      "Name of the Secret.",
    ),
  }).optional()
    .describe(
      "The Secret with the credentials: token for http; servers, one URL a line, for postgres; AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN for aws-rds. It is watched: a rotation is used at once.",
    ),
  allowed: z.object({
    engines: z.array(z.string().min(1).max(63)).max(32).optional()
      .describe("Engines that a database of this class may have. Default: all that the provider knows."),
    versions: z.array(z.string().min(1).max(63)).max(64).optional()
      .describe("Versions that may be asked for, each standing for all that begin with it: 16 allows 16.2."),
    sizeGb: z.object({
      min: z.int32().min(1).max(65536).optional().describe("Smallest size in GiB."),
      max: z.int32().min(1).max(65536).optional().describe("Largest size in GiB."),
    }).optional().describe("Sizes that may be asked for."),
  }).optional().describe(
    "What a resource may ask for. One that asks for more is told so (reason NotAllowed) and nothing is created; a database that is there already is left as it is.",
  ),
  defaults: z.object({
    deletionPolicy: deletionPolicy.describe(
      "The deletionPolicy of resources that name none and whose database was created rather than adopted.",
    ),
    driftPolicy: driftPolicy.describe(
      "The driftPolicy of resources that name none and whose database was created rather than adopted.",
    ),
    onMissing: onMissing.describe(
      "The onMissing of resources that name none and whose database was created rather than adopted.",
    ),
    pollInterval: pollInterval.describe(
      "How often the databases of this class are looked at when nothing changes, from 10s to 24h. Default: the operator's --poll-interval.",
    ),
  }).optional().describe("What holds where a resource's spec says nothing."),
  rateLimit: z.object({
    concurrency: z.int32().min(1).max(4096).optional()
      .describe("Calls to the provider under way at once. Default: the operator's --concurrency."),
    perSecond: z.int32().min(1).max(100000).optional()
      .describe("Calls to the provider a second. Default: the operator's --rate."),
  }).optional().describe("Bounds of the calls to this class's account."),
});

const classConditionSchema = conditionSchema.extend({
  type: conditionSchema.shape.type.describe("Accepted: the spec can be used. Ready: the account answers."),
  status: conditionSchema.shape.status.describe("Unknown while nobody can say."),
});

/** What the operator says of it. */
export const classStatusSchema = z.object({
  account: z.string().max(1024).optional().describe(
    "Identity of the provider account, as it last said itself.",
  ),
  observedGeneration: z.int32().min(0).optional()
    .describe("The metadata.generation that the operator last acted on."),
  conditions: z.array(classConditionSchema).max(16).meta({
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
  }).optional().describe(
    "Accepted: the spec can be used, its parameters included. Ready: the account answers.",
  ),
});

/** `spec` of an ExternalDatabaseClass. */
export type ClassSpec = z.infer<typeof classSpecSchema>;
/** `status` of an ExternalDatabaseClass. */
export type ClassStatus = z.infer<typeof classStatusSchema>;
/** Bounds on what a resource may ask for. */
export type ClassBounds = NonNullable<ClassSpec["allowed"]>;
/** What holds where a resource's spec says nothing. */
export type ClassDefaults = NonNullable<ClassSpec["defaults"]>;

/** One class as the API server holds it; `spec` may predate today's schema. `metadata.namespace` is always empty. */
export interface ExternalDatabaseClass {
  readonly metadata: ObjectMeta;
  readonly spec: ClassSpec;
  readonly status?: ClassStatus | undefined;
}
