/**
 * Does jobs on several threads.
 *
 * @module
 */
import type { Batch } from "../../src/simulation/campaign.ts";
import { type Job, nameOf, runJob } from "./job.ts";

/** A job that takes longer, in milliseconds, has hung or lost its worker: one that ends itself says nothing. */
const DEADLINE_MS = 300_000;

/** What a {@linkcode runJobs} may be told. */
export interface PoolOptions {
  readonly workers: number;
  /** @default the worker that does jobs */
  readonly module?: URL;
  /** @default 300_000 */
  readonly deadlineMs?: number;
}

/**
 * Does all jobs, each worker the next when it has done its last; `take` is given what each brings. Rejects when a
 * worker dies or does not answer, with the job that it had.
 */
export async function runJobs(
  jobs: readonly Job[],
  { workers, module = new URL("./worker.ts", import.meta.url), deadlineMs = DEADLINE_MS }: PoolOptions,
  take: (batch: Batch) => void,
): Promise<void> {
  if (workers === 1) {
    for (const job of jobs) take(await runJob(job));
    return;
  }
  const alive: Worker[] = [];
  const deadlines = new Set<ReturnType<typeof setTimeout>>();
  let next = 0;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const worker = new Worker(module, { type: "module" });
      alive.push(worker);
      let deadline: ReturnType<typeof setTimeout> | undefined;
      let job: Job | undefined;
      const fail = (why: string) =>
        reject(new Error(`A worker died${job === undefined ? "" : ` at ${nameOf(job)}`}: ${why}`));
      const forget = () => {
        clearTimeout(deadline);
        if (deadline !== undefined) deadlines.delete(deadline);
      };
      const feed = () => {
        forget();
        job = jobs[next++];
        if (job === undefined) return resolve();
        deadline = setTimeout(() => fail(`no answer within ${deadlineMs / 1_000} s`), deadlineMs);
        deadlines.add(deadline);
        worker.postMessage(job);
      };
      worker.onmessage = ({ data }: MessageEvent<Batch>) => {
        take(data);
        feed();
      };
      worker.onerror = (event) => {
        event.preventDefault();
        fail(event.message);
      };
      worker.onmessageerror = () => fail("its answer could not be read");
      feed();
    });
  try {
    await Promise.all(Array.from({ length: Math.min(workers, Math.max(1, jobs.length)) }, one));
  } finally {
    for (const worker of alive) worker.terminate();
    for (const deadline of deadlines) clearTimeout(deadline);
  }
}
