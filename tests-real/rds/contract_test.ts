import { type ContractStage, providerContract } from "../../tests/contract/provider/suite.ts";
import { createTransport } from "../../src/providers/transport.ts";
import { serveProxy } from "./proxy.ts";
import { emptyRds, providerAt, USUAL_TIMING } from "./support.ts";

// One transport for all: its connections outlive a test, which the sanitizers would not like of a new one each time.
const transport = createTransport();

async function stage(): Promise<ContractStage> {
  const server = await emptyRds();
  // So long that what comes meanwhile comes in time on a busy machine too.
  await server.timing({ create: 1.5, begin: 0.5, modify: 1, optimise: 0.1, delete: 0.5 });
  const proxy = serveProxy(server.url);
  let tell = () => {};
  let verb = "";
  const provider = providerAt(proxy.url, {
    onRequest: (of, _action, mutates) => {
      verb = of;
      if (mutates) tell();
    },
    fetch: (url, init) => {
      const headers = { ...(init.headers as Record<string, string>), "x-test-verb": verb };
      return transport.mutate(url, { ...init, headers });
    },
  });
  return {
    provider,
    versions: { first: "16.4", next: "17.2" },
    oddTag: "a=b c-d/é:41+@_",
    passwords: ["Ab3-_q'\\$%&~x1", "second-Password-0123456789"],
    mutations: () => proxy.asked.filter(({ mutates }) => mutates).length,
    slow: (ms) => {
      proxy.delayMs = ms;
      // What a mutating verb reads first stays quick, or it would be given up before anything was sent.
      proxy.delays = ({ mutates, verb }) => mutates || verb === "get" || verb === "list" || verb === "info";
    },
    onSend: (fn) => {
      tell = fn;
    },
    logsIn: async ({ id }, password) => {
      const instance = (await server.instances()).find(({ resourceId }) => resourceId === id);
      return instance?.password === password;
    },
    async close() {
      await proxy.close();
      await server.timing(USUAL_TIMING);
    },
  };
}

providerContract("aws-rds", stage);
