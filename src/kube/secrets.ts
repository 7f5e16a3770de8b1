/**
 * The {@linkcode Secrets} port on a real API server. No message of it holds what a Secret holds.
 *
 * @module
 */
import { CoreV1Api } from "@kubernetes/client-node";
import { MANAGED_BY, OPERATOR_NAME } from "../api/constants.ts";
import type { ObjectKey } from "../api/schema.ts";
import { source, toMetadata } from "./classes.ts";
import { apiConfiguration, normalised, perCall } from "./client.ts";
import type { ListRequest, WatchRequest } from "./port.ts";
import type { Secrets, StoredSecret } from "./secrets_port.ts";
import type { Call, Transport } from "./transport.ts";

const SELECTOR = `${MANAGED_BY}=${OPERATOR_NAME}`;
const JSON_PATCH = "application/json-patch+json";

/** The Secrets of the cluster behind a transport. */
export function createSecrets(transport: Transport): Secrets {
  const core = new CoreV1Api(apiConfiguration(transport));
  /** All namespaces, or one: that is part of the path. */
  const within = (namespace: string | undefined) =>
    source<StoredSecret>(transport, {
      what: "Secrets",
      path: namespace === undefined
        ? "/api/v1/secrets"
        : `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`,
      query: { labelSelector: SELECTOR },
      decode: toSecret,
      get: (key, options) => core.readNamespacedSecret(key, options),
      list: (page, options) =>
        namespace === undefined
          ? core.listSecretForAllNamespaces({ ...page, labelSelector: SELECTOR }, options)
          : core.listNamespacedSecret({ ...page, namespace, labelSelector: SELECTOR }, options),
    });
  const everywhere = within(undefined);
  const send = <T>(
    verb: string,
    doing: string,
    { namespace, name }: ObjectKey,
    signal: AbortSignal,
    work: (call: Call) => Promise<T>,
  ): Promise<T> => {
    const call = { verb, action: `${doing} the Secret ${namespace}/${name}`, signal };
    return normalised(transport, call, () => work(call));
  };
  return {
    get: (key, options) => everywhere.get({ namespace: key.namespace, name: key.name }, options),
    list: (request: ListRequest) => within(request.namespace).list(request),
    watch: (request: WatchRequest) => within(request.namespace).watch(request),
    create: ({ metadata, type, data }, { signal }) =>
      send("create", "Creating", metadata, signal, async (call) => {
        const body = {
          apiVersion: "v1",
          kind: "Secret",
          metadata: {
            ...metadata,
            ownerReferences: metadata.ownerReferences?.map(({ controller, ...owner }) => ({
              ...owner,
              ...(controller === undefined ? {} : { controller }),
            })),
          },
          type,
          data,
        };
        const request = { namespace: metadata.namespace, body, fieldManager: OPERATOR_NAME };
        return toSecret(
          await core.createNamespacedSecret(request as never, perCall(transport, call)),
          call,
        );
      }),
    patch: ({ namespace, name }, operations, { signal }) =>
      send("patch", "Patching", { namespace, name }, signal, async (call) =>
        toSecret(
          await core.patchNamespacedSecret(
            { namespace, name, body: operations, fieldManager: OPERATOR_NAME },
            perCall(transport, call, JSON_PATCH),
          ),
          call,
        )),
    delete: ({ namespace, name }, uid, { signal }) =>
      send("delete", "Deleting", { namespace, name }, signal, async (call) => {
        await core.deleteNamespacedSecret(
          { namespace, name, body: { preconditions: { uid } } },
          perCall(transport, call),
        );
      }),
  };
}

function toSecret(value: unknown, call: Call): StoredSecret {
  const { metadata, type, data } = (value ?? {}) as Partial<StoredSecret>;
  return {
    metadata: {
      ...toMetadata(value, call),
      ...(metadata?.labels ? { labels: metadata.labels } : {}),
      ...(metadata?.ownerReferences ? { ownerReferences: metadata.ownerReferences } : {}),
    },
    ...(type ? { type } : {}),
    data: data ?? {},
  };
}
