/**
 * The {@linkcode Cluster} port on a real API server: client-node's API classes on our own transport.
 *
 * @module
 */
import {
  ApiextensionsV1Api,
  type Configuration,
  CoreV1Api,
  createConfiguration,
  CustomObjectsApi,
  type RequestContext,
  ServerConfiguration,
  wrapHttpLibrary,
} from "@kubernetes/client-node";
import { API_VERSION, CRD_NAME, GROUP, KIND, OPERATOR_NAME, PLURAL, VERSION } from "../api/constants.ts";
import type { ExternalDatabase, ObjectKey } from "../api/schema.ts";
import { fromThrown, fromWatchError } from "./errors.ts";
import {
  type Cluster,
  type CrdState,
  type JsonPatchOperation,
  KubeError,
  type ListPage,
  type ListRequest,
  type RequestOptions,
  type WatchEvent,
  type WatchRequest,
} from "./port.ts";
import type { Call, Transport } from "./transport.ts";
import { lines } from "./watch_stream.ts";

/** The cluster behind a transport. */
export function createCluster(transport: Transport): Cluster {
  return new ClientNodeCluster(transport);
}

/** A client-node configuration for API classes whose requests all carry a {@linkcode perCall} option. */
export function apiConfiguration(transport: Transport): Configuration {
  return createConfiguration({
    baseServer: new ServerConfiguration(transport.config.server, {}),
    httpApi: wrapHttpLibrary({
      send: () => Promise.reject(new TypeError("a Kubernetes request was made without a signal")),
    }),
  });
}

/** The options of one call of an API class: its signal, its name in errors and metrics, its content type. */
export function perCall(transport: Transport, call: Call, contentType?: string) {
  const send = (context: RequestContext) => {
    if (contentType) context.setHeaderParam("Content-Type", contentType);
    return transport.send(context, call);
  };
  return { httpApi: wrapHttpLibrary({ send }) };
}

/** Runs one call of an API class; what it throws is a {@linkcode KubeError} or the signal's reason. */
export async function normalised<T>(transport: Transport, call: Call, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (call.signal.aborted && error === call.signal.reason) throw error;
    throw fromThrown(call.action, error, transport.clock.now());
  }
}

const RESOURCE = { group: GROUP, version: VERSION, plural: PLURAL } as const;

class ClientNodeCluster implements Cluster {
  readonly #transport: Transport;
  readonly #objects: CustomObjectsApi;
  readonly #crds: ApiextensionsV1Api;
  readonly #core: CoreV1Api;

  constructor(transport: Transport) {
    const configuration = apiConfiguration(transport);
    this.#transport = transport;
    this.#objects = new CustomObjectsApi(configuration);
    this.#crds = new ApiextensionsV1Api(configuration);
    this.#core = new CoreV1Api(configuration);
  }

