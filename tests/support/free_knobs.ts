/**
 * What a {@linkcode FreeCloud} keeps of a database, and what it makes of the freedom that cloud-api.md leaves.
 *
 * @module
 */

/** An object of JSON. */
export type Json = Record<string, unknown>;

/** A database in the cloud's books. */
export interface FreeRow {
  id: string;
  name: string;
  engine: string;
  version: string;
  sizeGb: number;
  tags: Record<string, string>;
  token: string | undefined;
  asked: string;
  createdMs: number;
  state: string;
  endpoint: string | null;
  pending: Json | null;
  password: string | undefined;
  /** What goes on, until when (monotonic), and what it leads to. */
  until: number;
  then: (() => void) | undefined;
}

/** What this cloud makes of its freedom. */
export interface FreeKnobs {
  clientTokens: boolean;
  /** How long a token is remembered after its last use, in milliseconds. */
  tokenMemoryMs: number;
  readLagMs: number;
  effectBoundSeconds: number;
  provisionMs: number;
  modifyMs: number;
  deleteMs: number;
  latencyMs: number;
  /** Largest page, whatever is asked for. */
  pageSize: number;
  /** An empty page with a token comes before each page. */
  emptyPages: boolean;
  /** Each page begins with the last item of the page before. */
  repeats: boolean;
  /** What is optional is null rather than absent. */
  nulls: boolean;
  /** Errors have no body where the contract gives them no code that matters. */
  bareErrors: boolean;
  /** A create is answered 202 or 200 rather than 201, a delete 200 or 204, with or without a body. */
  createStatus: number;
  deleteStatus: number;
  deleteBody: boolean;
  /** The cloud ignores the tag filter. */
  unfiltered: boolean;
  /** Tags that the cloud shows on each by itself. */
  ownTags: Record<string, string>;
  snapshots: boolean | null;
  passwords: string | null;
  account: unknown;
  /** Makes a page token. */
  tokenOf: (count: number) => unknown;
  /** Makes an id. */
  idOf: (count: number) => string;
  /** Changes what is shown of a database. */
  show: (row: FreeRow, shown: Json) => Json;
  /** May answer first. */
  intercept: (request: Request, count: number) => Response | undefined | Promise<Response | undefined>;
  /** Tells what applies a change: absent, the change takes `modifyMs` in `Modifying`. */
  onPatch: ((row: FreeRow, change: Json) => void) | undefined;
}

/** A cloud as the contract describes it, changed by `knobs`. */
export function knobsOf(knobs: Partial<FreeKnobs>): FreeKnobs {
  return {
    clientTokens: true,
    tokenMemoryMs: Number.POSITIVE_INFINITY,
    readLagMs: 0,
    effectBoundSeconds: 10,
    provisionMs: 5_000,
    modifyMs: 2_000,
    deleteMs: 2_000,
    latencyMs: 0,
    pageSize: 100,
    emptyPages: false,
    repeats: false,
    nulls: false,
    bareErrors: false,
    createStatus: 201,
    deleteStatus: 202,
    deleteBody: true,
    unfiltered: false,
    ownTags: {},
    snapshots: true,
    passwords: "asked",
    account: "acct-1",
    tokenOf: (n) => `tok/${n}+ =&?%ü`,
    idOf: (n) => `db-${n}`,
    show: (_, shown) => shown,
    intercept: () => undefined,
    onPatch: undefined,
    ...knobs,
  };
}
