import { systemClock } from "../../../src/core/clock.ts";
import { seededRandom } from "../../../src/core/random.ts";
import { createHttpProvider } from "../../../src/providers/http.ts";
import { SimulatedCloud } from "../../../src/providers/simulated/cloud.ts";
import { REFUSALS } from "../../../src/providers/simulated/faults.ts";
import { createApiHandler } from "../../../src/providers/served/http.ts";
import { answeringBy } from "../../../src/providers/served/provider.ts";
import { createSimulatedProvider } from "../../../src/providers/simulated/provider.ts";
import { createCloudFetch, createCloudHandler, serveCloud } from "../../../src/providers/simulated/server.ts";
import { createTransport, type Fetch } from "../../../src/providers/transport.ts";
import { type ContractStage, providerContract } from "./suite.ts";
import { serveTinyCloud } from "./tiny_cloud.ts";

const clock = systemClock;

function fastCloud(): SimulatedCloud {
  return new SimulatedCloud({
    clock,
    random: seededRandom(1),
    latencyMs: 2,
    provisionMs: 40,
    modifyMs: 40,
    deleteMs: 40,
    readLagMs: 50,
  });
}

function cloudStage(
  cloud: SimulatedCloud,
): Pick<ContractStage, "mutations" | "slow" | "logsIn" | "snapshots" | "failSnapshot"> {
  return {
    logsIn: ({ id }, password) => cloud.loginWorks(id, password),
    snapshots: () => cloud.snapshots().map(({ name }) => name),
    failSnapshot: () => cloud.faults.refuse("delete", REFUSALS.snapshotFailed),
    mutations: () => cloud.ledger.mutatingCalls().length,
    slow: (latencyMs) => cloud.configure({ latencyMs }),
  };
}

/** A fetch that tells of each request when it is handed over. */
function spied(fetch: Fetch): { fetch: Fetch; onSend: (fn: () => void) => void } {
  let tell = () => {};
  return {
    fetch: (url, init) => {
      if (init.method !== "GET") tell();
      return fetch(url, init);
    },
    onSend: (fn) => {
      tell = fn;
    },
  };
}

providerContract("simulated", () => {
  const cloud = fastCloud();
  let tell = () => {};
  const call = cloud.call.bind(cloud);
  cloud.call = (request, options) => {
    if (["create", "modify", "delete"].includes(request.verb)) tell();
    return call(request, options);
  };
  return {
    ...cloudStage(cloud),
    provider: createSimulatedProvider(cloud, { clock }),
    onSend: (fn) => {
      tell = fn;
    },
    close: () => Promise.resolve(),
  };
});

providerContract("http on the simulated cloud, in process", () => {
  const cloud = fastCloud();
  const { fetch, onSend } = spied(createCloudFetch(createCloudHandler(cloud)));
  const provider = createHttpProvider({ url: "http://cloud.test", clock, fetch });
  return { ...cloudStage(cloud), provider, onSend, close: () => Promise.resolve() };
});

// One transport for all: its connections outlive a test, which the sanitizers would not like of a new one each time.
const transport = createTransport();

providerContract("http on the simulated cloud, over a socket", () => {
  const cloud = fastCloud();
  const server = serveCloud(cloud);
  const { fetch, onSend } = spied((url, init) =>
    transport[init.method === "GET" ? "read" : "mutate"](url, init)
  );
  const provider = createHttpProvider({ url: server.url, clock, fetch });
  return { ...cloudStage(cloud), provider, onSend, close: () => server.close() };
});

providerContract("http on another cloud without tokens", () => {
  const tiny = serveTinyCloud();
  const { url, close, ...rest } = tiny;
  return { provider: createHttpProvider({ url, clock }), ...rest, close: () => close() };
});

providerContract("http on a provider behind the HTTP contract", () => {
  const cloud = fastCloud();
  const handler = createApiHandler(answeringBy(createSimulatedProvider(cloud, { clock })));
  const { fetch, onSend } = spied(createCloudFetch(handler));
  const provider = createHttpProvider({ url: "http://cloud.test", clock, fetch });
  return { ...cloudStage(cloud), provider, onSend, close: () => Promise.resolve() };
});
