/**
 * What the operator's HTTP API says, as JSON: one set of types for the server, the page and the terminal.
 *
 * Promised of all of it: read-only; no secret; times are RFC 3339, durations are milliseconds; text that comes from a
 * resource or a cloud is given as it is and is to be shown as text. An absent field is not known or does not apply.
 *
 * | path | answer |
 * | --- | --- |
 * | `GET /api/databases?namespace=&state=&reason=&class=&ready=&q=&offset=&limit=` | {@linkcode FleetAnswer} |
 * | `GET /api/fleet` | {@linkcode FleetSnapshot}: the whole fleet, to begin with, for {@linkcode StreamEvents} to keep in step |
 * | `GET /api/databases/{namespace}/{name}` | {@linkcode DatabaseDetail} |
 * | `GET /api/databases/{namespace}/{name}/history` | {@linkcode HistoryAnswer} |
 * | `GET /api/chart` | {@linkcode ChartAnswer} |
 * | `GET /api/orphans` | `{ items: OrphanRow[] }` |
 * | `GET /api/stream?database={namespace}/{name}&cursor=` | server-sent events, {@linkcode StreamEvents}; both are optional; `cursor`, a snapshot's, stands for `Last-Event-ID` where that is absent |
 *
 * @module
 */
import type { FleetRow, OrphanRow } from "../fleet.ts";

/** A part of the fleet, by namespace and name. */
export interface FleetAnswer {
  readonly total: number;
  readonly offset: number;
  readonly limit: number;
  readonly items: readonly FleetRow[];
}

/** The whole fleet at one moment. */
export interface FleetSnapshot {
  /** Where to begin the stream: the `id` of the last server-sent event that is in here; what comes after it is newer. */
  readonly cursor: string;
  readonly at: string;
  readonly rows: readonly FleetRow[];
  readonly summary: FleetSummary;
}

/** What is known of the fleet as a whole; sent about once a second while it changes. */
export interface FleetSummary {
  readonly at: string;
  readonly phase: "leading" | "standby" | "starting" | "stopping";
  readonly total: number;
  /** Resources by top-level state. */
  readonly states: Readonly<Record<string, number>>;
  /** Resources by reason of the condition that says most (`Ready`, or `Synced` where that is True). */
  readonly reasons: Readonly<Record<string, number>>;
  /** By `spec.className`; `""` is none. */
  readonly classes: Readonly<Record<string, number>>;
  /** Resources that wait for a person, by reason. */
  readonly attention: Readonly<Record<string, number>>;
  readonly orphans: number;
  readonly accounts: readonly AccountSummary[];
  /** Actors in each configuration of the statechart, by dotted path such as `Available.idle`. */
  readonly configurations: Readonly<Record<string, number>>;
  /** Transitions since the start and in the last minute, by `from` and `to` as dotted paths of the statechart. */
  readonly flow: readonly TransitionFlow[];
}

/** How often one transition was taken. */
export interface TransitionFlow {
  readonly from: string;
  readonly to: string;
  readonly total: number;
  readonly lastMinute: number;
}

/** One account of a provider: what it may be asked, and what it is asked. */
export interface AccountSummary {
  /** `""` for the one of the operator's flags, else the name of an `ExternalDatabaseClass`. */
  readonly class: string;
  readonly provider: string;
  readonly identity?: string | undefined;
  /** Calls that wait, by lane: `urgent`, `create`, `followUp`, `poll`. */
  readonly queue: Readonly<Record<string, number>>;
  readonly running: number;
  readonly concurrency: number;
  /** Starts a second that are allowed; 0 is no limit. */
  readonly ratePerSecond: number;
  /** Calls in the last minute by verb. */
  readonly callsLastMinute: Readonly<Record<string, number>>;
  /** Calls in the last minute that failed, by error class. */
  readonly failuresLastMinute: Readonly<Record<string, number>>;
  /** Throttled until then. */
  readonly pausedUntil?: string | undefined;
  /** When the last complete list was begun. */
  readonly lastListAt?: string | undefined;
}

