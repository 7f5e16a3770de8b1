/**
 * What eases the way from `kubectl apply` to `kubectl apply --server-side`: the annotation that the former leaves.
 *
 * kube-apiserver does the same for the manager `kubectl` alone (apimachinery, `managedfields/lastapplied*.go`).
 *
 * @module
 */
import { difference, type FieldSet, leaves } from "./fieldset.ts";
import { prune } from "./schema/decode.ts";
import { type Json, type KubeObject, type Schema, sortedText } from "./types.ts";

const ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration";
const MANAGER = "kubectl";

/** Fields that an earlier client-side apply set and nobody changed since: no conflict for kubectl. */
export function lastAppliedFields(live: KubeObject | undefined, manager: string, schema: Schema): FieldSet {
  const text = live?.metadata.annotations?.[ANNOTATION];
  if (live === undefined || text === undefined || manager !== MANAGER) return new Set();
  const config = parse(text);
  const unknown: string[] = [];
  prune(config, schema, "", unknown);
  if (config === undefined || unknown.length > 0) return new Set(); // the server cannot read such an annotation
  const { changed } = difference(live, config, schema);
  return new Set([...leaves(config, schema)].filter((path) => !changed.has(path)));
}

/** The object with its annotation, where it has one, brought up to what is applied now, in place. */
export function refreshLastApplied(object: KubeObject, config: KubeObject, manager: string): void {
  const { annotations } = object.metadata;
  if (manager !== MANAGER || annotations?.[ANNOTATION] === undefined) return;
  const { managedFields: _, ...metadata } = config.metadata;
  object.metadata.annotations = { ...annotations, [ANNOTATION]: sortedText({ ...config, metadata }) + "\n" };
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined; // an annotation that is no JSON eases nothing
  }
}
