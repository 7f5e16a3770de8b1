/**
 * The provider for databases on this very machine: each one is a PostgreSQL server of its own, from npm's binaries.
 *
 * For demonstrations, development and tests: real logins and real data, on loopback, without anything installed. What it
 * promises, and why:
 *
 * - `clientTokens`: the id is derived from the token; ids that were deleted are remembered.
 * - `readLagSeconds` 0: what a list shows is what is on disk.
 * - `effectBoundSeconds`: a call writes one file within its time, or nothing.
 *
 * One process has the folder at a time.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { type Logger, silentLogger } from "../../core/log.ts";
import type { Random } from "../../core/random.ts";
import { DeadlineError, withDeadline } from "../../core/wait.ts";
import { MASTER_USERNAME } from "../access.ts";
import { ACTIONS, type CallVerb, lostClass, mutates, printable } from "../classify.ts";
import type { CallOptions, CreateRequest, DatabaseProvider, ModifyRequest } from "../port.ts";
import { ProviderError } from "../port.ts";
import { isUsablePassword, scramVerifier, UNUSABLE_PASSWORD } from "../postgres/scram.ts";
import { formatVersion } from "../postgres/versions.ts";
import { type Build, buildOf, buildsFor } from "./binaries.ts";
import { Installations } from "./installations.ts";
import { LocalFolder } from "./folder.ts";
import { Instance } from "./instance.ts";
import { databaseNameFor, type LocalRecord, requestDigest } from "./record.ts";
import { changed, checked, deleted, fail, idOf } from "./requests.ts";
import { localInfo } from "./info.ts";
import { LocalServer } from "./server.ts";
import { Turns } from "./turns.ts";
import { pageOf } from "./view.ts";

/** What {@linkcode openLocalProvider} takes. */
export interface LocalProviderOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Its folder; made where there is none. */
  readonly folder: string;
  /** Whether the data outlive {@linkcode LocalProvider.close}. @default true */
  readonly keep?: boolean | undefined;
  readonly log?: Logger | undefined;
  /** Longest time of a call, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number | undefined;
  /** Builds that may be used. @default those for this platform */
  readonly builds?: readonly Build[] | undefined;
  /** Awaited by each call before it is answered; for tests. */
  readonly beforeAnswer?: ((verb: CallVerb, signal: AbortSignal) => Promise<void>) | undefined;
  /** Told of each write of a mutating call in the tick that hands it over; for tests. */
  readonly onWrite?: (() => void) | undefined;
}

/** The provider, whose servers run until it is closed. */
export interface LocalProvider extends DatabaseProvider {
  /** Fetches the binaries for a version before anyone asks for it. Rejects when they cannot be had. */
  prepare(version: string): Promise<void>;
  /** Stops every server, and removes all of it unless it is to be kept. */
  close(): Promise<void>;
}

/** initdb and starts at the same time. */
const HEAVY = 2;

/**
 * Opens the folder, finds the databases of earlier processes in it again, and starts their servers. Rejects when the
 * folder cannot be used, or there are no binaries for this platform.
 */
