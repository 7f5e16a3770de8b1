/**
 * What guards the HTTP server of a hosted operator: who is let in, and the certificate.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { createReviews } from "../kube/reviews.ts";
import type { Transport } from "../kube/transport.ts";
import { AccessGate } from "../server/access.ts";
import { followPair, type Pair, readPair } from "../server/certificate.ts";
import { isLoopback } from "../server/http.ts";
import type { PrometheusMetrics } from "../server/metrics.ts";
import type { HttpOptions } from "./http_options.ts";

/** The guards of one server. */
export interface SecureHttp {
  readonly gate: AccessGate | undefined;
  /** The pair to begin with. */
  readonly pair: Pair | undefined;
  /** From now on `use` is given each new pair. */
  follow(use: (pair: Pair) => void): void;
  /** Ends what is under way. */
  end(): Promise<void>;
}

/** Deadline of one review, in milliseconds. */
const REVIEW_DEADLINE_MS = 5_000;
/** Reviews under way at once. */
const REVIEWS_AT_ONCE = 8;

/** Makes them. Rejects with one clear error when the certificate cannot be used. */
export async function secureHttp(
  { listen, httpAuth = "none", tls }: Partial<HttpOptions> & Pick<HttpOptions, "listen">,
  environment: {
    readonly transport: Transport;
    readonly clock: Clock;
    readonly log: Logger;
    readonly metrics: Pick<PrometheusMetrics, "access" | "certificate">;
  },
): Promise<SecureHttp> {
  const { clock, log, metrics } = environment;
  const ended = new AbortController();
  const pair = tls && await readPair(tls);
  if (pair !== undefined) {
    metrics.certificate(pair.expiresAt);
    if (pair.expiresAt < clock.now()) {
      log.log("warn", "The server's certificate has expired", {
        expires: new Date(pair.expiresAt).toISOString(),
      });
    }
  }
  let transport: Transport | undefined;
  let gate: AccessGate | undefined;
  if (httpAuth === "kubernetes") {
    if (pair === undefined && !isLoopback(listen.hostname)) {
      log.log("warn", "Tokens come over plain HTTP: anybody on the way can read them (--tls-cert-file)");
    }
    transport = environment.transport.separate({
      deadlineMs: REVIEW_DEADLINE_MS,
      concurrency: REVIEWS_AT_ONCE,
    });
    gate = new AccessGate({
      reviews: createReviews(transport),
      clock,
      log,
      signal: ended.signal,
      onAccess: (access) => metrics.access(access),
    });
  }
  let following: Promise<void> = Promise.resolve();
  return {
    gate,
    pair,
    follow(use) {
      if (tls === undefined || pair === undefined) return;
      following = followPair({
        ...tls,
        current: pair,
        clock,
        log,
        use: (next) => {
          use(next);
          metrics.certificate(next.expiresAt);
        },
        onFailure: () => metrics.certificate("failed"),
      }, ended.signal);
    },
    async end() {
      ended.abort(new Error("The server is closing"));
      await following;
      transport?.close();
    },
  };
}
