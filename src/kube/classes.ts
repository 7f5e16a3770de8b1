/**
 * The {@linkcode ClassesPort} on a real API server.
 *
 * @module
 */
import { CoreV1Api, CustomObjectsApi } from "@kubernetes/client-node";
import type { ClassSpec, ClassStatus, ExternalDatabaseClass } from "../api/class_schema.ts";
import { CLASS_KIND, CLASS_PLURAL, GROUP, OPERATOR_NAME, VERSION } from "../api/constants.ts";
import type { ObjectKey, ObjectMeta } from "../api/schema.ts";
import type { ClassesPort } from "./class_port.ts";
import { apiConfiguration, normalised, perCall } from "./client.ts";
import { fromThrown, fromWatchError } from "./errors.ts";
import {
  KubeError,
  type ListPage,
  type ListRequest,
  type Source,
  type Watched,
  type WatchEvent,
} from "./port.ts";
import type { StoredSecret } from "./secrets_port.ts";
import type { Call, Transport } from "./transport.ts";
import { lines } from "./watch_stream.ts";

const RESOURCE = { group: GROUP, version: VERSION, plural: CLASS_PLURAL } as const;

/** The classes of the cluster behind a transport. */
export function createClasses(transport: Transport): ClassesPort {
  const objects = new CustomObjectsApi(apiConfiguration(transport));
  const core = new CoreV1Api(apiConfiguration(transport));
  return {
    classes: source(transport, {
      what: CLASS_PLURAL,
      path: `/apis/${GROUP}/${VERSION}/${CLASS_PLURAL}`,
      decode: toClass,
      get: ({ name }, options) => objects.getClusterCustomObject({ ...RESOURCE, name }, options),
      list: (page, options) => objects.listClusterCustomObject({ ...RESOURCE, ...page }, options),
    }),
    async patchStatus(name, operations, { signal }) {
      const call = { verb: "patch", action: `Patching the status of ${CLASS_KIND} ${name}`, signal };
      const body = { ...RESOURCE, name, body: operations, fieldManager: OPERATOR_NAME };
      return await normalised(
        transport,
        call,
        async () =>
          toClass(
            await objects.patchClusterCustomObjectStatus(
              body,
              perCall(transport, call, "application/json-patch+json"),
            ),
            call,
          ),
      );
    },
    secret: ({ namespace, name }) => {
      const fieldSelector = `metadata.name=${name}`;
      return source(transport, {
        what: `the Secret ${namespace}/${name}`,
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`,
        query: { fieldSelector },
        decode: toSecret,
        get: (key, options) => core.readNamespacedSecret(key, options),
        list: (page, options) => core.listNamespacedSecret({ namespace, fieldSelector, ...page }, options),
      });
    },
  };
}

type PerCall = ReturnType<typeof perCall>;

/** How one kind of object is read. */
interface Reading<T> {
  /** For people. */
  readonly what: string;
  /** Where it is watched. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly decode: (value: unknown, call: Call) => T;
  readonly get: (key: ObjectKey, options: PerCall) => Promise<unknown>;
  readonly list: (page: { limit?: number; _continue?: string }, options: PerCall) => Promise<unknown>;
}

/** One kind of object as a reflector follows it. */
export function source<T extends Watched>(transport: Transport, reading: Reading<T>): Source<T> {
  const { what, decode } = reading;
  return {
    async get(key, { signal }) {
      const call = { verb: "get", action: `Reading ${what} ${key.name}`, signal };
      return await normalised(
        transport,
        call,
        async () => decode(await reading.get(key, perCall(transport, call)), call),
      );
    },
    async list({ limit, continueToken, signal }: ListRequest) {
      const call = { verb: "list", action: `Listing ${what}`, signal };
      const page = {
        ...(limit === undefined ? {} : { limit }),
        ...(continueToken ? { _continue: continueToken } : {}),
      };
      return await normalised(
        transport,
        call,
        async () => toPage(await reading.list(page, perCall(transport, call)), call, decode),
      );
    },
    async *watch({ resourceVersion, timeoutSeconds, signal, onOpen }) {
      const call = { verb: "watch", action: `Watching ${what}`, signal };
      const query = new URLSearchParams({
        watch: "true",
        allowWatchBookmarks: "true",
        resourceVersion,
        timeoutSeconds: String(Math.ceil(timeoutSeconds)),
        ...reading.query,
      });
      const stream = await transport.open(`${reading.path}?${query}`, call);
      onOpen?.();
      try {
        for await (const line of lines(stream.body, call.action)) {
          yield toEvent(line, call, decode, transport.clock.now());
        }
        // Deno ends a stream without an error when its client is closed under it.
        signal.throwIfAborted();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw fromThrown(call.action, error, transport.clock.now());
      } finally {
        stream.close();
      }
    },
  };
}

function toEvent<T>(
  line: string,
  call: Call,
  decode: (value: unknown, call: Call) => T,
  now: number,
): WatchEvent<T> {
  const { type, object } = (JSON.parse(line) ?? {}) as { type?: unknown; object?: unknown };
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: decode(object, call) };
    case "BOOKMARK": {
      const version = (object as { metadata?: { resourceVersion?: unknown } } | undefined)?.metadata
        ?.resourceVersion;
      if (typeof version !== "string" || version === "") {
        throw new KubeError("server", `${call.action}: a bookmark holds no resourceVersion`);
      }
      return { type, resourceVersion: version };
    }
    case "ERROR":
      throw fromWatchError(call.action, object, now);
    default:
      throw new KubeError("server", `${call.action}: the event type "${String(type)}" is unknown`);
  }
}

function toPage<T>(
  answer: unknown,
  call: Call,
  decode: (value: unknown, call: Call) => T,
): ListPage<T> {
  const { items, metadata } = (answer ?? {}) as {
    items?: unknown;
    metadata?: { continue?: string; _continue?: string; resourceVersion?: string };
  };
  if (!Array.isArray(items) || !metadata?.resourceVersion) {
    throw new KubeError("server", `${call.action}: the answer is no list`);
  }
  return {
    items: items.map((item) => decode(item, call)),
    resourceVersion: metadata.resourceVersion,
    // A typed API class names the field as JavaScript lets it.
    continueToken: metadata._continue || metadata.continue || undefined,
  };
}

/** The part of an object's metadata that the operator reads. */
export function toMetadata(value: unknown, call: Call): ObjectMeta {
  const metadata = (value as { metadata?: Partial<ObjectMeta> } | undefined)?.metadata;
  if (!metadata?.uid || !metadata.name || !metadata.resourceVersion) {
    throw new KubeError(
      "server",
      `${call.action}: the answer holds an object without a UID, name or resourceVersion`,
    );
  }
  const { name, namespace = "", uid, resourceVersion, generation = 0, annotations } = metadata;
  const time = (at: unknown) => at instanceof Date ? at.toISOString() : at as string | undefined;
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    generation,
    ...(metadata.creationTimestamp ? { creationTimestamp: time(metadata.creationTimestamp) as string } : {}),
    ...(metadata.deletionTimestamp ? { deletionTimestamp: time(metadata.deletionTimestamp) } : {}),
    ...(annotations ? { annotations } : {}),
  };
}

function toClass(value: unknown, call: Call): ExternalDatabaseClass {
  const metadata = toMetadata(value, call);
  const { spec, status } = value as { spec?: ClassSpec; status?: ClassStatus };
  return { metadata, spec: spec ?? {} as ClassSpec, ...(status ? { status } : {}) };
}

/** Nothing but what the credentials are read from. */
function toSecret(value: unknown, call: Call): StoredSecret {
  const { data } = value as { data?: Readonly<Record<string, string>> };
  return { metadata: toMetadata(value, call), data: data ?? {} };
}
