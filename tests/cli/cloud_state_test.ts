import { assert, assertEquals } from "@std/assert";
import { Child } from "./support.ts";

const PERMISSIONS = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read", "--allow-write"];
const HEADERS = { "content-type": "application/json" };

/** Starts `cloud --state file` and resolves with its URL. */
async function start(file: string): Promise<{ readonly child: Child; readonly url: string }> {
  const args = ["cloud", "--listen=127.0.0.1:0", `--state=${file}`, "--latency=5ms", "--provision-time=50ms"];
  const child = new Child(args, PERMISSIONS);
  const line = await child.line((line) => line.includes("The simulated cloud listens"));
  return { child, url: /http:\/\/127\.0\.0\.1:\d+/.exec(line)![0] };
}

/** Creates databases, eight at a time, until the cloud is gone; resolves with the ids that it answered. */
async function createUntilKilled(url: string, kill: (answered: number) => void): Promise<string[]> {
  const ids: string[] = [];
  const one = async (worker: number) => {
    for (let i = 0; i < 1_000; i++) {
      const body = JSON.stringify({
        name: `db-${worker}-${i}`,
        engine: "postgres",
        version: "14",
        sizeGb: 20,
      });
      try {
        const answer = await fetch(`${url}/v1/databases`, {
          method: "POST",
          headers: HEADERS,
          body,
          signal: AbortSignal.timeout(10_000),
        });
        ids.push((await answer.json()).id);
      } catch {
        return; // it was killed
      }
      kill(ids.length);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, worker) => one(worker)));
  return ids;
}

Deno.test("A cloud that is killed at any moment comes back with every database that it ever answered", async () => {
  const directory = await Deno.makeTempDir();
  const file = `${directory}/state`;
  try {
    const known: string[] = [];
    for (const killAt of [1, 13, 40, 0]) { // the last one only looks
      const { child, url } = await start(file);
      try {
        for (const id of known) {
          const answer = await fetch(`${url}/v1/databases/${id}`);
          assertEquals([answer.status, (await answer.json()).id], [200, id]);
        }
        if (killAt === 0) break;
        known.push(
          ...await createUntilKilled(url, (answered) => {
            if (answered === killAt) child.kill("SIGKILL");
          }),
        );
      } finally {
        await child.end();
      }
    }
    assert(known.length >= 1 + 13 + 40, `${known.length} creates were answered`);
    assertEquals(new Set(known).size, known.length, "an id was given twice");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
