/**
 * The cloud's admin surface for tests and people, under `/admin/`: what an API of a cloud does not show.
 *
 * | call | what it does |
 * | --- | --- |
 * | `GET /admin/calls?since=&verb=&uid=` | the ledger's calls |
 * | `GET /admin/effects?since=&kind=&uid=` | the changes that happened |
 * | `GET /admin/databases` | every database, of every account, with `account` and `protected` |
 * | `GET /admin/snapshots` | final snapshots |
 * | `GET/PATCH /admin/settings` | the knobs ({@linkcode CloudSettings}) |
 * | `GET/POST/DELETE /admin/faults` | the rules in force ({@linkcode FaultRule}): show, add one, end all |
 * | `POST /admin/databases` | put a database in by hand |
 * | `PATCH/DELETE /admin/databases/{id}` | edit or take away by hand |
 * | `DELETE /admin/ledger` | forget the ledger |
 *
 * @module
 */
import { z } from "zod";
import { readBounded } from "./bodies.ts";
import type { ConsoleEdit, SimulatedCloud } from "./cloud.ts";
import type { FaultRule } from "./faults.ts";
import type { Effect } from "./ledger.ts";
import type { CloudSettings } from "./settings.ts";
import { RefusalError, type Verb, VERBS } from "./types.ts";

const refusal = z.object({
  status: z.int().min(400).max(599),
  code: z.string(),
  message: z.string().default(""),
  retryAfterSeconds: z.number().optional(),
});

const faultRule = z.strictObject({
  verbs: z.array(z.enum(VERBS as [Verb, ...Verb[]])).optional(),
  id: z.string().optional(),
  uid: z.string().optional(),
  caller: z.string().optional(),
  skip: z.int().min(0).optional(),
  times: z.int().min(1).optional(),
  forMs: z.number().min(0).optional(),
  probability: z.number().min(0).max(1).optional(),
  fault: z.strictObject({
    answer: z.union([z.enum(["lost", "stall"]), refusal]).optional(),
    effect: z.enum(["none", "done", "late"]).optional(),
    delayMs: z.number().min(0).optional(),
  }),
});

const edit = z.strictObject({
  name: z.string().optional(),
  engine: z.string().optional(),
  version: z.string().optional(),
  sizeGb: z.number().optional(),
  usedGb: z.number().optional(),
  state: z.enum(["Provisioning", "Available", "Modifying", "Deleting", "Failed"]).optional(),
  word: z.string().optional(),
  endpoint: z.string().optional(),
  tags: z.record(z.string(), z.string()).optional(),
  protected: z.boolean().optional(),
});

/** Answers one admin request. */
export async function handleAdmin(cloud: SimulatedCloud, request: Request, url: URL): Promise<Response> {
  try {
    return Response.json(await admin(cloud, request, url) ?? {});
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const status = error instanceof RefusalError ? error.refusal.status : 400;
    const message = error instanceof z.ZodError ? inOneLine(error) : error.message;
    return Response.json({ error: { code: "InvalidParameter", message } }, { status });
  }
}

/** Each field that is wrong, and why. */
function inOneLine({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => path.length === 0 ? message : `${path.join(".")}: ${message}`)
    .join("; ");
}

async function admin(cloud: SimulatedCloud, request: Request, url: URL): Promise<unknown> {
  const { ledger, faults } = cloud;
  cloud.advance();
  const query = url.searchParams;
  const since = Number(query.get("since") ?? 0);
  const uid = query.get("uid");
  const who = { since, ...(uid === null ? {} : { uid }) };
  const [, , thing, id] = url.pathname.split("/").map(decodeURIComponent);
  switch (`${request.method} ${thing}${id === undefined ? "" : "/id"}`) {
    case "GET calls": {
      const verb = query.get("verb") as Verb | null;
      return { mark: ledger.mark(), items: ledger.calls({ ...who, ...(verb === null ? {} : { verb }) }) };
    }
    case "GET effects": {
      const kind = query.get("kind") as Effect["kind"] | null;
      return { mark: ledger.mark(), items: ledger.effects({ ...who, ...(kind === null ? {} : { kind }) }) };
    }
    case "DELETE ledger":
      return ledger.clear();
    case "GET databases":
      return { items: cloud.databases() };
    case "POST databases":
      return cloud.insert(defined(edit.parse(await body(request))));
    case "PATCH databases/id":
      return cloud.edit(id!, defined(edit.omit({ name: true }).parse(await body(request))) as ConsoleEdit);
    case "DELETE databases/id":
      return cloud.remove(id!);
    case "GET snapshots":
      return { items: cloud.snapshots() };
    case "GET settings":
      return cloud.settings;
    case "PATCH settings":
      cloud.configure(await body(request) as Partial<CloudSettings>);
      return cloud.settings;
    case "GET faults":
      return { items: faults.list() };
    case "POST faults":
      faults.add(faultRule.parse(await body(request)) as FaultRule);
      return { items: faults.list() };
    case "DELETE faults":
      faults.clear();
      return { items: [] };
    default:
      throw new RefusalError({
        status: 404,
        code: "NotFound",
        message: `There is no ${request.method} ${url.pathname}`,
      });
  }
}

async function body(request: Request): Promise<unknown> {
  return JSON.parse(await readBounded(request));
}

/** The fields that are given. */
function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
