/**
 * A piece of a campaign that one worker does at a time, and what it brings.
 *
 * @module
 */
import { type Batch, runSeeds } from "../../src/simulation/campaign.ts";
import { groups, runGroup } from "../../src/simulation/exhaustive.ts";
import type { Pins } from "../../src/simulation/pins.ts";

/** Some seeds, or some schedules of the exhaustive mode. */
export type Job =
  | {
    readonly kind: "seeds";
    readonly from: number;
    readonly count: number;
    readonly pins: Pins;
    readonly digests: boolean;
  }
  | { readonly kind: "schedules"; readonly group: number; readonly sample: number };

/** What a job is called where it fails as a whole. */
export function nameOf(job: Job): string {
  if (job.kind === "seeds") return `seeds ${job.from} to ${job.from + job.count - 1}`;
  return `the schedules "${groups()[job.group]?.name}"`;
}

/** Does it. */
export async function runJob(job: Job): Promise<Batch> {
  if (job.kind === "schedules") return await runGroup(job.group, job.sample);
  const { from, count, pins, digests } = job;
  return await runSeeds(from, count, { pins, digests });
}
