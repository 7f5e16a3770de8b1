import { drawPlan } from "../src/simulation/draw.ts";
import { runPlan } from "../src/simulation/run.ts";
const [from, n, trace] = Deno.args.map(Number);
const t0 = performance.now();
let bad = 0;
const worst: number[] = [];
for (let s = from!; s < from! + n!; s++) {
  const r = await runPlan(drawPlan(s), { trace: !!trace });
  if (trace) {
    console.log(r.trace.join("\n"));
    console.log(JSON.stringify(drawPlan(s)));
  }
  worst.push(r.settledAfterMs ?? 0);
  if (r.violation) {
    bad++;
    console.log(s, r.violation.oracle, r.violation.what, Math.round(r.violation.at / 1000) + "s", r.steps);
  }
}
console.log(
  n,
  "seeds",
  bad,
  "bad",
  (n! * 1000 / (performance.now() - t0)).toFixed(1),
  "/s",
  "settle max",
  Math.max(...worst) / 1000,
);
