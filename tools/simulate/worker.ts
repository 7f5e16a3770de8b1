/**
 * One worker of `deno task simulate`: does the jobs that it is sent.
 *
 * @module
 */
import { type Job, runJob } from "./job.ts";

const scope = self as unknown as {
  onmessage: (message: MessageEvent<Job>) => void;
  postMessage(message: unknown): void;
};

scope.onmessage = async ({ data }) => {
  scope.postMessage(await runJob(data));
};