/** One field of a spec beside what was observed of it. */
export interface FieldComparison {
  /** Such as `sizeGb`. */
  readonly field: string;
  readonly wanted?: string | undefined;
  readonly observed?: string | undefined;
  /** `same`, `differs`, or `unknown` where nothing was observed. */
  readonly verdict: "same" | "differs" | "unknown";
}

/** A condition of the status, with when the actor tries next. */
export interface ConditionView {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly since?: string | undefined;
  /** Not written to the cluster yet. */
  readonly unwritten: boolean;
}

/** Everything about one resource. */
export interface DatabaseDetail {
  readonly row: FleetRow;
  /** Active states of the statechart as dotted paths, outermost first: `["Available", "Available.idle"]`. */
  readonly configuration: readonly string[];
  readonly asleep: boolean;
  readonly fields: readonly FieldComparison[];
  readonly conditions: readonly ConditionView[];
  readonly generation: number;
  readonly observedGeneration?: number | undefined;
  readonly deletionRequestedAt?: string | undefined;
  readonly policies: Readonly<Record<string, string>>;
  readonly nextTryAt?: string | undefined;
  /** Effects that failed and are to be tried again. */
  readonly failures: readonly {
    readonly effect: string;
    readonly errorClass: string;
    readonly message: string;
    readonly attempts: number;
    readonly tryAt: string;
  }[];
  readonly cache: {
    readonly kind: "present" | "absent" | "none";
    /** When the read that is cached was sent. */
    readonly readAt?: string | undefined;
    readonly ageMs?: number | undefined;
  };
  readonly history: HistoryAnswer;
}

/** What one actor went through, oldest first. */
export interface HistoryAnswer {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Entries that were dropped because the ring is full. */
  readonly dropped: number;
  /** When the resource went from the cluster; its history is kept for a while. */
  readonly goneAt?: string | undefined;
  readonly entries: readonly HistoryEntry[];
}

/** One step of an actor: it took in an event, and went where it led. */
export interface HistoryEntry {
  /** Counts up from 1 for the actor's resource in this process; stable while the entry lives. */
  readonly n: number;
  readonly at: string;
  /** Name of the event, such as `object.changed`, `external.listed`, `modify done`, `timer`. */
  readonly event: string;
  /** What brought it, in words: which watch event, which list, which answer. */
  readonly cause: string;
  /** Configuration before and after, as a dotted path. Equal where the event was only taken in. */
  readonly from: string;
  readonly to: string;
  /** The states passed in between, such as `Available.deciding`. */
  readonly via: readonly string[];
  /** How long the actor had been in `from`, in milliseconds. */
  readonly durationMs: number;
  /** `metadata.generation` of the resource then. */
  readonly generation: number;
  /** Reason of `Ready` and of `Synced` after it. */
  readonly ready: string;
  readonly synced: string;
  /** Calls that the state which was left had made; they ended with this step. */
  readonly calls: readonly CallRecord[];
  /**
   * Steps like this one that followed and were folded into it; times are those of the first. Where two steps take turns,
   * such as a wait and a try that fails, both count. @default 0
   */
  readonly repeated?: number | undefined;
  /** When the last of them was made. */
  readonly lastAt?: string | undefined;
}

/** One call to the cloud or to the Kubernetes API. */
export interface CallRecord {
  readonly to: "cloud" | "kubernetes";
  /** Verb of the port: `create`, `modify`, `patchStatus`, …. */
  readonly verb: string;
  /** `ok`, or the class of the error. */
  readonly outcome: string;
  /** The error's message, or what was changed, in words; never a secret. */
  readonly detail?: string | undefined;
  readonly at: string;
  readonly durationMs: number;
}

/** The statechart of the machine that runs, as the page draws it. */
export interface ChartAnswer {
  /** Name of the machine. */
  readonly id: string;
  /** The top-level states, in the machine's order. */
  readonly states: readonly ChartTop[];
  /** Which top-level state leads to which: one for each ordered pair that the machine has. */
  readonly moves: readonly ChartMove[];
}

