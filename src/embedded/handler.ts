/**
 * Requests for resources: every verb, from its query to its answer.
 *
 * @module
 */
import { messageOf } from "../core/text.ts";
import { parseBody, readBody } from "./body.ts";
import { warningHeader } from "./check.ts";
import type { Context } from "./context.ts";
import { decodeObject } from "./decode_object.ts";
import { listPage, openWatch } from "./list.ts";
import { deleteOptions, listOptions, writeOptions } from "./options.ts";
import { patchObject } from "./patch_object.ts";
import { decodeProtobuf, isProtobuf } from "./protobuf.ts";
import { deleteObject } from "./remove.ts";
import type { Resource } from "./resource.ts";
import type { ResourcePath } from "./route.ts";
import { badRequest, methodNotAllowed, notFound, tooLargeVersion } from "./status.ts";
import { keyOf } from "./store.ts";
import { type Form, formatList, formatObject, isStoredObject, negotiate } from "./table.ts";
import { isObject, type JsonObject, type KubeObject } from "./types.ts";
import type { Watches } from "./watch.ts";
import { createObject, type Target, updateObject, type Written } from "./write.ts";
import { stringify } from "yaml";

/** One request for a resource. */
export interface ResourceRequest {
  readonly request: Request;
  readonly query: URLSearchParams;
  readonly path: ResourcePath;
  readonly resource: Resource;
}

/** The verb of a request, as RBAC names it. */
export function verbOf(request: Request, path: ResourcePath, query: URLSearchParams): string {
  switch (request.method) {
    case "GET":
    case "HEAD": {
      const watch = query.get("watch");
      if (path.watch) return "watch";
      if (path.name !== undefined) return "get";
      return watch !== null && watch !== "false" && watch !== "0" ? "watch" : "list";
    }
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return path.name === undefined ? "deletecollection" : "delete";
    default:
      return "";
  }
}

/** Answers a request for a resource; throws StatusError. */
export async function handleResource(
  context: Context,
  watches: Watches,
  parts: ResourceRequest,
): Promise<Response> {
  const { request, path, resource, query } = parts;
  const form = negotiate(request.headers.get("accept"), query.get("includeObject"));
  const verb = verbOf(request, path, query);
  checkVerb(resource, path, verb);
  switch (verb) {
    case "get":
      return read(context, parts, form);
    case "list":
    case "watch":
      return list(context, watches, parts, form);
    case "create":
      return await create(context, parts, form);
    case "update":
      return await replace(context, parts, form);
    case "patch": {
      const body = await readBody(request);
      const userAgent = request.headers.get("user-agent") ?? "";
      const contentType = request.headers.get("content-type");
      const written = patchObject(context, targetOf(parts), { query, userAgent, contentType, body });
      return answer(context, resource, written, form, written.created ? 201 : 200);
    }
    case "delete":
      return await remove(context, parts, form);
    default:
      return await removeAll(context, parts, form);
  }
}

function checkVerb(resource: Resource, path: ResourcePath, verb: string): void {
  const refused = () => methodNotAllowed(resource.custom ? resource : undefined, verb);
  if (verb === "") throw refused();
  if (path.subresource !== "") {
    if (path.subresource !== "status" || !resource.hasStatus) {
      if (resource.storage === "/namespaces" && path.subresource === "finalize") throw refused();
      throw notFound(resource, path.name ?? "");
    }
    if (!["get", "update", "patch"].includes(verb)) throw refused();
  }
  if (path.name === undefined && (verb === "update" || verb === "patch")) {
    throw resource.custom ? badRequest("name must be provided") : refused();
  }
}

function targetOf({ path, resource }: ResourceRequest): Target {
  return {
    resource,
    namespace: resource.namespaced ? path.namespace ?? "" : undefined,
    name: path.name ?? "",
    subresource: path.subresource,
  };
}

function respond(text: string, form: Form, status = 200, headers: Record<string, string> = {}): Response {
  const body = form.yaml ? stringify(JSON.parse(text), { sortMapEntries: true }) : text;
  const type = form.yaml ? "application/yaml" : "application/json";
  return new Response(body, { status, headers: { "content-type": type, ...headers } });
}

function answer(
  context: Context,
  resource: Resource,
  written: Written,
  form: Form,
  status: number,
): Response {
  const headers: Record<string, string> = written.warnings.length === 0
    ? {}
    : { warning: warningHeader(written.warnings) };
  const text = form.as === "object"
    ? JSON.stringify(written.object)
    : formatObject(resource, resource.toStore(written.object), form, context.clock.now());
  return respond(text, form, status, headers);
}

