/**
 * `metav1.Status`: every refusal of the embedded API, worded as kube-apiserver 1.37 words it (measured).
 *
 * @module
 */
import type { Json, JsonObject } from "./types.ts";

/** Kinds of field errors with the reason that a cause carries (`field.ErrorType`). */
export type FieldErrorType =
  | "FieldValueInvalid"
  | "FieldValueRequired"
  | "FieldValueForbidden"
  | "FieldValueDuplicate"
  | "FieldValueNotSupported"
  | "FieldValueTypeInvalid"
  | "FieldValueTooLong"
  | "FieldValueTooMany";

/** One field that was refused. `field` is a path such as `spec.size`; `<nil>` is the root. */
export interface FieldError {
  readonly type: FieldErrorType;
  readonly field: string;
  readonly message: string;
}

/** `Invalid value: …: detail`; without a value, as for objects, only the detail. */
export function invalidValue(field: string, value: Json | undefined, detail: string): FieldError {
  const shown = value === undefined ? "" : `${JSON.stringify(value)}: `;
  return { type: "FieldValueInvalid", field, message: `Invalid value: ${shown}${detail}` };
}

/** `Required value: detail`. */
export function requiredValue(field: string, detail = ""): FieldError {
  return {
    type: "FieldValueRequired",
    field,
    message: detail === "" ? "Required value" : `Required value: ${detail}`,
  };
}

/** `Forbidden: detail`. */
export function forbiddenValue(field: string, detail: string): FieldError {
  return { type: "FieldValueForbidden", field, message: `Forbidden: ${detail}` };
}

/** `Unsupported value: …: supported values: …`. */
export function unsupportedValue(field: string, value: Json, supported: readonly Json[]): FieldError {
  const list = supported.map((item) => JSON.stringify(item)).join(", ");
  return {
    type: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`,
  };
}

/** `Too long: may not be more than N bytes`. */
export function tooLong(field: string, bytes: number): FieldError {
  return { type: "FieldValueTooLong", field, message: `Too long: may not be more than ${bytes} bytes` };
}

/** What a refusal is made of. */
export interface StatusParts {
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  /** A continue token that goes on inconsistently (410 of a list). */
  readonly continueToken?: string;
}

/** A refusal that becomes the answer. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  constructor(readonly parts: StatusParts) {
    super(parts.message);
  }
  /** Its body. */
  get body(): JsonObject {
    return failure(this.parts);
  }
}

/** A `Failure` body. */
export function failure(parts: StatusParts): JsonObject {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: parts.continueToken === undefined ? {} : { continue: parts.continueToken },
    status: "Failure",
    message: parts.message,
    ...(parts.reason === undefined ? {} : { reason: parts.reason }),
    ...(parts.details === undefined ? {} : { details: parts.details }),
    code: parts.code,
  };
}

/** What a refusal says of the resource. */
export interface ResourceName {
  readonly group: string;
  readonly plural: string;
}

/** `widgets.test.example.com`, or `secrets` for the core group. */
export function qualified(group: string, name: string): string {
  return group === "" ? name : `${name}.${group}`;
}

function details(group: string, kind: string, name: string): JsonObject {
  return { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind };
}

/** 404 of an object. */
export function notFound({ group, plural }: ResourceName, name: string): StatusError {
  return new StatusError({
    code: 404,
    reason: "NotFound",
    message: `${qualified(group, plural)} "${name}" not found`,
    details: details(group, plural, name),
  });
}

/** 409 of a create. */
export function alreadyExists(
  { group, plural }: ResourceName,
  name: string,
  terminating = false,
): StatusError {
  return new StatusError({
    code: 409,
    reason: "AlreadyExists",
    message: `${terminating ? "object is being deleted: " : ""}${
      qualified(group, plural)
    } "${name}" already exists`,
    details: details(group, plural, name),
  });
}

/** 409 of an update; `what` is the plural or, for delete preconditions, the kind. */
export function conflict(group: string, what: string, name: string, why: string): StatusError {
  return new StatusError({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${qualified(group, what)} "${name}": ${why}`,
    details: details(group, what, name),
  });
}

/** The usual cause of a conflict. */
export const MODIFIED =
  "the object has been modified; please apply your changes to the latest version and try again";

/** 422 with its causes; equal messages are told once, as `ToAggregate` does. */
export function invalid(
  group: string,
  kind: string,
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const texts = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new StatusError({
    code: 422,
    reason: "Invalid",
    message: `${qualified(group, kind)} "${name}" is invalid: ${list}`,
    details: {
      ...details(group, kind, name),
      causes: errors.map((error) => ({ reason: error.type, message: error.message, field: error.field })),
    },
  });
}

/** 422 of request options. */
export function invalidOptions(kind: string, errors: readonly FieldError[]): StatusError {
  return invalid("meta.k8s.io", kind, "", errors);
}

/** 403 of one object. */
export function forbidden(
  { group, plural }: ResourceName,
  name: string,
  why: string,
  causes?: Json[],
): StatusError {
  return new StatusError({
    code: 403,
    reason: "Forbidden",
    message: `${qualified(group, plural)} "${name}" is forbidden: ${why}`,
    details: { ...details(group, plural, name), ...(causes === undefined ? {} : { causes }) },
  });
}

/** 400. */
export function badRequest(message: string): StatusError {
  return new StatusError({ code: 400, reason: "BadRequest", message });
}

/** 500 without a reason, as errors that the server does not expect come out. */
export function internal(message: string): StatusError {
  return new StatusError({ code: 500, message });
}

/** 415. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  return new StatusError({
    code: 415,
    reason: "UnsupportedMediaType",
    message: `the body of the request was in an unknown format - accepted media types include: ${
      accepted.join(", ")
    }`,
  });
}

/** 406. */
export function notAcceptable(): StatusError {
  return new StatusError({
    code: 406,
    reason: "NotAcceptable",
    message:
      "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  });
}

/** 405 of a custom resource; built-in resources do not name themselves. */
export function methodNotAllowed(resource: ResourceName | undefined, verb: string): StatusError {
  return new StatusError({
    code: 405,
    reason: "MethodNotAllowed",
    message: resource === undefined
      ? "the server does not allow this method on the requested resource"
      : `${verb} is not supported on resources of kind "${qualified(resource.group, resource.plural)}"`,
    details: resource === undefined ? {} : details(resource.group, resource.plural, ""),
  });
}

/** 404 of a path below a known group. */
export function noSuchResource(): StatusError {
  return new StatusError({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });
}

/** 410 of a watch or list whose version is no longer known. */
export function expired(message: string, continueToken?: string): StatusError {
  return new StatusError({
    code: 410,
    reason: "Expired",
    message,
    ...(continueToken === undefined ? {} : { continueToken }),
  });
}

/** 504 of a read from a version that does not exist yet. */
export function tooLargeVersion(asked: number, current: number): StatusError {
  return new StatusError({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
    headers: { "retry-after": "1" },
  });
}
