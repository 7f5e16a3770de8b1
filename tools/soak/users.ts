/**
 * Users of the API server: they create, edit, annotate, pause, delete and re-create at a bounded rate, and take every
 * answer as it comes, for the server is killed under them.
 *
 * @module
 */
import { ANNOTATION, GROUP, KIND, PLURAL, VERSION } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import type { Random } from "../../src/core/random.ts";
import type { Kube } from "../../tests-real/support/kube.ts";
import type { Figures } from "./figures.ts";

/** How long a request may take, in milliseconds. */
const LIMIT_MS = 10_000;
/** Requests in flight at most. */
const IN_FLIGHT = 32;
const FINAL_VERSION = 9;

interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** What users want of one name; only ever grows, as databases do. */
interface Wish {
  sizeGb: number;
  minor: number;
}

/** The deeds and how often they are drawn, in parts of their sum. */
const DEEDS: readonly (readonly [Deed, number])[] = [
  ["grow", 30],
  ["upgrade", 10],
  ["reconcile", 20],
  ["label", 10],
  ["pause", 4],
  ["resume", 4],
  ["retain", 2],
  ["delete", 14],
  ["replace", 6],
];

type Deed = "grow" | "upgrade" | "reconcile" | "label" | "pause" | "resume" | "retain" | "delete" | "replace";

/** Some people with kubectl. */
export class Users {
  /** UIDs of resources whose deletion was asked for. */
  readonly asked = new Set<string>();
  /**
   * UIDs of resources that the API server removed at once when they were deleted, or may have, for it did not answer.
   * It looks at the finalizers when a DELETE begins and removes the object some moments later, whatever was written
   * in between (src/statechart/vanished.ts): then no finalizer holds the resource of a database that is being made.
   */
  readonly removedAtOnce = new Set<string>();
  readonly #wishes = new Map<string, Wish>();
  readonly #path: string;
  #serial = 0;

  constructor(
    private readonly kube: Kube,
    readonly namespace: string,
    private readonly count: number,
    private readonly random: Random,
    private readonly figures: Figures,
  ) {
    this.#path = `/apis/${GROUP}/${VERSION}/namespaces/${namespace}/${PLURAL}`;
  }

  /** Creates every name that is not there. Resolves with the number of those that are still missing. */
  async createAll(signal: AbortSignal): Promise<number> {
    const names = Array.from({ length: this.count }, (_, i) => `db-${i}`);
    let missing = 0;
    const worker = async () => {
      for (let name = names.pop(); name !== undefined && !signal.aborted; name = names.pop()) {
        const { status } = await this.#create(name);
        if (status !== 201 && status !== 409) missing++;
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    return missing;
  }

  /** Does things, `rate` a second, until the signal aborts. */
  async churn(rate: number, signal: AbortSignal): Promise<void> {
    const open = new Set<Promise<void>>();
    while (!signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 1_000 / rate));
      if (open.size >= IN_FLIGHT) continue; // the server is slow or away: no more than this waits for it
      const one = this.#act(`db-${Math.floor(this.random.next() * this.count)}`);
      open.add(one);
      void one.finally(() => open.delete(one));
    }
    await Promise.all(open);
  }

  /** Lets every resource go on that is paused. Rejects while the server is away. */
  async resumeAll(): Promise<void> {
    for (const { metadata, spec } of await this.list()) {
      if (!spec.paused) continue;
      const { status } = await this.#merge(metadata.name, { spec: { paused: false } });
      if (status !== 200 && status !== 404) {
        throw new Error(`Resuming ${metadata.name} failed with ${status}`);
      }
    }
  }

  /** Every resource. Rejects while the server is away. */
  async list(): Promise<ExternalDatabase[]> {
    const { status, body } = await this.#request("GET", this.#path);
    if (status !== 200) throw new Error(`Listing the resources failed with ${status}`);
    return body.items;
  }

  async #act(name: string): Promise<void> {
    const deed = this.#draw();
    const status = await this.#do(name, deed);
    this.figures.deeds.add(deed);
    this.figures.answers.add(String(status));
    if (status !== 404) return;
    this.figures.deeds.add("create");
    this.figures.answers.add(String((await this.#create(name)).status));
  }

  #draw(): Deed {
    let at = this.random.next() * DEEDS.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [deed, weight] of DEEDS) {
      at -= weight;
      if (at < 0) return deed;
    }
    return "grow";
  }

  async #do(name: string, deed: Deed): Promise<number> {
    const wish = this.#wishOf(name);
    const annotate = (key: string) => ({ metadata: { annotations: { [key]: `${++this.#serial}` } } });
    switch (deed) {
      case "grow":
        wish.sizeGb += 1 + Math.floor(this.random.next() * 5);
        return (await this.#merge(name, { spec: { sizeGb: wish.sizeGb } })).status;
      case "upgrade":
        wish.minor = Math.min(wish.minor + 1, FINAL_VERSION);
        return (await this.#merge(name, { spec: { version: `14.${wish.minor}` } })).status;
      case "reconcile":
        return (await this.#merge(name, annotate(ANNOTATION.reconcile))).status;
      case "label":
        return (await this.#merge(name, annotate("example.com/note"))).status;
      case "pause":
      case "resume":
        return (await this.#merge(name, { spec: { paused: deed === "pause" } })).status;
      case "retain":
        return (await this.#merge(name, { spec: { deletionPolicy: "Retain" } })).status;
      case "delete":
        return await this.#delete(name);
      case "replace": {
        const status = await this.#delete(name);
        if (status === 200) await this.#create(name); // mostly 409: it is still terminating
        return status;
      }
    }
  }

  #wishOf(name: string): Wish {
    const wish = this.#wishes.get(name) ?? { sizeGb: 20, minor: 2 };
    this.#wishes.set(name, wish);
    return wish;
  }

  #create(name: string): Promise<Answer> {
    const wish: Wish = { sizeGb: 20, minor: 2 };
    this.#wishes.set(name, wish);
    return this.#request("POST", this.#path, {
      apiVersion: `${GROUP}/${VERSION}`,
      kind: KIND,
      metadata: { name },
      spec: { engine: "postgres", version: `14.${wish.minor}`, sizeGb: wish.sizeGb },
    });
  }

  async #delete(name: string): Promise<number> {
    const { status, body } = await this.#request("GET", `${this.#path}/${name}`);
    if (status !== 200) return status;
    const { uid } = body.metadata;
    this.asked.add(uid); // before it is sent: the answer may be lost
    const answer = await this.#request("DELETE", `${this.#path}/${name}`, { preconditions: { uid } });
    const unknown = answer.status === 0 || answer.status >= 500;
    if (unknown || answer.body?.kind === "Status" && answer.status === 200) this.removedAtOnce.add(uid);
    return answer.status;
  }

  #merge(name: string, patch: unknown): Promise<Answer> {
    return this.#request("PATCH", `${this.#path}/${name}`, patch, "application/merge-patch+json");
  }

  /** One request; status 0 when there was no answer. */
  async #request(method: string, path: string, body?: unknown, type = "application/json"): Promise<Answer> {
    try {
      const answer = await this.kube.fetch(path, {
        method,
        signal: AbortSignal.timeout(LIMIT_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": type } }),
      });
      const text = await answer.text();
      return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : undefined };
    } catch {
      return { status: 0, body: undefined };
    }
  }
}
