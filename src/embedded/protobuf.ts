/**
 * Just enough protobuf for what `kubectl create namespace`, `create secret` and `create configmap` send, and for
 * the delete options that client-go sends.
 *
 * @module
 */
import { badRequest } from "./status.ts";
import type { Json, JsonObject } from "./types.ts";

/** How a field is read: a text, a flag, a number, bytes as base64, a message, or a map of them. */
type Field =
  | { readonly name: string; readonly is: "text" | "bool" | "int" }
  | { readonly name: string; readonly is: "texts" }
  | { readonly name: string; readonly is: "message"; readonly fields: Fields }
  | { readonly name: string; readonly is: "map"; readonly value: "text" | "bytes" };
type Fields = Readonly<Record<number, Field>>;

/** Field numbers of `k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto` and `k8s.io/api/core/v1/generated.proto`. */
const META: Fields = {
  1: { name: "name", is: "text" },
  2: { name: "generateName", is: "text" },
  3: { name: "namespace", is: "text" },
  5: { name: "uid", is: "text" },
  6: { name: "resourceVersion", is: "text" },
  11: { name: "labels", is: "map", value: "text" },
  12: { name: "annotations", is: "map", value: "text" },
  14: { name: "finalizers", is: "texts" },
};
const KINDS: Readonly<Record<string, Fields>> = {
  "v1/Namespace": {
    1: { name: "metadata", is: "message", fields: META },
    2: { name: "spec", is: "message", fields: { 1: { name: "finalizers", is: "texts" } } },
  },
  "v1/Secret": {
    1: { name: "metadata", is: "message", fields: META },
    2: { name: "data", is: "map", value: "bytes" },
    3: { name: "type", is: "text" },
    4: { name: "stringData", is: "map", value: "text" },
    5: { name: "immutable", is: "bool" },
  },
  "v1/ConfigMap": {
    1: { name: "metadata", is: "message", fields: META },
    2: { name: "data", is: "map", value: "text" },
    3: { name: "binaryData", is: "map", value: "bytes" },
    4: { name: "immutable", is: "bool" },
  },
  "v1/DeleteOptions": {
    2: {
      name: "preconditions",
      is: "message",
      fields: { 1: { name: "uid", is: "text" }, 2: { name: "resourceVersion", is: "text" } },
    },
    4: { name: "propagationPolicy", is: "text" },
    5: { name: "dryRun", is: "texts" },
  },
}; // deno-fmt-ignore-line

/** What precedes every protobuf body of Kubernetes. */
const MAGIC = [0x6b, 0x38, 0x73, 0x00];

/** Whether bytes are a protobuf body of Kubernetes. */
export function isProtobuf(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, i) => bytes[i] === byte);
}

/** Decodes a body; throws 400 for kinds beside Namespace, Secret, ConfigMap and DeleteOptions. */
export function decodeProtobuf(bytes: Uint8Array): JsonObject {
  if (!isProtobuf(bytes)) throw badRequest("the body of the request is no Kubernetes protobuf");
  const envelope = readFields(bytes.subarray(4));
  const type = readMessage(lastBytes(envelope, 1), {
    1: { name: "apiVersion", is: "text" },
    2: { name: "kind", is: "text" },
  });
  const fields = KINDS[`${type["apiVersion"]}/${type["kind"]}`];
  if (fields === undefined) {
    throw badRequest(
      `protobuf of ${type["apiVersion"]} ${
        type["kind"]
      } is not understood by the embedded API: send JSON (kubectl apply -f)`,
    );
  }
  return {
    apiVersion: type["apiVersion"],
    kind: type["kind"],
    ...readMessage(lastBytes(envelope, 2), fields),
  };
}

interface RawField {
  readonly number: number;
  readonly value: number | Uint8Array;
}

function lastBytes(fields: readonly RawField[], number: number): Uint8Array {
  const value = fields.findLast((field) => field.number === number)?.value;
  return value instanceof Uint8Array ? value : new Uint8Array();
}

/** The fields of a message; fixed-size ones are skipped. */
function readFields(bytes: Uint8Array): RawField[] {
  const fields: RawField[] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; at < bytes.length; shift += 7) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw badRequest("the protobuf of the request ends in the middle of a field");
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const wire = tag & 7;
    if (wire === 0) fields.push({ number, value: varint() });
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else if (wire === 2) {
      const length = varint();
      fields.push({ number, value: bytes.subarray(at, at + length) });
      at += length;
    } else throw badRequest(`the protobuf of the request has a field of unknown wire type ${wire}`);
  }
  return fields;
}

function readMessage(bytes: Uint8Array, fields: Fields): JsonObject {
  const out: JsonObject = {};
  for (const { number, value } of readFields(bytes)) {
    const field = fields[number];
    if (field === undefined) continue;
    const raw = value instanceof Uint8Array ? value : undefined;
    if (field.is === "bool") out[field.name] = value === 1;
    else if (field.is === "int") out[field.name] = value as number;
    else if (raw === undefined) continue;
    else if (field.is === "text") {
      const text = new TextDecoder().decode(raw);
      if (text !== "") out[field.name] = text;
    } else if (field.is === "texts") {
      const list = out[field.name];
      out[field.name] = [...(Array.isArray(list) ? list : []), new TextDecoder().decode(raw)];
    } else if (field.is === "message") {
      const message = readMessage(raw, field.fields);
      if (Object.keys(message).length > 0) out[field.name] = message;
    } else if (field.is === "map") {
      out[field.name] = { ...(out[field.name] as JsonObject | undefined), ...mapEntry(raw, field.value) };
    }
  }
  return out;
}

function mapEntry(bytes: Uint8Array, kind: "text" | "bytes"): Record<string, Json> {
  const fields = readFields(bytes);
  const value = lastBytes(fields, 2);
  const key = new TextDecoder().decode(lastBytes(fields, 1));
  return { [key]: kind === "text" ? new TextDecoder().decode(value) : value.toBase64() };
}
