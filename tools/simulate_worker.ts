/**
 * One worker of `deno task simulate`: runs the batches that it is sent.
 *
 * @module
 */
import { runSeeds } from "../src/simulation/campaign.ts";

const scope = self as unknown as {
  onmessage: (message: MessageEvent<{ readonly from: number; readonly count: number }>) => void;
  postMessage(message: unknown): void;
};

scope.onmessage = async ({ data }) => {
  scope.postMessage(await runSeeds(data.from, data.count));
};
