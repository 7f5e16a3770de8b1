/**
 * PATCH: finds the object, applies the patch of its content type, stores the result.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { parseYamlObject } from "./body.ts";
import { decodeObject } from "./decode_object.ts";
import { leaves } from "./fieldset.ts";
import { applyConfig } from "./apply.ts";
import { type WriteOptions, writeOptions } from "./options.ts";
import { applyJsonPatch, applyMergePatch, applyStrategicPatch, PATCH_TYPE } from "./patch.ts";
import { groupVersion, type Resource } from "./resource.ts";
import { cloneJson } from "./schema/decode.ts";
import { badRequest, internal, notFound, unsupportedMediaType } from "./status.ts";
import { keyOf } from "./store.ts";
import { isObject, type JsonObject, type KubeObject } from "./types.ts";
import { createObject, placeObject, type Target, updateObject, type Written } from "./write.ts";

/** What a PATCH came with. */
export interface PatchRequest {
  readonly query: URLSearchParams;
  readonly userAgent: string;
  readonly contentType: string | null;
  readonly body: Uint8Array;
}

/** Carries a PATCH out; `created` says whether server-side apply made a new object. */
export function patchObject(
  context: Context,
  target: Target,
  request: PatchRequest,
): Written & { created: boolean } {
  const { resource } = target;
  const type = (request.contentType ?? "").split(";", 1)[0]!.trim();
  const known: string[] = Object.values(PATCH_TYPE).filter((one) =>
    one !== PATCH_TYPE.strategic || !resource.custom
  );
  if (!known.includes(type)) throw unsupportedMediaType(known);
  const apply = type === PATCH_TYPE.apply;
  const options = writeOptions(request.query, "PatchOptions", request.userAgent, apply);
  const text = new TextDecoder().decode(request.body);
  if (apply) return applyPatch(context, target, text, options);
  const written = updateObject(context, target, options, (live) => {
    const patched = patchBy(type, live, text, resource);
    const { object, warnings } = decodeObject(resource, patched, {
      fieldValidation: options.fieldValidation,
      patched: true,
    });
    return { next: object, warnings, put: false };
  });
  return { ...written, created: false };
}

function patchBy(type: string, live: KubeObject, text: string, resource: Resource): KubeObject {
  if (type === PATCH_TYPE.json) return applyJsonPatch(live, text);
  if (type === PATCH_TYPE.merge) return applyMergePatch(live, text);
  return applyStrategicPatch(live, text, resource.schema);
}

function applyPatch(
  context: Context,
  target: Target,
  text: string,
  options: WriteOptions,
): Written & { created: boolean } {
  const { resource } = target;
  const parsed = parseYamlObject(text);
  const config = checkedConfig(resource, target, parsed);
  const warnings: string[] = [];
  const key = keyOf(target.namespace, target.name);
  const stored = context.store.get(resource.storage, key);
  if (stored === undefined && target.subresource !== "") throw notFound(resource, target.name);
  const live = stored && resource.fromStore(stored);
  const writer = {
    manager: options.manager,
    apiVersion: groupVersion(resource),
    subresource: target.subresource,
    time: context.now(),
  };
  const { schema, hasStatus } = resource;
  const { merged, record } = applyConfig({ config, live, schema, writer, force: options.force, hasStatus });
  const decode = (object: KubeObject) => {
    const decoded = decodeObject(resource, cloneJson(object), {
      fieldValidation: options.fieldValidation,
      patched: true,
    });
    warnings.push(...decoded.warnings);
    return decoded.object;
  };
  if (live === undefined) {
    const object = decode(merged);
    object.metadata.name = target.name;
    const written = createObject(context, target, object, options, record);
    return { object: written.object, warnings: [...warnings, ...written.warnings], created: true };
  }
  const written = updateObject(context, target, options, () => ({
    next: decode(merged),
    warnings,
    record,
    put: false,
  }));
  return { ...written, created: false };
}

/** The applied configuration with what apply refuses checked. */
function checkedConfig(resource: Resource, target: Target, value: unknown): KubeObject {
  const parsed: JsonObject = isObject(value) ? value : {};
  const gv = groupVersion(resource);
  if (parsed["kind"] !== resource.kind || parsed["apiVersion"] !== gv) {
    throw badRequest(
      `invalid object type: ${groupAndVersion(parsed["apiVersion"])}, Kind=${parsed["kind"] ?? ""}`,
    );
  }
  const meta = isObject(parsed["metadata"]) ? parsed["metadata"] : (parsed["metadata"] = {});
  if (meta["managedFields"] !== undefined && meta["managedFields"] !== null) {
    throw badRequest("metadata.managedFields must be nil");
  }
  meta["name"] ??= target.name;
  const config = parsed as KubeObject;
  const named = `${config.metadata.namespace ?? ""}/${target.name}`;
  placeObject(config, target);
  const probe = cloneJson(config);
  const { warnings } = decodeObject(resource, probe, { fieldValidation: "Warn", patched: true });
  const unknown = warnings[0]?.match(/^unknown field "(.*)"$/)?.[1];
  if (unknown !== undefined && leaves(config, resource.schema).size > 0) {
    throw internal(
      `failed to create typed patch object (${named}; ${gv}, Kind=${resource.kind}): .${unknown}: field not declared in schema`,
    );
  }
  return config;
}

function groupAndVersion(apiVersion: unknown): string {
  const text = typeof apiVersion === "string" ? apiVersion : "";
  return text === "" ? "/" : text.includes("/") ? text : `/${text}`;
}
