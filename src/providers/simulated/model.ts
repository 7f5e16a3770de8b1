/**
 * The rules of the cloud (cloud-api.md), applied at one moment: what a call does, and what happens by itself later.
 *
 * Knows neither latency nor faults nor callers that wait; `cloud.ts` puts those around it.
 *
 * @module
 */
import { TAG } from "../../api/constants.ts";
import { jitter, type Random } from "../../core/random.ts";
import { checkCreate, checkModify } from "./bodies.ts";
import type { Effect, Ledger } from "./ledger.ts";
import { firstLogin, passwordDigest, settleLogin } from "./logins.ts";
import { reportedEngine, reportedVersion } from "./reported.ts";
import type { CloudSettings } from "./settings.ts";
import { conflict, invalid, listPage, notFound, Store, view } from "./store.ts";
import type { Job, Timeline } from "./timeline.ts";
import { TokenBook } from "./tokens.ts";
import { RefusalError } from "./types.ts";
import type { CloudAnswer, CloudCall, CloudRecord, CreateBody, InfoView, ModifyBody } from "./types.ts";
import type { SnapshotRecord } from "./types.ts";
import { compareVersions, isVersionPrefix, nextMinor } from "./versions.ts";

/** What became of a call. */
export interface Applied {
  readonly answer: CloudAnswer;
  readonly effect: "none" | "done" | "replayed" | "refused";
  readonly id?: string | undefined;
  readonly uid?: string | undefined;
}

/** What the model works on and with. */
export interface ModelParts {
  readonly settings: CloudSettings;
  readonly random: Random;
  readonly timeline: Timeline;
  readonly ledger: Ledger;
  /** Wall milliseconds of a monotonic moment. */
  readonly wall: (at: number) => number;
}

/** Who calls, and when. */
export interface CallContext {
  readonly account: string;
  readonly caller: string | undefined;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** The cloud's content and rules. */
export class CloudModel {
  readonly store = new Store();
  readonly tokens: TokenBook;
  readonly snapshots: SnapshotRecord[] = [];
  seq = 0;
  /** Rises with everything that is worth keeping on disk. */
  revision = 0;

  constructor(private readonly parts: ModelParts) {
    this.tokens = new TokenBook(parts.settings);
  }

  /** Applies one call; a refusal is an answer too. */
  apply(call: CloudCall, context: CallContext): Applied {
    if (call.verb === "create" || call.verb === "modify" || call.verb === "delete") this.revision++;
    try {
      switch (call.verb) {
        case "info":
          return { answer: { status: 200, body: this.#info(context.account) }, effect: "none" };
        case "get":
          return this.#shown(200, this.#own(call.id, context.account), "none");
        case "list": {
          const { account, at: now } = context;
          const { tags, limit, pageToken } = call;
          const body = listPage(this.store, this.parts.settings, { account, tags, limit, pageToken, now });
          return { answer: { status: 200, body }, effect: "none" };
        }
        case "create":
          return this.#create(checkCreate(call.body), context);
        case "modify":
          return this.#modify(this.#own(call.id, context.account), checkModify(call.body), context);
        case "delete":
          return this.#delete(this.#own(call.id, context.account), call.finalSnapshot, context);
      }
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      const { refusal } = error;
      return { answer: { status: refusal.status, refusal }, effect: "refused" };
    }
  }

  #info(account: string): InfoView {
    const s = this.parts.settings;
    if (!s.describesItself) throw new RefusalError({ status: 404, code: "NotFound", message: "Not found" });
    return {
      account,
      clientTokens: s.clientTokens,
      readLagSeconds: s.readLagMs / 1000,
      effectBoundSeconds: s.effectBoundMs / 1000,
      passwords: s.passwords,
      snapshots: s.snapshots,
      ...(s.protectable ? { deletionProtection: true as const } : {}),
    };
  }

  #own(id: string, account: string): CloudRecord {
    const record = this.store.get(id);
    if (record === undefined || record.account !== account) throw notFound(id);
    return record;
  }

  #shown(status: number, record: CloudRecord, effect: Applied["effect"]): Applied {
    const body = view(record, this.parts.settings);
    return { answer: { status, body }, effect, id: record.id, uid: record.tags[TAG.uid] };
  }

