/**
 * A process with the local provider is killed at many moments of a create, a password change and a delete; the next one
 * finds everything again, and nothing is left that no record names.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { type LocalProvider, removeLocalFolder } from "../../src/providers/local/provider.ts";
import { denoFlags } from "../../tests/cli/support.ts";
import { CALL, eventually, inState, logsIn, newFolder, providerIn, serversUnder } from "./support.ts";

/** Moments after the start of the work at which the process is killed, in milliseconds. */
const MOMENTS = [0, 5, 20, 60, 120, 250, 400, 600, 900, 1_300, 1_800, 2_500];

const WORKER = new URL("worker.ts", import.meta.url).pathname;

/** Starts a process that does `what` on the folder, and kills it some time after it has begun. */
function killedAt(ms: number, folder: string, what: string): Promise<void> {
  return killedOnce(() => new Promise((resolve) => setTimeout(resolve, ms)), folder, what);
}

/** Starts a process that does `what` on the folder, and kills it once it has begun and `moment` has come. */
async function killedOnce(moment: () => Promise<unknown>, folder: string, what: string): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...denoFlags(["-A"]), WORKER, folder, what],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read(); // it has begun
  await moment();
  try {
    child.kill("SIGKILL");
  } catch {
    // it has ended
  }
  await child.status;
  await reader.cancel();
}

/** Servers' processes and folders of this folder. */
async function found(folder: string): Promise<{ readonly processes: number; readonly folders: string[] }> {
  const folders = [...Deno.readDirSync(`${folder}/servers`)].map(({ name }) => name);
  return { processes: await serversUnder(folder), folders };
}

/** Runs `work` with a provider on the folder, which is closed in any case. */
async function withProvider(folder: string, work: (provider: LocalProvider) => Promise<void>): Promise<void> {
  const provider = await providerIn(folder);
  try {
    await work(provider);
  } finally {
    await provider.close();
  }
}

const removed = (folder: string) => removeLocalFolder(folder, { clock: systemClock, random: systemRandom });

Deno.test("C1: killed at any moment of a create: the next process finishes it, or never hears of it; one server at most", async () => {
  for (const ms of MOMENTS) {
    const folder = await newFolder();
    try {
      await killedAt(ms, folder, "create");
      await withProvider(folder, async (provider) => {
        const { items } = await provider.list({ ...CALL, tags: {} });
        for (const { id } of items) {
          const database = await inState(provider, id, "Available");
          assertEquals(await logsIn(database, "first-0123456789"), true, `killed after ${ms} ms`);
        }
        assertEquals(await found(folder), { processes: items.length, folders: items.map(({ id }) => id) });
      });
      assertEquals((await found(folder)).processes, 0);
    } finally {
      await removed(folder);
    }
  }
});

Deno.test("a server that a killed process left, and whose record is lost, is ended with the folder that it is in, and not before", async () => {
  const folder = await newFolder();
  try {
    const runs = () => eventually("its server", async () => (await serversUnder(folder)) === 1 || undefined);
    await killedOnce(runs, folder, "create");
    for (const { name } of Deno.readDirSync(`${folder}/records`)) {
      await Deno.remove(`${folder}/records/${name}`);
    }
    await withProvider(folder, async (provider) => {
      assertEquals((await provider.list({ ...CALL, tags: {} })).items, []);
    });
    assertEquals((await found(folder)).processes, 1);
    await (await providerIn(folder, { keep: false })).close();
    assertEquals(await serversUnder(folder), 0);
    assertEquals(await Deno.stat(folder).then(() => true, () => false), false);
  } finally {
    await removed(folder);
  }
});

Deno.test("K1, D1: killed at any moment of a password change and of a delete: the old or the new password holds, and a delete goes on", async () => {
  const folder = await newFolder();
  try {
    for (const ms of MOMENTS) {
      await withProvider(folder, async (provider) => {
        for (const { id } of (await provider.list({ ...CALL, tags: {} })).items) {
          await provider.delete((await inState(provider, id, "Available")).id, CALL);
        }
        await eventually("the end of the one before", async () => {
          return (await provider.list({ ...CALL, tags: {} })).items.length === 0 || undefined;
        });
        const request = {
          name: "o",
          engine: "postgres",
          version: "16",
          sizeGb: 1,
          tags: {},
          clientToken: `t${ms}`,
        };
        await inState(
          provider,
          (await provider.create({ ...request, password: "first-0123456789" }, CALL)).id,
          "Available",
        );
      });
      await killedAt(ms, folder, "rotate");
      await withProvider(folder, async (provider) => {
        const [item] = (await provider.list({ ...CALL, tags: {} })).items;
        const database = await inState(provider, item!.id, "Available");
        const works = [
          await logsIn(database, "first-0123456789"),
          await logsIn(database, "second-0123456789"),
        ];
        assertEquals(works.filter(Boolean).length, 1, `killed after ${ms} ms: ${works}`);
      });
      await killedAt(ms, folder, "delete");
      await withProvider(folder, async (provider) => {
        const items = async () => (await provider.list({ ...CALL, tags: {} })).items;
        await eventually("the delete to have ended, or not to have begun", async () => {
          return (await items()).every(({ state }) => state === "Available") || undefined;
        });
        const left = (await items()).map(({ id }) => id);
        assertEquals(await found(folder), { processes: left.length, folders: left });
      });
    }
  } finally {
    await removed(folder);
  }
});
