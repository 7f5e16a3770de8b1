/**
 * The demo's cloud: real PostgreSQL servers on this machine where their binaries can be had, else the simulated one.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { withDeadline } from "../core/wait.ts";
import type { DatabaseProvider } from "../providers/port.ts";
import type { Answering } from "../providers/served/http.ts";
import { handleAdmin } from "../providers/simulated/admin.ts";
import { SimulatedCloud } from "../providers/simulated/cloud.ts";
import { createSimulatedProvider } from "../providers/simulated/provider.ts";
import type { DemoDirectory } from "./demo_directory.ts";
import type { DemoOptions } from "./options.ts";
import { LOCAL_VERSION } from "./samples.ts";

/** What the demo works with. */
export interface DemoCloud {
  readonly kind: "local" | "simulated";
  readonly provider: DatabaseProvider;
  /** Answers the calls of its HTTP server. */
  readonly answering: Answering;
  /** Answers `/admin/` of the simulated one: what a person does at the cloud's console. It asks for no token. */
  readonly console?: ((request: Request, url: URL) => Promise<Response>) | undefined;
  /** Why it is not the local one; absent where it is, or where it was not to be. */
  readonly instead?: string | undefined;
  /** Ends it, and removes what it held. */
  close(): Promise<void>;
}

/** What {@linkcode openDemoCloud} takes from outside. */
export interface DemoCloudEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly directory: DemoDirectory;
  /** Tells the person in front of the terminal what takes a while. */
  readonly say: (text: string) => Promise<void>;
  readonly callTimeoutMs: number;
}

/** Longest wait for the first binaries, in milliseconds: after it there is still time to show the simulated cloud. */
const FETCH_MS = 40_000;

/** Opens the cloud that the options ask for. Rejects when `local` is asked for by name and cannot be had. */
export async function openDemoCloud(
  options: DemoOptions,
  environment: DemoCloudEnvironment,
): Promise<DemoCloud> {
  if (options.cloud !== "simulated") {
    try {
      return await openLocal(options, environment);
    } catch (error) {
      if (options.cloud === "local" || environment.signal.aborted) throw error;
      return {
        ...openSimulated(options, environment),
        instead: messageOf(error),
      };
    }
  }
  return openSimulated(options, environment);
}

function openSimulated(options: DemoOptions, environment: DemoCloudEnvironment): DemoCloud {
  const { clock, random, callTimeoutMs: timeoutMs } = environment;
  const cloud = new SimulatedCloud({ clock, random, provisionMs: options.provisioningMs, account: "demo" });
  return {
    kind: "simulated",
    provider: createSimulatedProvider(cloud, { clock, timeoutMs }),
    answering: (call, about) => cloud.call(call, about),
    console: (request, url) => handleAdmin(cloud, request, url),
    close: () => Promise.resolve(),
  };
}

async function openLocal(options: DemoOptions, environment: DemoCloudEnvironment): Promise<DemoCloud> {
  const { clock, random, log, signal, directory, say, callTimeoutMs: timeoutMs } = environment;
  await checkPermissions();
  const { openLocalProvider } = await import("../providers/local/provider.ts");
  const { answeringBy } = await import("../providers/served/provider.ts");
  const folder = await directory.folder("databases", { clock, random });
  const provider = await openLocalProvider({ clock, random, log, timeoutMs, folder, keep: false });
  try {
    if (options.samples > 0) {
      await say(`PostgreSQL ${LOCAL_VERSION} is fetched from npm …\n\n`);
      const action = `Fetching PostgreSQL ${LOCAL_VERSION} from npm`;
      await withDeadline({ clock, ms: FETCH_MS, action, signal }, () => provider.prepare(LOCAL_VERSION));
    }
  } catch (error) {
    await provider.close();
    throw error;
  }
  return { kind: "local", provider, answering: answeringBy(provider), close: () => provider.close() };
}

/** Throws unless this process may run other programs: nobody is asked in the middle of a demo. */
async function checkPermissions(): Promise<void> {
  const wanted: Deno.PermissionDescriptor[] = [{ name: "run" }, { name: "sys", kind: "uid" }];
  for (const descriptor of wanted) {
    if ((await Deno.permissions.query(descriptor)).state !== "granted") {
      throw new Error(`this process runs without --allow-${descriptor.name}, which PostgreSQL needs`);
    }
  }
}
