/**
 * The operator's HTTP server on loopback, over whatever view a test has of a fleet.
 *
 * @module
 */
import { systemClock } from "../../src/core/clock.ts";
import { type OperatorServer, serveOperator, type ServeOperatorOptions } from "../../src/server/http.ts";
import { createMetrics } from "../../src/server/metrics.ts";

/** Serves on a free port, healthy and ready where the options say nothing else; its timers are the system's. */
export async function serveView(
  options: Pick<ServeOperatorOptions, "view"> & Partial<ServeOperatorOptions>,
): Promise<OperatorServer & { readonly url: string }> {
  const server = await serveOperator({
    listen: { hostname: "127.0.0.1", port: 0 },
    clock: systemClock,
    health: () => ({ healthy: true, reasons: [] }),
    ready: () => ({ ready: true, reasons: [] }),
    metrics: createMetrics(),
    ...options,
  });
  return Object.assign(server, { url: `http://127.0.0.1:${server.address.port}` });
}

/** Serves while `work` runs. */
export async function whileServed(
  options: Parameters<typeof serveView>[0],
  work: (url: string) => Promise<void>,
): Promise<void> {
  const server = await serveView(options);
  try {
    await work(server.url);
  } finally {
    await server.close();
  }
}

/** What a GET brings as it comes over the wire, its head included; with a path or a header that fetch would not send. */
export async function rawGet(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const lines = Object.entries({ Host: hostname, ...headers, Connection: "close" })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  await connection.write(new TextEncoder().encode(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`));
  return new Response(connection.readable);
}
