/**
 * The simulated cloud as an HTTP server: cloud-api.md, and under `/admin/` what tests need.
 *
 * @module
 */
import {
  type ApiHandlerOptions,
  type CloudHandler,
  type CloudServer,
  createApiHandler,
  serveHandler,
  type ServeHandlerOptions,
} from "../served/http.ts";
import { handleAdmin } from "./admin.ts";
import type { SimulatedCloud } from "./cloud.ts";

export { type CloudHandler, type CloudServer, createCloudFetch } from "../served/http.ts";

/** What {@linkcode createCloudHandler} takes beside the cloud. */
export interface CloudHandlerOptions extends Omit<ApiHandlerOptions, "beside"> {
  /** Whether `/admin/` is served. @default true */
  readonly admin?: boolean;
}

/** Makes the cloud's request handler. */
export function createCloudHandler(cloud: SimulatedCloud, options: CloudHandlerOptions = {}): CloudHandler {
  const { admin = true, ...rest } = options;
  return createApiHandler((call, about) => cloud.call(call, about), {
    ...rest,
    beside: (request, url) =>
      admin && url.pathname.startsWith("/admin/") ? handleAdmin(cloud, request, url) : undefined,
  });
}

/** What {@linkcode serveCloud} takes. */
export interface ServeCloudOptions extends CloudHandlerOptions, ServeHandlerOptions {}

/** Serves `cloud` over HTTP. Throws when the port is taken. */
export function serveCloud(cloud: SimulatedCloud, options: ServeCloudOptions = {}): CloudServer {
  return serveHandler(createCloudHandler(cloud, options), options);
}
