/**
 * Request bodies: JSON, YAML and the little protobuf that kubectl insists on.
 *
 * @module
 */
import { parse as parseYaml } from "yaml";
import { messageOf } from "../core/text.ts";
import { decodeProtobuf } from "./protobuf.ts";
import type { Resource } from "./resource.ts";
import { badRequest, StatusError, unsupportedMediaType } from "./status.ts";
import { unrecognised } from "./decode_object.ts";
import type { Json } from "./types.ts";

/** The longest body that is read, in bytes (the server's own limit). */
export const BODY_LIMIT = 3 * 1024 * 1024;

/** A request's body as bytes; 413 beyond the limit. */
export async function readBody(request: Request): Promise<Uint8Array> {
  const bytes = request.body === null ? new Uint8Array() : new Uint8Array(await request.arrayBuffer());
  if (bytes.length <= BODY_LIMIT) return bytes;
  throw new StatusError({
    code: 413,
    reason: "RequestEntityTooLarge",
    message: `Request entity too large: limit is ${BODY_LIMIT}`,
  });
}

/** A parsed body. */
export interface Body {
  readonly value: Json;
  /** Fields that the text has twice, as paths. */
  readonly duplicates: string[];
}

/** Parses the body of a create or update by its content type; throws 400 and 415. */
export function parseBody(bytes: Uint8Array, contentType: string | null, resource: Resource): Body {
  const type = (contentType ?? "application/json").split(";", 1)[0]!.trim().toLowerCase();
  const text = () => new TextDecoder().decode(bytes);
  switch (type) {
    case "":
    case "application/json":
      return parseJson(text(), resource);
    case "application/yaml":
      return { value: parseYamlObject(text()), duplicates: [] };
    case "application/vnd.kubernetes.protobuf":
      if (resource.custom) break;
      return { value: decodeProtobuf(bytes), duplicates: [] };
  }
  throw unsupportedMediaType(["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]);
}

/** Parses YAML or JSON; throws 400. */
export function parseYamlObject(text: string): Json {
  try {
    return parseYaml(text) as Json;
  } catch (error) {
    const why = messageOf(error);
    throw badRequest(`error decoding YAML: ${why}`);
  }
}

function parseJson(text: string, resource: Resource): Body {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    const why = text.trim() === "" ? "unexpected end of JSON input" : messageOf(error);
    throw unrecognised(resource, `couldn't get version/kind; json parse error: ${why}`, text);
  }
  return { value, duplicates: duplicateFields(text) };
}

/** Paths of the fields that a valid JSON text has more than once. */
export function duplicateFields(text: string): string[] {
  const found: string[] = [];
  const frames: { keys: Set<string> | undefined; path: string; index: number; key: string }[] = [];
  const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;
  let previous = "";
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    const token = match[0];
    const top = frames.at(-1);
    const here = top === undefined
      ? ""
      : top.keys === undefined
      ? `${top.path}[${top.index}]`
      : top.path === ""
      ? top.key
      : `${top.path}.${top.key}`; // deno-fmt-ignore-line
    if (token === "{") frames.push({ keys: new Set(), path: here, index: 0, key: "" });
    else if (token === "[") frames.push({ keys: undefined, path: here, index: 0, key: "" });
    else if (token === "}" || token === "]") frames.pop();
    else if (token === "," && top !== undefined) top.index++;
    else if (token.startsWith('"') && top?.keys !== undefined && (previous === "{" || previous === ",")) {
      const key = JSON.parse(token) as string;
      top.key = key;
      if (top.keys.has(key)) found.push(top.path === "" ? key : `${top.path}.${key}`);
      top.keys.add(key);
    }
    previous = token;
  }
  return found;
}
