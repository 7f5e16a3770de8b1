/**
 * The names that the cluster and the cloud know the operator by.
 *
 * @module
 */

/** API group of the custom resource. */
export const GROUP = "crd.my.domain";
/** Served and stored version. */
export const VERSION = "v1";
/** Kind of the custom resource. */
export const KIND = "ExternalDatabase";
/** Plural resource name. */
export const PLURAL = "externaldatabases";
/** Name of the CustomResourceDefinition object. */
export const CRD_NAME = `${PLURAL}.${GROUP}`;
/** `apiVersion` of every custom resource. */
export const API_VERSION = `${GROUP}/${VERSION}`;

/** The finalizer: the intent record of safety.md rule 2. */
export const FINALIZER = "db.my.domain/finalizer";

/** Annotations that people set on a CR. */
export const ANNOTATION = {
  /** Any new value asks for one observation now (rule 23, F3). */
  reconcile: "db.my.domain/reconcile",
  /** The CR's own UID: release without touching the cloud (rule 16). */
  abandon: "db.my.domain/abandon",
  /** The former owner's UID: consent to adopt its database (rule 18). */
  adoptFrom: "db.my.domain/adopt-from",
  /** Any new value confirms a mass absence as real (rule 12). */
  confirmAbsence: "db.my.domain/confirm-absence",
  /** Any new value asks for a new password in the connection Secret. */
  rotatePassword: "db.my.domain/rotate-password",
} as const;

/** Annotations that the operator writes on a connection Secret. */
export const SECRET_ANNOTATION = {
  /** Opaque name of the password that it holds. */
  revision: "db.my.domain/password-revision",
  /** SHA-256 of the password, so that damage is noticed. */
  checksum: "db.my.domain/password-checksum",
  /** The `rotate-password` annotation that the password was made for. */
  rotation: "db.my.domain/password-rotation",
} as const;

/** The label that names who manages an object; the value is {@linkcode OPERATOR_NAME}. */
export const MANAGED_BY = "app.kubernetes.io/managed-by";

/** Tags that the operator writes on an external database (S3). */
export const TAG = {
  /** The original design's tag: the CR's name. */
  crName: "kubernetes.io/cr-name",
  uid: "db.my.domain/uid",
  namespace: "db.my.domain/namespace",
  cluster: "db.my.domain/cluster",
  incarnation: "db.my.domain/incarnation",
  managedBy: "db.my.domain/managed-by",
  /** Set instead of ownership when a database is kept (rule 16). */
  retained: "db.my.domain/retained",
  /** UID of the CR that adopted the database: it was there before, whatever spec and status say later (rule 19). */
  adopted: "db.my.domain/adopted",
} as const;

/** Value of the `managed-by` tag, and the operator's name in Events and field managers. */
export const OPERATOR_NAME = "externaldatabase-operator";

/** Kind of the class of databases. */
export const CLASS_KIND = "ExternalDatabaseClass";
/** Plural resource name of the classes. */
export const CLASS_PLURAL = "externaldatabaseclasses";
/** Name of the classes' CustomResourceDefinition object. */
export const CLASS_CRD_NAME = `${CLASS_PLURAL}.${GROUP}`;
/** The kinds of cloud that a class can be of. */
export const CLASS_PROVIDERS = ["simulated", "http", "postgres", "aws-rds", "local"] as const;
/** One of {@linkcode CLASS_PROVIDERS}. */
export type ClassProvider = typeof CLASS_PROVIDERS[number];
/** Annotation of a class that says, as "true", that it is the default (as StorageClass has it). */
export const IS_DEFAULT_CLASS = "db.my.domain/is-default-class";
/**
 * Annotation of a CR, written with its finalizer: the class that all that was begun for it was begun under. It names the
 * account that a create may have been sent to before any status could (S1, S2).
 */
export const PINNED_CLASS = "db.my.domain/class";