  #create(body: CreateBody, context: CallContext): Applied {
    const { settings } = this.parts;
    const { account, at } = context;
    const firstId = this.tokens.use(body, account, at);
    if (firstId !== undefined) {
      const first = this.store.get(firstId);
      if (first === undefined) {
        throw conflict("TokenUsed", `The client token was used for ${firstId}, which is gone`);
      }
      return this.#shown(200, first, "replayed");
    }
    if (settings.engines !== null) {
      const versions = settings.engines[body.engine.toLowerCase()];
      if (versions === undefined) throw invalid(`Engine ${body.engine} is not offered`);
      if (!versions.some((v) => isVersionPrefix(v, body.version))) {
        throw invalid(`Version ${body.version} of ${body.engine} is not offered`);
      }
    }
    const record = this.insert({ ...body, tags: { ...body.tags } }, at, account);
    this.tokens.remember(body, account, record.id, at);
    this.#end("provisioned", record, at, settings.provisionMs);
    this.record("create", "api", record, at, "", context.caller, body.clientToken);
    return this.#shown(201, record, "done");
  }

  /** Puts a new database in `Provisioning` in, without a ledger entry and without an end to the provisioning. */
  insert(
    body: Omit<CreateBody, "tags"> & { tags: Record<string, string> },
    at: number,
    account: string,
  ): CloudRecord {
    const { settings, random, wall } = this.parts;
    const seq = ++this.seq;
    const noise = Math.floor(random.next() * 0x1_0000_0000).toString(16).padStart(8, "0");
    const record: CloudRecord = {
      seq,
      id: `db-${noise}${seq.toString(16).padStart(4, "0")}`, // the counter in it makes it unique for ever
      account,
      name: body.name,
      engine: reportedEngine(body.engine, settings),
      version: reportedVersion(body.version, settings),
      sizeGb: body.sizeGb,
      state: "Provisioning",
      tags: body.tags,
      createdAt: wall(at),
      updatedAt: wall(at),
      listedFrom: at + settings.readLagMs * (0.5 + 0.45 * random.next()), // always below what is promised
      protected: (settings.protectable ? body.deletionProtection : undefined) ?? settings.deletionProtection,
      ...firstLogin(body),
      op: 0,
    };
    this.store.add(record);
    return record;
  }

  #modify(record: CloudRecord, body: ModifyBody, context: CallContext): Applied {
    const { settings } = this.parts;
    const { at } = context;
    if (record.state !== "Available") {
      throw conflict("InvalidState", `Database ${record.id} is ${record.state}`);
    }
    if (body.sizeGb !== undefined && body.sizeGb < record.sizeGb) {
      throw invalid(`sizeGb cannot shrink from ${record.sizeGb} to ${body.sizeGb}`);
    }
    const { version } = body;
    const satisfied = version !== undefined && isVersionPrefix(version, record.version);
    if (version !== undefined && !satisfied && compareVersions(version, record.version) < 0) {
      throw invalid(`version cannot go down from ${record.version} to ${version}`);
    }
    if (body.tags !== undefined) {
      const tags = { ...record.tags };
      for (const [key, value] of Object.entries(body.tags)) {
        if (value === null) delete tags[key];
        else tags[key] = value;
      }
      this.store.setTags(record, tags);
    }
    if (settings.protectable && body.deletionProtection !== undefined) {
      record.protected = body.deletionProtection;
    }
    if (body.sizeGb !== undefined || version !== undefined || body.masterPassword !== undefined) {
      record.state = "Modifying";
      record.word = undefined; // whatever else is the matter, a change under way is what it says
      const pending: { version?: string; sizeGb?: number } = {};
      if (version !== undefined && !satisfied && !settings.stubborn.includes("version")) {
        pending.version = reportedVersion(version, settings);
      }
      if (body.sizeGb !== undefined && !settings.stubborn.includes("sizeGb")) pending.sizeGb = body.sizeGb;
      record.pending = pending;
      if (body.masterPassword !== undefined) record.nextPassword = passwordDigest(body.masterPassword);
      this.#end("modified", record, at, settings.modifyMs);
    }
    record.updatedAt = this.parts.wall(at);
    const { masterPassword: _secret, ...told } = body;
    this.record("modify", "api", record, at, JSON.stringify(told), context.caller);
    return this.#shown(200, record, "done");
  }

  #delete(record: CloudRecord, snapshot: string | undefined, context: CallContext): Applied {
    const { at, account } = context;
    if (record.state === "Deleting") return this.#shown(202, record, "replayed");
    if (record.state === "Provisioning" || record.state === "Modifying") {
      throw conflict("InvalidState", `Database ${record.id} is ${record.state}`);
    }
    if (record.protected) {
      throw conflict("DeletionProtected", `Database ${record.id} has deletion protection`);
    }
    if (snapshot !== undefined) {
      if (!this.parts.settings.snapshots) throw invalid("This cloud takes no final snapshots");
      if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/.test(snapshot)) {
        throw invalid("finalSnapshot is not a valid name");
      }
      const known = this.snapshots.find((s) => s.account === account && s.name === snapshot);
      if (known !== undefined && known.databaseId !== record.id) {
        throw conflict("SnapshotExists", `Snapshot ${snapshot} is of ${known.databaseId}`);
      }
      if (known === undefined) {
        const { snapshotFailures } = this.parts.settings;
        if (snapshotFailures > 0 && this.parts.random.next() < snapshotFailures) {
          throw conflict("SnapshotFailed", `The snapshot ${snapshot} of ${record.id} failed`);
        }
        this.snapshots.push({ name: snapshot, account, databaseId: record.id, at });
      }
    }
    record.state = "Deleting";
    record.word = undefined;
    record.updatedAt = this.parts.wall(at);
    this.#end("gone", record, at, this.parts.settings.deleteMs);
    this.record(
      "delete",
      "api",
      record,
      at,
      snapshot === undefined ? "" : `snapshot ${snapshot}`,
      context.caller,
    );
    return this.#shown(202, record, "done");
  }

  #end(kind: "provisioned" | "modified" | "gone", record: CloudRecord, at: number, ms: number): void {
    const due = at + Math.max(0, jitter(this.parts.random, ms, this.parts.settings.jitter));
    this.parts.timeline.push({ kind, id: record.id, op: ++record.op, at: due });
  }

  /** Lets the end of an operation, or what the cloud does by itself, happen. */
  finish(job: Exclude<Job, { kind: "call" }>): void {
    const record = this.store.get(job.id);
    if (record === undefined) return;
    this.revision++;
    if ("op" in job && job.op !== record.op) return; // a person at the console was faster
    const { settings, timeline, wall } = this.parts;
    switch (job.kind) {
      case "provisioned": {
        const fails = settings.provisionFailures > 0 && this.parts.random.next() < settings.provisionFailures;
        record.state = fails ? "Failed" : "Available";
        if (fails) break;
        record.endpoint = `${record.id}.db.example:${
          record.engine.toLowerCase().startsWith("my") ? 3306 : 5432
        }`;
        const { id } = record;
        const { autogrowAfterMs: grow, minorUpgradeAfterMs: upgrade } = settings;
        if (grow > 0) timeline.push({ kind: "autogrow", id, at: job.at + grow });
        if (upgrade > 0) timeline.push({ kind: "minorUpgrade", id, at: job.at + upgrade });
        break;
      }
      case "modified":
        record.state = "Available";
        record.version = record.pending?.version ?? record.version;
        if (record.pending?.sizeGb !== undefined) {
          record.sizeGb = Math.max(record.sizeGb, record.pending.sizeGb);
          record.word = undefined;
        }
        record.pending = undefined;
        settleLogin(record);
        break;
      case "gone":
        this.drop(record, job.at, "api");
        return;
      case "autogrow":
        record.sizeGb = Math.ceil(record.sizeGb * 1.75);
        this.record("change", "cloud", record, job.at, `grew to ${record.sizeGb}`);
        break;
      case "minorUpgrade":
        record.version = nextMinor(record.version);
        this.record("change", "cloud", record, job.at, `moved to version ${record.version}`);
        break;
    }
    record.updatedAt = wall(job.at);
  }

  /** Takes a database away. */
  drop(record: CloudRecord, at: number, by: Effect["by"]): void {
    this.store.remove(record);
    this.record("gone", by, record, at, "");
  }

  /** Writes a change to the ledger. */
  record(
    kind: Effect["kind"],
    by: Effect["by"],
    record: CloudRecord,
    at: number,
    detail: string,
    caller?: string,
    clientToken?: string,
  ): void {
    this.revision++;
    const { id, account } = record;
    const uid = record.tags[TAG.uid];
    this.parts.ledger.effect({
      at,
      kind,
      by,
      id,
      uid,
      account,
      caller,
      clientToken,
      tags: { ...record.tags },
      detail,
    });
  }
}
