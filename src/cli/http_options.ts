/**
 * The flags of `start` about its HTTP server, and what they become.
 *
 * @module
 */
import type { PairFiles } from "../server/certificate.ts";
import type { Flag, FlagValues } from "./flag.ts";
import { type ListenAddress, listenAddress } from "./values.ts";

/** How the HTTP server is served. */
export interface HttpOptions {
  /** Where it listens. */
  readonly listen: ListenAddress;
  /** Who is let in: everybody, or whom the API server lets in. */
  readonly httpAuth: "none" | "kubernetes";
  /** Absent: plain HTTP. */
  readonly tls?: PairFiles | undefined;
}

/** Where the HTTP server listens. */
export const LISTEN_FLAG: Flag = {
  name: "listen",
  value: "host:port",
  default: "127.0.0.1:8080",
  parse: listenAddress,
  description: "where health, metrics and the page are served",
};

/** The flags. */
export const HTTP_FLAGS: readonly Flag[] = [
  LISTEN_FLAG,
  {
    name: "http-auth",
    value: "name",
    choices: ["none", "kubernetes"],
    default: "none",
    description: "who may see metrics and the page: all, or whose token the API server lets get the path",
  },
  {
    name: "tls-cert-file",
    value: "file",
    description: "certificate (PEM, its issuers after it) to serve HTTPS with, re-read when it rotates",
  },
  {
    name: "tls-key-file",
    value: "file",
    description: "private key (PEM) of --tls-cert-file",
  },
];

/** The options. Throws an Error that names the flag when only one of a pair is given. */
export function toHttpOptions(values: FlagValues): HttpOptions {
  const certFile = values["tls-cert-file"] as string | undefined;
  const keyFile = values["tls-key-file"] as string | undefined;
  const missing = certFile === undefined ? "tls-cert-file" : "tls-key-file";
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const given = missing === "tls-cert-file" ? "tls-key-file" : "tls-cert-file";
    throw new Error(`--${given} needs --${missing}: give both files, or neither`);
  }
  return {
    listen: values["listen"] as ListenAddress,
    httpAuth: values["http-auth"] as HttpOptions["httpAuth"],
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
  };
}
