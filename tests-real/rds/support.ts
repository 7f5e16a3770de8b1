/**
 * What the tests of the aws-rds provider share: one server for the whole run, which each test clears.
 *
 * @module
 */
import { systemClock } from "../../src/core/clock.ts";
import { parseRdsParameters } from "../../src/providers/aws-rds/parameters.ts";
import { createRdsProvider, type RdsProviderOptions } from "../../src/providers/aws-rds/provider.ts";
import type { CreateRequest, Database, DatabaseProvider } from "../../src/providers/port.ts";
import { type RdsServer, startRds } from "../support/rds.ts";

/** Calls without an end of their own. */
export const CALL = { signal: new AbortController().signal };

/** Keys that the server takes. */
export const KEYS = { AWS_ACCESS_KEY_ID: "AKIATEST", AWS_SECRET_ACCESS_KEY: "test-secret-access-key" };

/** Seconds that operations take where a test does not say otherwise. */
export const USUAL_TIMING = { create: 0.3, begin: 0.08, modify: 0.3, optimise: 0.1, delete: 0.3 };

let server: Promise<RdsServer> | undefined;

/** The server, empty; started when it is first asked for, ended with the test process by its guard. */
export async function emptyRds(): Promise<RdsServer> {
  const running = await (server ??= startRds(USUAL_TIMING));
  await running.clear();
  return running;
}

/** The region of all tests. */
export const REGION = "eu-west-1";

/** A provider at an endpoint. */
export function providerAt(
  endpointUrl: string,
  options: Partial<RdsProviderOptions> & { readonly extra?: Readonly<Record<string, unknown>> } = {},
): DatabaseProvider {
  const { extra, ...rest } = options;
  return createRdsProvider({
    clock: systemClock,
    parameters: parseRdsParameters({ region: REGION, endpointUrl, ...extra }),
    credentials: () => Promise.resolve(KEYS),
    timeoutMs: 20_000,
    ...rest,
  });
}

let count = 0;

/** A create request with tags and a token of its own. */
export function requestFor(change: Partial<CreateRequest> = {}): CreateRequest {
  const uid = `${crypto.randomUUID().slice(0, 30)}${String(++count).padStart(6, "0")}`;
  return {
    name: "orders",
    engine: "postgres",
    version: "16",
    sizeGb: 20,
    tags: {
      "kubernetes.io/cr-name": "orders",
      "db.my.domain/uid": uid,
      "db.my.domain/namespace": "shop",
      "db.my.domain/cluster": "cluster-1",
      "db.my.domain/incarnation": "1",
    },
    clientToken: `${uid}-1`,
    ...change,
  };
}

/** All that a provider lists with these tags. */
export async function listAll(
  provider: DatabaseProvider,
  tags: Record<string, string> = {},
): Promise<Database[]> {
  const items: Database[] = [];
  let pageToken: string | undefined;
  do {
    const page = await provider.list({ ...CALL, tags, pageToken });
    if (page.unreadable !== undefined) throw new Error(page.unreadable[0]!.message);
    items.push(...page.items);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return items;
}

/** Awaits until `look` gives something. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + 30_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`Waiting for ${what}: not within 30 s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