function read(context: Context, { path, resource, query }: ResourceRequest, form: Form): Response {
  const key = keyOf(resource.namespaced ? path.namespace : undefined, path.name ?? "");
  const asked = Number(query.get("resourceVersion") ?? "");
  const { store } = context;
  if (asked > store.version) throw tooLargeVersion(asked, store.version);
  const cached = query.get("resourceVersion") === "0" && context.cacheLagMs > 0;
  const object = cached
    ? store.listAt(resource.storage, path.namespace, store.versionBefore(context.cacheLagMs))
      .find((one) => one.metadata.name === path.name)
    : store.get(resource.storage, key);
  if (object === undefined) throw notFound(resource, path.name ?? "");
  return respond(formatObject(resource, object, form, context.clock.now()), form);
}

function list(context: Context, watches: Watches, parts: ResourceRequest, form: Form): Response {
  const { request, path, resource, query } = parts;
  const options = listOptions(query, path.watch);
  if (options.watch) {
    return openWatch(context, watches, resource, path.namespace, options, form, request.signal);
  }
  const { objects, metadata } = listPage(context, resource, path.namespace, options);
  return respond(formatList(resource, objects, metadata, form, context.clock.now()), form);
}

async function create(context: Context, parts: ResourceRequest, form: Form): Promise<Response> {
  const { request, path, resource, query } = parts;
  const bytes = await readBody(request);
  const options = writeOptions(query, "CreateOptions", request.headers.get("user-agent") ?? "", false);
  const { value, duplicates } = parseBody(bytes, request.headers.get("content-type"), resource);
  const { object, warnings } = decodeObject(resource, value, {
    fieldValidation: options.fieldValidation,
    duplicates,
  });
  const target = targetOf(parts);
  if (path.name !== undefined) object.metadata.name = path.name;
  const written = createObject(context, target, object, options);
  return answer(context, resource, { ...written, warnings: [...warnings, ...written.warnings] }, form, 201);
}

async function replace(context: Context, parts: ResourceRequest, form: Form): Promise<Response> {
  const { request, resource, query } = parts;
  const bytes = await readBody(request);
  const options = writeOptions(query, "UpdateOptions", request.headers.get("user-agent") ?? "", false);
  const { value, duplicates } = parseBody(bytes, request.headers.get("content-type"), resource);
  const { object, warnings } = decodeObject(resource, value, {
    fieldValidation: options.fieldValidation,
    duplicates,
  });
  const target = targetOf(parts);
  const { name } = object.metadata;
  if (name !== target.name) {
    throw badRequest(
      name === ""
        ? "the name of the object must be provided"
        : `the name of the object (${name}) does not match the name on the URL (${target.name})`,
    );
  }
  const missing = context.store.get(resource.storage, keyOf(target.namespace, target.name)) === undefined;
  if (missing && resource.createOnUpdate && target.subresource === "") {
    return answer(context, resource, createObject(context, target, object, options), form, 201);
  }
  const written = updateObject(context, target, options, () => ({ next: object, warnings, put: true }));
  return answer(context, resource, written, form, 200);
}

async function deleteBody(request: Request): Promise<Record<string, unknown>> {
  const bytes = await readBody(request);
  if (bytes.length === 0) return {};
  if (isProtobuf(bytes)) return decodeProtobuf(bytes);
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? value : {};
  } catch (error) {
    const why = messageOf(error);
    throw badRequest(`couldn't get version/kind; json parse error: ${why}`);
  }
}

async function remove(
  context: Context,
  { request, path, resource, query }: ResourceRequest,
  form: Form,
): Promise<Response> {
  const options = deleteOptions(query, await deleteBody(request));
  const namespace = resource.namespaced ? path.namespace : undefined;
  const result: KubeObject | JsonObject = deleteObject(
    context,
    resource,
    namespace,
    path.name ?? "",
    options,
  );
  const text = isStoredObject(result) && form.as !== "object"
    ? formatObject(resource, result, form, context.clock.now())
    : JSON.stringify(result);
  return respond(text, form);
}

async function removeAll(context: Context, parts: ResourceRequest, form: Form): Promise<Response> {
  const { request, path, resource, query } = parts;
  const body = await deleteBody(request);
  const wanted = listOptions(query, false);
  const { objects, metadata } = listPage(context, resource, path.namespace, { ...wanted, limit: 0 });
  for (const object of objects) {
    deleteObject(
      context,
      resource,
      object.metadata.namespace,
      object.metadata.name,
      deleteOptions(query, body),
    );
  }
  return respond(formatList(resource, objects, metadata, form, context.clock.now()), form);
}
