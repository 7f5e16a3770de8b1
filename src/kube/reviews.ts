/**
 * Asks the API server who a token belongs to (TokenReview) and what he may read (SubjectAccessReview).
 *
 * @module
 */
import { AuthenticationV1Api, AuthorizationV1Api } from "@kubernetes/client-node";
import { apiConfiguration, normalised, perCall } from "./client.ts";
import type { Transport } from "./transport.ts";

/** Who a token belongs to. */
export interface Identity {
  readonly username: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, string[]>>;
}

/** The reviews. Both reject with a KubeError, or the signal's reason. */
export interface Reviews {
  /** `undefined` where the API server does not take the token. */
  identify(token: string, signal: AbortSignal): Promise<Identity | undefined>;
  /** Whether he has the verb `get` on a path that is no resource (`nonResourceURLs`). */
  mayGet(identity: Identity, path: string, signal: AbortSignal): Promise<boolean>;
}

/** Reviews at the API server of `transport`; give it one of its own, so that a flood of tokens delays nothing else. */
export function createReviews(transport: Transport): Reviews {
  const authentication = new AuthenticationV1Api(apiConfiguration(transport));
  const authorization = new AuthorizationV1Api(apiConfiguration(transport));
  return {
    identify(token, signal) {
      const call = { verb: "create", action: "Reviewing a token", signal };
      const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
      return normalised(transport, call, async () => {
        const { status } = await authentication.createTokenReview({ body }, perCall(transport, call));
        const { authenticated, user } = status ?? {};
        if (authenticated !== true || !user?.username) return undefined;
        const { username, uid, groups = [], extra = {} } = user;
        return { username, uid, groups, extra };
      });
    },
    mayGet({ username, uid, groups, extra }, path, signal) {
      const call = { verb: "create", action: `Reviewing the access to ${path}`, signal };
      const body = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: username,
          groups: [...groups],
          extra: { ...extra },
          nonResourceAttributes: { path, verb: "get" },
          ...(uid === undefined ? {} : { uid }),
        },
      };
      return normalised(transport, call, async () => {
        const { status } = await authorization.createSubjectAccessReview({ body }, perCall(transport, call));
        return status?.allowed === true && status.denied !== true;
      });
    },
  };
}