  async get(key: ObjectKey, options: RequestOptions): Promise<ExternalDatabase> {
    // Without a resourceVersion a GET is a quorum read (rules 3 and 9).
    const call = { verb: "get", action: `Reading ${named(key)}`, signal: options.signal };
    return await this.#run(
      call,
      async () =>
        toObject(
          await this.#objects.getNamespacedCustomObject({ ...RESOURCE, ...key }, this.#per(call)),
          call,
        ),
    );
  }

  async list(request: ListRequest): Promise<ListPage> {
    const where = request.namespace ? `namespace ${request.namespace}` : "all namespaces";
    const call = { verb: "list", action: `Listing ${PLURAL} in ${where}`, signal: request.signal };
    const page = {
      ...RESOURCE,
      ...(request.limit === undefined ? {} : { limit: request.limit }),
      ...(request.continueToken ? { _continue: request.continueToken } : {}),
    };
    return await this.#run(call, async () => {
      const answer: unknown = request.namespace
        ? await this.#objects.listNamespacedCustomObject(
          { ...page, namespace: request.namespace },
          this.#per(call),
        )
        : await this.#objects.listClusterCustomObject(page, this.#per(call));
      return toPage(answer, call);
    });
  }

  async *watch(request: WatchRequest): AsyncGenerator<WatchEvent> {
    const where = request.namespace ? `namespace ${request.namespace}` : "all namespaces";
    const call = { verb: "watch", action: `Watching ${PLURAL} in ${where}`, signal: request.signal };
    const query = new URLSearchParams({
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: request.resourceVersion,
      timeoutSeconds: String(Math.ceil(request.timeoutSeconds)),
    });
    const namespace = request.namespace ? `/namespaces/${encodeURIComponent(request.namespace)}` : "";
    const stream = await this.#transport.open(
      `/apis/${GROUP}/${VERSION}${namespace}/${PLURAL}?${query}`,
      call,
    );
    request.onOpen?.();
    try {
      for await (const line of lines(stream.body, call.action)) yield this.#event(line, call);
      // Deno ends a stream without an error when its client is closed under it.
      request.signal.throwIfAborted();
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      throw fromThrown(call.action, error, this.#transport.clock.now());
    } finally {
      stream.close();
    }
  }

  patch(
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    options: RequestOptions,
  ): Promise<ExternalDatabase> {
    const call = { verb: "patch", action: `Patching ${named(key)}`, signal: options.signal };
    const body = { ...RESOURCE, ...key, body: operations, fieldManager: OPERATOR_NAME };
    return this.#run(
      call,
      async () =>
        toObject(await this.#objects.patchNamespacedCustomObject(body, this.#per(call, JSON_PATCH)), call),
    );
  }

  patchStatus(
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    options: RequestOptions,
  ): Promise<ExternalDatabase> {
    const call = { verb: "patch", action: `Patching the status of ${named(key)}`, signal: options.signal };
    const body = { ...RESOURCE, ...key, body: operations, fieldManager: OPERATOR_NAME };
    return this.#run(
      call,
      async () =>
        toObject(
          await this.#objects.patchNamespacedCustomObjectStatus(body, this.#per(call, JSON_PATCH)),
          call,
        ),
    );
  }

  async crdState(options: RequestOptions): Promise<CrdState> {
    const call = { verb: "get", action: `Reading the CRD ${CRD_NAME}`, signal: options.signal };
    try {
      return await this.#run(call, async () => {
        const crd = await this.#crds.readCustomResourceDefinition({ name: CRD_NAME }, this.#per(call));
        if (crd.metadata?.deletionTimestamp) return "terminating";
        const conditions = crd.status?.conditions ?? [];
        return conditions.some((c) => c.type === "Established" && c.status === "True")
          ? "established"
          : "missing";
      });
    } catch (error) {
      if (error instanceof KubeError && error.kind === "notFound") return "missing";
      throw error;
    }
  }

  clusterId(options: RequestOptions): Promise<string> {
    const call = { verb: "get", action: "Reading the namespace kube-system", signal: options.signal };
    return this.#run(call, async () => {
      const namespace = await this.#core.readNamespace({ name: "kube-system" }, this.#per(call));
      const uid = namespace.metadata?.uid;
      if (!uid) throw new KubeError("server", `${call.action}: the answer holds no UID`);
      return uid;
    });
  }

  #event(line: string, call: Call): WatchEvent {
    const event: unknown = JSON.parse(line);
    const { type, object } = (event ?? {}) as { type?: unknown; object?: unknown };
    switch (type) {
      case "ADDED":
      case "MODIFIED":
      case "DELETED":
        return { type, object: toObject(object, call) };
      case "BOOKMARK":
        return { type, resourceVersion: resourceVersionOf(object, call) };
      case "ERROR":
        throw fromWatchError(call.action, object, this.#transport.clock.now());
      default:
        throw new KubeError("server", `${call.action}: the event type "${String(type)}" is unknown`);
    }
  }

  #per(call: Call, contentType?: string) {
    return perCall(this.#transport, call, contentType);
  }

  #run<T>(call: Call, work: () => Promise<T>): Promise<T> {
    return normalised(this.#transport, call, work);
  }
}

const JSON_PATCH = "application/json-patch+json";

function named(key: ObjectKey): string {
  return `${KIND} ${key.namespace}/${key.name}`;
}

function toPage(answer: unknown, call: Call): ListPage {
  const { items, metadata } = (answer ?? {}) as {
    items?: unknown;
    metadata?: { continue?: string; resourceVersion?: string };
  };
  if (!Array.isArray(items) || !metadata?.resourceVersion) {
    throw new KubeError("server", `${call.action}: the answer is no list`);
  }
  return {
    items: items.map((item) => toObject(item, call)),
    resourceVersion: metadata.resourceVersion,
    continueToken: metadata.continue || undefined,
  };
}

/** Keeps what the operator reads: managedFields can be larger than all the rest. */
function toObject(value: unknown, call: Call): ExternalDatabase {
  const object = (value ?? {}) as Partial<ExternalDatabase>;
  const metadata = object.metadata as
    | (ExternalDatabase["metadata"] & { managedFields?: unknown })
    | undefined;
  if (!metadata?.uid || !metadata.name || !metadata.resourceVersion) {
    throw new KubeError(
      "server",
      `${call.action}: the answer holds an object without a UID, name or resourceVersion`,
    );
  }
  const { managedFields: _dropped, ...kept } = metadata;
  return {
    apiVersion: object.apiVersion ?? API_VERSION,
    kind: object.kind ?? KIND,
    metadata: { ...kept, generation: kept.generation ?? 0 },
    spec: object.spec ?? {} as ExternalDatabase["spec"],
    ...(object.status ? { status: object.status } : {}),
  };
}

function resourceVersionOf(object: unknown, call: Call): string {
  const version = (object as { metadata?: { resourceVersion?: unknown } } | undefined)?.metadata
    ?.resourceVersion;
  if (typeof version === "string" && version !== "") return version;
  throw new KubeError("server", `${call.action}: a bookmark holds no resourceVersion`);
}
