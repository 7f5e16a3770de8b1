/**
 * Manifests of files: read, and checked as an API server would check them, against what is in the cluster.
 *
 * @module
 */
import { parseAllDocuments } from "yaml";
import { API_VERSION, GROUP, KIND, PLURAL, VERSION } from "../api/constants.ts";
import { customResourceDefinition } from "../api/crd.ts";
import type { ExternalDatabase, ExternalDatabaseSpec } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import { equal } from "../core/equal.ts";
import { safeJson } from "../core/text.ts";
import type { Random } from "../core/random.ts";
import { createEmbeddedApi } from "../embedded/api.ts";

/** One manifest. */
export interface Manifest {
  readonly file: string;
  readonly namespace: string;
  readonly name: string;
  /** As it was written. */
  readonly document: Readonly<Record<string, unknown>>;
}

/** What files hold. */
export interface Manifests {
  readonly manifests: readonly Manifest[];
  /** Documents of other kinds. */
  readonly skipped: number;
}

/** Longest file that is read, in bytes. */
const MAX_BYTES = 16_000_000;

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The ExternalDatabases among the documents of a YAML or JSON text. Throws an Error that names file and document. */
export function readManifests(text: string, file: string, defaultNamespace: string): Manifests {
  if (text.length > MAX_BYTES) {
    throw new Error(`Reading ${shown(file)}: it is longer than ${MAX_BYTES} bytes`);
  }
  const manifests: Manifest[] = [];
  let skipped = 0;
  const take = (value: unknown, where: string): void => {
    if (value === null || value === undefined) return;
    if (!isRecord(value)) throw new Error(`Reading ${where}: it is no object`);
    const { kind, apiVersion, items } = value;
    if (kind === "List" && Array.isArray(items)) {
      items.forEach((item, n) => take(item, `${where}, item ${n + 1}`));
      return;
    }
    if (kind !== KIND || typeof apiVersion !== "string" || !apiVersion.startsWith(`${GROUP}/`)) {
      skipped++;
      return;
    }
    if (apiVersion !== API_VERSION) throw new Error(`Reading ${where}: apiVersion must be ${API_VERSION}`);
    const metadata = isRecord(value["metadata"]) ? value["metadata"] : {};
    const { name, namespace = defaultNamespace } = metadata;
    if (typeof name !== "string" || name === "") {
      throw new Error(`Reading ${where}: metadata.name is missing`);
    }
    if (typeof namespace !== "string") throw new Error(`Reading ${where}: metadata.namespace is not a text`);
    manifests.push({ file, namespace, name, document: value });
  };
  parseAllDocuments(text).forEach((document, n) => {
    const where = `${shown(file)}, document ${n + 1}`;
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`Reading ${where}: ${error.message.split("\n")[0]}`);
    take(document.toJS({ maxAliasCount: 100 }), where);
  });
  return { manifests, skipped };
}

function shown(file: string): string {
  return safeJson(file);
}

/** What would be in the cluster once a manifest was applied; or why the API server would refuse it. */
export type Applied =
  | { readonly object: ExternalDatabase; readonly refused?: undefined }
  | { readonly refused: string };

/** The part of an answer that is read: a resource, or why it is refused. */
interface Answer {
  readonly message: string;
  readonly spec: ExternalDatabaseSpec;
}

/** Applies manifests to a small API server of our own, which holds the CRD and nothing else. */
export class Applier {
  readonly #api: ReturnType<typeof createEmbeddedApi>;
  readonly #clock: Clock;
  #installed: Promise<unknown> | undefined;
  #count = 0;

  constructor(parts: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = parts.clock;
    this.#api = createEmbeddedApi(parts);
  }

  /** What becomes of a manifest; `live` is the resource of that name in the cluster. */
  async apply(manifest: Manifest, live: ExternalDatabase | undefined): Promise<Applied> {
    await (this.#installed ??= this.#send(
      "POST",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      customResourceDefinition(),
    ));
    const { document } = manifest;
    const at = `/apis/${GROUP}/${VERSION}/namespaces/default/${PLURAL}`;
    // Each under a namespace and a name of its own: the manifest's own are checked by the real one.
    const name = `manifest-${++this.#count}`;
    const metadata = isRecord(document["metadata"]) ? document["metadata"] : {};
    const { annotations, labels } = metadata;
    const wanted = {
      ...document,
      metadata: {
        name,
        ...(annotations === undefined ? {} : { annotations }),
        ...(labels === undefined ? {} : { labels }),
      },
    };
    const strict = "?fieldValidation=Strict";
    const old = live && { apiVersion: API_VERSION, kind: KIND, metadata: { name }, spec: live.spec };
    const stored = old !== undefined && (await this.#send("POST", at, old)).status === 201;
    if (stored && live?.status !== undefined) {
      await this.#send("PATCH", `${at}/${name}/status`, { status: live.status });
    }
    const answer = stored
      ? await this.#send("PATCH", `${at}/${name}${strict}`, {
        ...wanted,
        spec: replaced(live?.spec, document["spec"]),
      })
      : await this.#send("POST", `${at}${strict}`, wanted);
    if (answer.status >= 300) {
      return { refused: answer.body.message.replaceAll(`"${name}"`, JSON.stringify(manifest.name)) };
    }
    return { object: this.#objectOf(manifest, live, answer.body.spec, metadata) };
  }

  /** Ends the API server. */
  close(): void {
    this.#api.close();
  }

  #objectOf(
    { namespace, name }: Manifest,
    live: ExternalDatabase | undefined,
    spec: ExternalDatabaseSpec,
    { annotations, labels }: Readonly<Record<string, unknown>>,
  ): ExternalDatabase {
    const written = { annotations: texts(annotations), labels: texts(labels) };
    if (live === undefined) {
      return {
        apiVersion: API_VERSION,
        kind: KIND,
        metadata: {
          namespace,
          name,
          uid: crypto.randomUUID(),
          resourceVersion: "1",
          generation: 1,
          creationTimestamp: new Date(this.#clock.now()).toISOString(),
          ...written,
        },
        spec,
        status: {},
      };
    }
    const { metadata } = live;
    return {
      ...live,
      metadata: {
        ...metadata,
        generation: metadata.generation + (equal(live.spec, spec) ? 0 : 1),
        annotations: { ...metadata.annotations, ...written.annotations },
        labels: { ...metadata.labels, ...written.labels },
      },
      spec,
    };
  }

  async #send(
    method: string,
    path: string,
    body: unknown,
  ): Promise<{ readonly status: number; readonly body: Answer }> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await this.#api.fetch(
      new Request(`http://embedded${path}`, {
        method,
        headers: { "content-type": type },
        body: JSON.stringify(body),
      }),
    );
    return { status: answer.status, body: await answer.json() };
  }
}

/** A merge patch that leaves nothing of the old spec but what the new one says, as `kubectl apply` does for its own fields. */
function replaced(old: unknown, wanted: unknown): unknown {
  if (!isRecord(wanted)) return wanted ?? null;
  const gone = Object.keys(isRecord(old) ? old : {}).filter((field) => !(field in wanted));
  return { ...Object.fromEntries(gone.map((field) => [field, null])), ...wanted };
}

function texts(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((e): e is [string, string] => typeof e[1] === "string"),
  );
}
