/**
 * What the kernel says of a process, on Linux.
 *
 * @module
 */

/** Memory in MiB and processor time in seconds. */
export interface Usage {
  readonly rssMiB: number;
  readonly peakMiB: number;
  readonly cpuSeconds: number;
}

/** Clock ticks a second (`getconf CLK_TCK`): 100 on every Linux that Deno runs on. */
const TICKS = 100;

/** Reads `/proc/PID`. */
export function usageOf(pid: number): Usage {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  const kib = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? Number.NaN);
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`).replace(/^.*\) /s, "").split(" ");
  return {
    rssMiB: kib("VmRSS") / 1_024,
    peakMiB: kib("VmHWM") / 1_024,
    cpuSeconds: (Number(stat[11]) + Number(stat[12])) / TICKS,
  };
}