export async function openLocalProvider(options: LocalProviderOptions): Promise<LocalProvider> {
  const { clock, random, keep = true, log = silentLogger, timeoutMs = 30_000, builds = buildsFor() } =
    options;
  if (builds.length === 0) {
    throw new Error(
      `npm has no PostgreSQL for ${Deno.build.os} on ${Deno.build.arch}`,
    );
  }
  const folder = await LocalFolder.open(options.folder, crypto.randomUUID());
  const closing = new AbortController();
  const heavy = new Turns(HEAVY);
  const installations = new Installations({ folder, builds, log, signal: closing.signal });
  const instances = new Map<string, Instance>();
  const gone = await folder.gone();
  const work = {
    ...{ clock, random, log, folder },
    binaries: (version: string) => installations.path(version),
    heavy: <T>(job: () => Promise<T>) => heavy.run(job, closing.signal),
    ports: () => new Set([...instances.values()].flatMap(({ record: { port } }) => port ?? [])),
  };
  const add = (record: LocalRecord) => {
    const instance = new Instance(record, work, () => {
      gone.add(record.id);
      instances.delete(record.id);
    });
    instances.set(record.id, instance);
    return instance;
  };
  try {
    await installations.tidy();
    const records = await folder.records();
    const known = new Set(records.map(({ id }) => id));
    for (const id of await folder.servers()) {
      if (known.has(id)) continue;
      // A delete takes the server's folder away before the record: this record was lost, and the data may be wanted.
      log.log("warn", "A local database has lost its record; its data are left as they are", { id });
      gone.add(id); // not to be given again: a server is made in an empty folder
    }
    for (const record of records) add(record);
  } catch (error) {
    folder.release();
    throw error;
  }

  /** Runs one call under its deadline; `sent` tells whether anything was handed over. */
  async function perform<T>(
    verb: CallVerb,
    { signal }: CallOptions,
    job: (call: Handing) => T | Promise<T>,
    beforeSend?: () => void,
  ): Promise<T> {
    if (closing.signal.aborted) fail(verb, "retryable", "the provider was closed", "Closed");
    let sent = false;
    let fence: { readonly error: unknown } | undefined;
    const give = (inner: AbortSignal): Handing => ({
      hand: () => {
        inner.throwIfAborted();
        try {
          beforeSend?.();
        } catch (error) {
          fence = { error };
          throw error;
        }
        sent = true;
        options.onWrite?.();
      },
    });
    try {
      return await withDeadline({ clock, ms: timeoutMs, action: ACTIONS[verb], signal }, async (inner) => {
        const result = await job(give(inner));
        await options.beforeAnswer?.(verb, inner);
        return result;
      });
    } catch (cause) {
      if (cause instanceof ProviderError || (fence !== undefined && fence.error === cause)) throw cause;
      const errorClass = sent && mutates(verb) ? lostClass(verb) : "retryable";
      const why = cause instanceof DeadlineError || !(cause instanceof Error)
        ? "no answer in time"
        : signal.aborted
        ? "given up"
        : printable(cause.message, 200);
      throw new ProviderError(errorClass, `${ACTIONS[verb]}: ${why}`, { cause });
    }
  }

  function instanceOf(verb: CallVerb, id: string): Instance {
    const instance = instances.get(id);
    if (instance === undefined) {
      fail(verb, "absent", `there is no database "${printable(id, 253)}"`, "NotFound");
    }
    return instance;
  }

  async function create(request: CreateRequest, { hand }: Handing): Promise<Instance> {
    const build = checked(request, builds);
    const id = idOf(request.clientToken);
    const { name, engine, sizeGb, tags, password } = request;
    const superuserPassword = crypto.randomUUID();
    const verifier = password === undefined ? undefined : await scramVerifier(password);
    const earlier = instances.get(id);
    if (earlier !== undefined) {
      const { request: first, superuserPassword: key } = earlier.record;
      if (first === requestDigest(request, key)) return earlier;
      fail(
        "create",
        "exists",
        `${id} was made with other parameters under the same token`,
        "IdempotencyMismatch",
      );
    }
    if (gone.has(id)) fail("create", "exists", `the token was used for ${id}, which is gone`, "TokenUsed");
    const record: LocalRecord = {
      format: 1,
      ...{ id, name, engine, sizeGb, tags, superuserPassword },
      version: formatVersion(build.version),
      createdAt: new Date(clock.now()).toISOString(),
      request: requestDigest(request, superuserPassword),
      protected: request.deletionProtection ?? false,
      phase: "new",
      database: databaseNameFor(name),
      username: MASTER_USERNAME,
      ...(verifier === undefined ? {} : { verifier }),
    };
    // Two creates of one token meet here: the second waits for the first and finds it.
    return await creating.run(async () => {
      const made = instances.get(id);
      if (made !== undefined) return made;
      hand();
      await folder.save(record);
      return add(record);
    });
  }
  const creating = new Turns(1);
  let ended: Promise<void> | undefined;

  async function modify(id: string, request: ModifyRequest, { hand }: Handing): Promise<Instance> {
    const instance = instanceOf("modify", id);
    const { password } = request;
    if (password !== undefined && !isUsablePassword(password)) {
      fail("modify", "rejected", UNUSABLE_PASSWORD, "InvalidParameter");
    }
    const verifier = password === undefined ? undefined : await scramVerifier(password);
    await instance.update((record) => {
      const next = changed(instance.database, record, request, verifier);
      if (next !== undefined) hand();
      return next;
    });
    return instance;
  }

  return {
    name: "local",
    async info(call) {
      return await perform("info", call, () => localInfo(folder.account, timeoutMs));
    },
    async get(id, call) {
      return await perform("get", call, () => instanceOf("get", id).database);
    },
    async list(call) {
      return await perform("list", call, () => {
        return pageOf([...instances.values()].map(({ database }) => database), call);
      });
    },
    async create(request, call) {
      return await perform(
        "create",
        call,
        async (handing) => (await create(request, handing)).database,
        call.beforeSend,
      );
    },
    async modify(id, request, call) {
      return await perform("modify", call, async (handing) => {
        return (await modify(id, request, handing)).database;
      }, call.beforeSend);
    },
    async delete(id, call) {
      await perform("delete", call, async ({ hand }) => {
        const instance = instanceOf("delete", id);
        await instance.update((record) => {
          const next = deleted(instance.database, record, call.finalSnapshot);
          if (next !== undefined) hand();
          return next;
        });
      }, call.beforeSend);
    },
    async prepare(version) {
      const build = buildOf(version, builds);
      if (build === undefined) throw new Error(`There is no PostgreSQL ${version} for this machine`);
      await installations.path(formatVersion(build.version));
    },
    async close() {
      ended ??= end();
      await ended;
    },
  };

  async function end(): Promise<void> {
    closing.abort(new Error("The provider ends"));
    const ends = await Promise.allSettled([...instances.values()].map((instance) => instance.close()));
    await installations.end();
    if (keep) folder.release();
    else await removeAll(folder, { clock, random });
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

/** What a call hands its write over by: in the same tick, or not at all. */
interface Handing {
  readonly hand: () => void;
}

export { closedOnTheWay } from "./folder.ts";

/** Ends the servers of a folder that a process left which was killed, and removes it. Nothing there: nothing is done. */
export async function removeLocalFolder(
  path: string,
  { clock, random }: Pick<LocalProviderOptions, "clock" | "random">,
): Promise<void> {
  const there = await Deno.stat(path).then(({ isDirectory }) => isDirectory, () => false);
  if (!there) return;
  await removeAll(await LocalFolder.open(path, "gone"), { clock, random });
}

/** Ends whatever runs in a folder, also what no record names, and removes it. */
async function removeAll(
  folder: LocalFolder,
  { clock, random }: Pick<LocalProviderOptions, "clock" | "random">,
): Promise<void> {
  for (const id of await folder.servers()) {
    const binaries = () => Promise.reject(new Error("Nothing is started any more"));
    await new LocalServer({ clock, random, folder: folder.serverFolder(id), binaries }).remove();
  }
  await folder.remove();
}
