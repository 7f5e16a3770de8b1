/**
 * The http provider on a third cloud, which uses what freedom its contract leaves.
 *
 * @module
 */
import { systemClock } from "../../src/core/clock.ts";
import { createHttpProvider } from "../../src/providers/http.ts";
import { providerContract } from "../contract/provider/suite.ts";
import { FreeCloud } from "../support/free_cloud.ts";
import type { FreeKnobs } from "../support/free_knobs.ts";

const FREEDOMS: Record<string, Partial<FreeKnobs>> = {
  "as written": {},
  "with nulls, empty pages, small pages and errors without a body": {
    nulls: true,
    pageSize: 2,
    emptyPages: true,
    bareErrors: true,
    createStatus: 202,
    deleteStatus: 204,
  },
  "without tokens, tag filter and snapshots, with odd ids": {
    clientTokens: false,
    unfiltered: true,
    snapshots: false,
    idOf: (n) => `a/b %2F?#&+ü:${n}`,
    account: 42,
    createStatus: 200,
    deleteStatus: 200,
    deleteBody: false,
  },
};

for (const [name, knobs] of Object.entries(FREEDOMS)) {
  providerContract(`http on a free cloud ${name}`, () => {
    const timers = new Map<ReturnType<typeof setTimeout>, () => void>();
    const clock = {
      ...systemClock,
      setTimeout: (fn: () => void, ms: number) => {
        const timer = setTimeout(fn, ms);
        timers.set(timer, fn);
        return timer;
      },
    };
    const quick = { provisionMs: 40, modifyMs: 40, deleteMs: 40, readLagMs: 30 };
    const cloud = new FreeCloud(clock, { ...quick, ...knobs });
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => cloud.handle(request),
    );
    return {
      provider: createHttpProvider({ url: `http://127.0.0.1:${server.addr.port}`, clock: systemClock }),
      mutations: () => cloud.mutations(),
      slow: (ms) => void (cloud.knobs.latencyMs = ms),
      logsIn: ({ id }, password) => cloud.rows.get(id)?.password === password,
      snapshots: () => [...cloud.snapshots.keys()],
      async close() {
        cloud.knobs.latencyMs = 0;
        for (const [timer, fn] of timers) {
          clearTimeout(timer);
          fn();
        }
        await server.shutdown();
      },
    };
  });
}
