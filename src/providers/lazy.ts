/**
 * A provider whose code is loaded by its first call, so that whoever uses another pays nothing for its libraries.
 *
 * @module
 */
import type { DatabaseProvider } from "./port.ts";

/** Makes a provider of that name; `load` runs once, or again after it failed. */
export function createLazyProvider(name: string, load: () => Promise<DatabaseProvider>): DatabaseProvider {
  let loading: Promise<DatabaseProvider> | undefined;
  const loaded = () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return {
    name,
    async close() {
      const held = loading;
      loading = undefined; // a later call loads another
      await (await held?.catch(() => undefined))?.close?.(); // one that never was loaded holds nothing
    },
    info: async (options) => await (await loaded()).info(options),
    get: async (id, options) => await (await loaded()).get(id, options),
    list: async (options) => await (await loaded()).list(options),
    create: async (request, options) => await (await loaded()).create(request, options),
    modify: async (id, request, options) => await (await loaded()).modify(id, request, options),
    delete: async (id, options) => await (await loaded()).delete(id, options),
  };
}
