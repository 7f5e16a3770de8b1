/**
 * What names, labels, annotations and finalizers may be (RFC 1123 and qualified names), in the server's words.
 *
 * @module
 */
import { type FieldError, forbiddenValue, invalidValue, requiredValue, tooLong } from "./status.ts";
import type { Meta } from "./types.ts";

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART_TEXT =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_TEXT =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/** All annotations of an object together, in bytes (apimachinery `TotalAnnotationSizeLimitB`). */
export const ANNOTATIONS_LIMIT = 262_144;

/** Reasons why a name is no RFC 1123 subdomain. */
export function subdomainErrors(name: string): string[] {
  if (name.length > 253) return ["must be no more than 253 characters"];
  return SUBDOMAIN.test(name) ? [] : [SUBDOMAIN_TEXT];
}

/** Reasons why a name is no RFC 1123 label, which namespaces must be. */
export function labelNameErrors(name: string): string[] {
  if (name.includes(".")) return ["must not contain dots"];
  if (name.length > 63) return ["must be no more than 63 characters"];
  return LABEL.test(name) ? [] : [LABEL_TEXT];
}

/** Reasons why a key is no qualified name (`prefix/name`). */
export function qualifiedNameErrors(key: string): string[] {
  const parts = key.split("/");
  if (parts.length > 2) {
    return [
      "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ];
  }
  const errors: string[] = [];
  const [prefix, name] = parts.length === 2 ? [parts[0] ?? "", parts[1] ?? ""] : [undefined, key];
  if (prefix !== undefined) {
    if (prefix === "") errors.push("prefix part must be non-empty");
    else if (prefix.length > 253) errors.push("prefix part must be no more than 253 bytes");
    else errors.push(...subdomainErrors(prefix).map((error) => `prefix part ${error}`));
  }
  if (name === "") errors.push("name part must be non-empty");
  else if (name.length > 63) errors.push("name part must be no more than 63 bytes");
  if (!QUALIFIED.test(name)) errors.push(NAME_PART_TEXT);
  return errors;
}

/** Reasons why a text is no label value. */
export function labelValueErrors(value: string): string[] {
  if (value.length > 63) return ["must be no more than 63 bytes"];
  return LABEL_VALUE.test(value) ? [] : [VALUE_TEXT];
}

/** What is wrong with labels, annotations and owners. */
export function attributeErrors(meta: Meta): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(meta.labels ?? {})) {
    for (const detail of qualifiedNameErrors(key)) errors.push(invalidValue("metadata.labels", key, detail));
    for (const detail of labelValueErrors(value)) errors.push(invalidValue("metadata.labels", value, detail));
  }
  let bytes = 0;
  for (const [key, value] of Object.entries(meta.annotations ?? {})) {
    bytes += byteLength(key) + byteLength(value);
    for (const detail of qualifiedNameErrors(key.toLowerCase())) {
      errors.push(invalidValue("metadata.annotations", key, detail));
    }
  }
  if (bytes > ANNOTATIONS_LIMIT) errors.push(tooLong("metadata.annotations", ANNOTATIONS_LIMIT));
  (meta.ownerReferences ?? []).forEach((owner, i) => {
    for (const key of ["apiVersion", "kind", "name", "uid"] as const) {
      if ((owner[key] ?? "") !== "") continue;
      const field = `metadata.ownerReferences[${i}].${key}`;
      errors.push(
        key === "apiVersion"
          ? invalidValue(field, owner[key] ?? "", "version must not be empty")
          : requiredValue(field, "must not be empty"),
      );
    }
  });
  if ((meta.ownerReferences ?? []).filter((owner) => owner.controller === true).length > 1) {
    errors.push(
      invalidValue(
        "metadata.ownerReferences",
        undefined,
        "Only one reference can have Controller set to true",
      ),
    );
  }
  return errors;
}

/** What is wrong with the metadata of a new or changed object; `nameErrors` is the kind's own rule. */
export function metaErrors(meta: Meta, nameErrors: (name: string) => string[]): FieldError[] {
  const errors: FieldError[] = [];
  if (meta.name === "" || meta.name === undefined) {
    errors.push(requiredValue("metadata.name", "name or generateName is required"));
  } else {
    for (const detail of nameErrors(meta.name)) errors.push(invalidValue("metadata.name", meta.name, detail));
  }
  errors.push(...attributeErrors(meta));
  for (const finalizer of meta.finalizers ?? []) {
    for (const detail of qualifiedNameErrors(finalizer)) {
      errors.push(invalidValue("metadata.finalizers", finalizer, detail));
    }
  }
  return errors;
}

/** What an update may not do to the metadata. */
export function metaUpdateErrors(next: Meta, old: Meta): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    const added = (next.finalizers ?? []).filter((item) => !(old.finalizers ?? []).includes(item));
    if (added.length > 0) {
      const list = added.map((item) => JSON.stringify(item)).join(", ");
      errors.push(
        forbiddenValue(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
        ),
      );
    }
  }
  for (const key of ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"] as const) {
    const value = next[key];
    if (value !== old[key]) errors.push(invalidValue(`metadata.${key}`, value ?? "", "field is immutable"));
  }
  if (next.deletionGracePeriodSeconds !== old.deletionGracePeriodSeconds) {
    errors.push(
      invalidValue(
        "metadata.deletionGracePeriodSeconds",
        next.deletionGracePeriodSeconds ?? null,
        "field is immutable",
      ),
    );
  }
  return errors;
}

/** Length of a text in UTF-8 bytes. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7ff) bytes += (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
    else if (code > 0x7f) bytes += 1;
  }
  return bytes;
}
