/**
 * What an account's administrator chooses for all instances of one class: flat, so that a class's
 * `parameters` can hold it.
 *
 * @module
 */
import { z } from "zod";
import { MASTER_USERNAME } from "../access.ts";
import { printable } from "../classify.ts";
import { majorOf } from "./engines.ts";

const text = (pattern: RegExp, what: string) => z.string().regex(pattern, what);
const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((v) => v === "true")]);
const whole = (min: number, max: number) =>
  z.union([z.string().regex(/^\d{1,9}$/, "is not a whole number").transform(Number), z.number()])
    .pipe(z.int().min(min).max(max));
/** Comma-separated, or in a file also a JSON array. */
const list = z.union([
  z.array(z.string()),
  z.string().transform((v) => v.split(",").map((part) => part.trim())),
])
  .pipe(z.array(z.string().min(1)).min(1).max(50));
const url = z.string().refine((v) => {
  const parsed = URL.canParse(v) ? new URL(v) : undefined;
  return parsed !== undefined && /^https?:$/.test(parsed.protocol) && parsed.username === "" &&
    parsed.password === "";
}, "is not an http or https URL without credentials");
const name = text(/^[A-Za-z][A-Za-z0-9-]{0,254}$/, "must be letters, digits and hyphens, the first a letter");
const window = z.string().min(11).max(40);

/**
 * The parameters of {@linkcode createRdsProvider}. Each is what `CreateDBInstance` calls by nearly the same name; what is
 * absent is left to RDS, but for those with a default here. They are for new instances: a later change of them changes
 * no instance that is there.
 */
export const rdsParametersSchema = z.strictObject({
  region: text(/^[a-z]{2,}(-[a-z0-9]+)+$/, "is not a region, such as eu-west-1").optional()
    .describe("Region of the account. Default: AWS_REGION, else AWS_DEFAULT_REGION."),
  endpointUrl: url.optional().describe(
    "URL of RDS's API, such as an interface endpoint's. Default: the region's.",
  ),
  stsEndpointUrl: url.optional().describe(
    "URL of STS's API. Default: endpointUrl where that is not AWS's own, else the region's.",
  ),
  assumeRoleArn: text(/^arn:[^:\s]+:iam::\d{12}:role\/\S+$/, "is not the ARN of a role").optional()
    .describe("Role to take on with the credentials, such as one of another account."),
  assumeRoleExternalId: z.string().min(2).max(1224).optional(),
  profile: z.string().min(1).max(128).default("default").describe("Section of the credentials file."),
  instanceClass: text(/^db\.[a-z0-9.-]+$/, "is not an instance class, such as db.t4g.micro")
    .default("db.t4g.micro"),
  subnetGroup: z.string().min(1).max(255).optional(),
  securityGroups: list.optional().describe("Ids of VPC security groups."),
  parameterGroup: z.string().min(1).max(255).optional()
    .describe("Name of a parameter group. {engine} and {major} stand for the database's own."),
  optionGroup: z.string().min(1).max(255).optional().describe("As parameterGroup."),
  storageType: z.enum(["gp2", "gp3", "io1", "io2", "standard"]).optional(),
  iops: whole(1, 256_000).optional(),
  storageThroughput: whole(1, 4_000).optional(),
  maxAllocatedStorage: whole(20, 65_536).optional()
    .describe("Up to how many GiB RDS grows the storage by itself. Left out where sizeGb is too near to it."),
  storageEncrypted: flag.default(true),
  kmsKeyId: z.string().min(1).max(2048).optional(),
  publiclyAccessible: flag.default(false),
  multiAz: flag.default(false),
  availabilityZone: z.string().min(1).max(64).optional(),
  networkType: z.enum(["IPV4", "DUAL"]).optional(),
  port: whole(1115, 65_535).optional(),
  databaseName: text(/^[A-Za-z][A-Za-z0-9_]{0,62}$/, "must be letters, digits and underscores").default("app")
    .describe("Name of the first database, where the engine makes one."),
  masterUsername: text(/^[A-Za-z][A-Za-z0-9_]{0,15}$/, "must be at most 16 letters, digits, underscores")
    .default(MASTER_USERNAME),
  managedMasterPassword: flag.default(false)
    .describe(
      "RDS keeps the master password in Secrets Manager and rotates it; the operator then sets none.",
    ),
  masterPasswordKmsKeyId: z.string().min(1).max(2048).optional(),
  iamAuthentication: flag.optional(),
  licenseModel: z.string().min(1).max(64).optional(),
  backupRetentionDays: whole(0, 35).optional(),
  backupWindow: window.optional(),
  maintenanceWindow: window.optional(),
  autoMinorVersionUpgrade: flag.default(true),
  copyTagsToSnapshots: flag.default(true),
  deleteAutomatedBackups: flag.default(true).describe("Whether a delete removes the automated backups too."),
  performanceInsights: flag.optional(),
  caCertificate: name.optional(),
  readLagSeconds: whole(0, 600).default(30)
    .describe(
      "How long a new instance may be missing from lists. To be lowered only where the API is not AWS's.",
    ),
  effectBoundSeconds: whole(1, 900).default(300)
    .describe(
      "How old a signature the API takes: 5 minutes at AWS. To be lowered only where the API is not AWS's.",
    ),
});

/** Parameters, checked and complete. */
export type RdsParameters = z.output<typeof rdsParametersSchema>;

/**
 * Checks what a class or a file says: an object of strings, or of what their JSON would be. Throws an Error that names
 * every parameter at fault.
 */
export function parseRdsParameters(value: unknown): RdsParameters {
  const result = rdsParametersSchema.safeParse(value);
  const faults = result.success ? [] : result.error.issues.slice(0, 5).map((issue) => {
    if (issue.code === "unrecognized_keys") return `there is no parameter "${issue.keys.join('", "')}"`;
    const path = issue.path.map(String).join(".") || "they";
    return `${path}: ${issue.code === "invalid_union" ? "has a value of the wrong kind" : issue.message}`;
  });
  if (result.success) {
    const { managedMasterPassword, masterPasswordKmsKeyId, assumeRoleExternalId, assumeRoleArn } =
      result.data;
    if (!managedMasterPassword && masterPasswordKmsKeyId !== undefined) {
      faults.push("masterPasswordKmsKeyId goes with managedMasterPassword");
    }
    if (assumeRoleArn === undefined && assumeRoleExternalId !== undefined) {
      faults.push("assumeRoleExternalId goes with assumeRoleArn");
    }
    if (faults.length === 0) return result.data;
  }
  throw new Error(`Reading the parameters of aws-rds: ${printable(faults.join("; "), 480)}`);
}

/** A group's name for one database: `{engine}` and `{major}` filled in, the dots of a major being hyphens. */
export function groupName(
  template: string | undefined,
  { engine, version }: { readonly engine: string; readonly version: string },
): string | undefined {
  return template?.replaceAll("{engine}", engine)
    .replaceAll("{major}", majorOf(engine, version).replaceAll(".", "-"));
}
