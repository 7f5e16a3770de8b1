/**
 * `deno task bench`: what the operator costs, as counts and ratios of one run.
 *
 * Exits 1 when a count or ratio is beyond what docs/design.md promises.
 *
 * @module
 */
import { startKube } from "../tests-real/support/kube.ts";
import { type Scale, scale } from "./scale.ts";

/** What is promised for a thousand resources. */
const LIMITS = {
  ratio: 1.5,
  writes: 3,
  conflictsPercent: 1,
  readsPerPeriod: (count: number) => Math.ceil(count / 100) + 1,
};

function judge(s: Scale): string[] {
  const wrong: string[] = [];
  if (s.writesPerResource !== LIMITS.writes) {
    wrong.push(`writes a resource: ${s.writesPerResource}, not ${LIMITS.writes}`);
  }
  if (s.conflictsPercent >= LIMITS.conflictsPercent) wrong.push(`conflicts: ${s.conflictsPercent} %`);
  if (s.count <= 1_000 && s.ratio > LIMITS.ratio) {
    wrong.push(`time to Available: ${s.ratio} of the bare loop's`);
  }
  if (s.idle.writes > 0) wrong.push(`writes while idle: ${s.idle.writes}`);
  if (s.idle.mutatingCalls > 0) wrong.push(`mutating calls while idle: ${s.idle.mutatingCalls}`);
  if (s.idle.readsPerPeriod > LIMITS.readsPerPeriod(s.count)) {
    wrong.push(`reads a period: ${s.idle.readsPerPeriod}`);
  }
  if (s.leftInCloud > 0) wrong.push(`databases left: ${s.leftInCloud}`);
  return wrong;
}

const counts = Deno.args.map(Number).filter((n) => n > 0);
let failed = false;
for (const count of counts.length > 0 ? counts : [1_000]) {
  const kube = await startKube();
  try {
    const result = await scale(kube, count);
    const wrong = judge(result);
    failed ||= wrong.length > 0;
    const text = JSON.stringify(result, (_, v) => typeof v === "number" ? Math.round(v * 100) / 100 : v, 2);
    await Deno.stdout.write(
      new TextEncoder().encode(`${text}\n${wrong.map((w) => `beyond the promise: ${w}\n`).join("")}`),
    );
  } finally {
    await kube.stop();
  }
}
if (failed) Deno.exit(1);
