/**
 * `deno run -A bench/onlookers.ts [resources] [edits a second] [seconds]`: what it costs to keep histories, and to have
 * fifty look on while a thousand transitions a second are made, as ratios of one run. Exits 1 beyond what docs/design.md
 * promises.
 *
 * The fleet is in memory and its cloud in the same process, so that hardly anything but the actors is compared with:
 * beside a real API server and cloud the ratios are smaller.
 *
 * @module
 */
import { denoFlags } from "../tests/cli/support.ts";
import { TextLineStream } from "../tools/mutants/lines.ts";

const [count = 1_000, editsPerSecond = 400, seconds = 10] = Deno.args.map(Number);
const CLIENTS = 50;
/** What is promised: processor time a transition and resident memory with fifty clients and histories, against neither. */
const LIMITS = { cpu: 1.5, rss: 1.5, bytesPerStep: 700 };

/** What one window cost. */
interface Window {
  readonly transitions: number;
  readonly transitionsPerSecond: number;
  readonly cpuSeconds: number;
  readonly cpuMsPerTransition: number;
  readonly rssMiB: number;
  readonly heapMiB: number;
  readonly steps: number;
}

async function measure(
  keeps: boolean,
  clients: readonly number[],
): Promise<(Window & { readonly clients: number; readonly mbPerSecond: number })[]> {
  const script = new URL("onlookers_child.ts", import.meta.url).pathname;
  const flags = denoFlags(["-A", "--v8-flags=--expose-gc"]);
  const child = new Deno.Command(Deno.execPath(), {
    args: [...flags, script, ...[count, editsPerSecond, seconds, keeps ? 1 : 0].map(String)],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream()).values();
  const line = async (): Promise<Record<string, number>> => {
    const { value, done } = await lines.next();
    if (done) throw new Error("The operator under test ended");
    return JSON.parse(value);
  };
  const input = child.stdin.getWriter();
  const windows = [];
  try {
    const { port } = await line();
    for (const n of clients) {
      const abort = new AbortController();
      let bytes = 0;
      const reading = Array.from({ length: n }, async (_, i) => {
        const query = i % 5 === 0 ? `?database=default/db-${i}` : "";
        const answer = await fetch(`http://127.0.0.1:${port}/api/stream${query}`, { signal: abort.signal });
        for await (const chunk of answer.body!) bytes += chunk.length;
      });
      const ended = Promise.allSettled(reading);
      // Nothing is told of the first: the engine is still making the code fast.
      if (windows.length === 0) {
        await input.write(new TextEncoder().encode("go\n"));
        await line();
      }
      await input.write(new TextEncoder().encode("go\n"));
      const window = await line() as unknown as Window;
      windows.push({ clients: n, ...window, mbPerSecond: bytes / 1e6 / seconds! });
      abort.abort();
      await ended;
    }
  } finally {
    await input.close().catch(() => {}); // it has ended
    child.kill("SIGKILL");
    await child.status;
  }
  return windows;
}

const [bare] = await measure(false, [0]);
const [kept, watched] = await measure(true, [0, CLIENTS]);
if (bare === undefined || kept === undefined || watched === undefined) {
  throw new Error("Nothing was measured");
}
const result = {
  count,
  editsPerSecond,
  windows: { bare, kept, watched },
  ratios: {
    history: { cpu: kept.cpuMsPerTransition / bare.cpuMsPerTransition, rss: kept.rssMiB / bare.rssMiB },
    onlookers: {
      cpu: watched.cpuMsPerTransition / bare.cpuMsPerTransition,
      rss: watched.rssMiB / bare.rssMiB,
    },
  },
  bytesPerStep: (kept.heapMiB - bare.heapMiB) * 2 ** 20 / kept.steps,
  bytesPerActor: (kept.heapMiB - bare.heapMiB) * 2 ** 20 / count,
  stepsPerActor: kept.steps / count,
};
console.log(JSON.stringify(result, (_, v) => typeof v === "number" ? Math.round(v * 100) / 100 : v, 2));
const wrong = [
  ...(result.ratios.onlookers.cpu > LIMITS.cpu ? ["processor time with onlookers"] : []),
  ...(result.ratios.onlookers.rss > LIMITS.rss ? ["memory with onlookers"] : []),
  ...(result.bytesPerStep > LIMITS.bytesPerStep ? ["bytes of history a step"] : []),
];
for (const what of wrong) console.log(`beyond the promise: ${what}`);
if (wrong.length > 0) Deno.exit(1);
