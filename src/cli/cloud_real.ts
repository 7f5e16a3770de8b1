/**
 * `cloud --real`: the provider `local` as an HTTP server, a cloud whose databases can be logged in to.
 *
 * @module
 */
import { aborted } from "../core/wait.ts";
import { openLocalProvider } from "../providers/local/provider.ts";
import { createApiHandler, serveHandler } from "../providers/served/http.ts";
import { answeringBy } from "../providers/served/provider.ts";
import type { CloudEnvironment, CloudOptions } from "./cloud.ts";
import { listening } from "./listening.ts";

/**
 * Serves PostgreSQL servers on this machine until the signal aborts; then they are stopped, and removed unless the options
 * name a folder for them. Rejects when the folder cannot be used or the port is taken.
 */
export async function runRealCloud(
  options: CloudOptions & { readonly tokens?: (() => readonly string[]) | undefined },
  environment: Omit<CloudEnvironment, "onListen"> & { readonly onError: (error: unknown) => void },
): Promise<void> {
  const { clock, random, log, signal, onError } = environment;
  const { state, tokens, listen } = options;
  const folder = state ?? await Deno.makeTempDir({ prefix: "externaldatabase-cloud-" });
  if (state === undefined) await Deno.chmod(folder, 0o711); // the servers' user is to get through
  const opening = openLocalProvider({ clock, random, log, folder, keep: state !== undefined });
  const provider = await opening.catch(async (error: unknown) => {
    if (state === undefined) await Deno.remove(folder, { recursive: true });
    throw error;
  });
  try {
    const handler = createApiHandler(answeringBy(provider), { tokens });
    const server = await listening(listen, "listen", () => serveHandler(handler, { ...listen, onError }));
    log.log("info", "The cloud of real databases listens", { url: server.url, folder });
    try {
      await aborted(signal);
    } finally {
      await server.close();
    }
  } finally {
    await provider.close();
  }
}