/** One top-level state. */
export interface ChartTop {
  /** Its path, such as `Available`. */
  readonly path: string;
  /** What it means, in a sentence; empty where nobody said. */
  readonly description: string;
  /** Its number, for its colour. */
  readonly family: number;
  readonly initial: boolean;
  readonly final: boolean;
  /** The states inside it. */
  readonly steps: readonly ChartStep[];
  /** What is inside it, laid out; absent where it has nothing inside. */
  readonly inside?: ChartDrawing | undefined;
}

/** One state inside a top-level state. */
export interface ChartStep {
  /** Such as `Available.idle`. */
  readonly path: string;
  readonly title: string;
  /** `rest`: nothing runs; `effect`: an effect runs; `choice`: left at once. */
  readonly kind: "rest" | "effect" | "choice";
  /** It may change something at the cloud. */
  readonly mutating: boolean;
  readonly description: string;
}

/** That one top-level state may lead to another. */
export interface ChartMove {
  readonly from: string;
  readonly to: string;
  readonly guards: readonly ChartGuard[];
}

/** Why a transition is taken. */
export interface ChartGuard {
  /** What makes it happen, such as `object.changed`, `done modify`, `after rest`, `always`. */
  readonly event: string;
  /** The guard's name with its parameters; empty for none. */
  readonly guard: string;
  /** What acts on the way. */
  readonly actions: readonly string[];
  /** What that means, in words; empty where nobody said. */
  readonly meaning: string;
}

/** Boxes and arrows, laid out, in pixels at scale 1. */
export interface ChartDrawing {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly ChartNode[];
  readonly arrows: readonly ChartArrow[];
}

/** One box; places are absolute. */
export interface ChartNode {
  /** Dotted path of its state, `""` for none. */
  readonly path: string;
  readonly kind: "compound" | "state" | "bundle" | "final" | "initial" | "any";
  readonly title: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  /** Number of its top-level state, for its colour. */
  readonly family: number;
  /** What the state means, in a sentence. */
  readonly description: string;
  /** States that share the box, as dotted paths; each is drawn as a row at `y`, of height `height`. */
  readonly rows: readonly {
    readonly path: string;
    readonly text: string;
    readonly y: number;
    readonly height: number;
    readonly description: string;
  }[];
  /** Lines of text besides the title and rows, with their place. */
  readonly texts: readonly { readonly text: string; readonly x: number; readonly y: number }[];
}

/** One arrow, along its points. */
export interface ChartArrow {
  readonly from: string;
  readonly to: string;
  readonly kind: string;
  readonly points: readonly (readonly [number, number])[];
  readonly both: boolean;
  readonly label?: { readonly x: number; readonly y: number; readonly lines: readonly string[] } | undefined;
  /** Why it is taken, for a tool tip. */
  readonly guards: readonly ChartGuard[];
}

/**
 * The server-sent events by name, with their data. Every event has an `id`; a client that comes back with
 * `Last-Event-ID` (or, at first, with a snapshot's cursor) gets what it missed, or `reset` where that is no longer held,
 * or where it named none: it then asks for the fleet anew, and may go on with the same stream, for what that tells from
 * there on is in the snapshot or newer.
 * What changed is gathered for at least {@linkcode STREAM_INTERVAL_MS} and told once, in its newest form. A client
 * that does not read is cut off; one for which there is no room is answered 503 with `Retry-After`. An idle stream tells
 * a comment every 15 seconds.
 */
export interface StreamEvents {
  /** Rows that are new or changed, and UIDs of resources that went. */
  readonly rows: { readonly changed: readonly FleetRow[]; readonly gone: readonly string[] };
  readonly summary: FleetSummary;
  /** The database that was asked for, whole; `null` once it is gone. */
  readonly database: DatabaseDetail | null;
  readonly reset: Record<never, never>;
}

/** Least time between two events of one kind for one client, in milliseconds. */
export const STREAM_INTERVAL_MS = 250;

export type { FleetRow, OrphanRow };
