import { AsyncLocalStorage } from "node:async_hooks";
import { assert, assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import type { OpenSpan, SpanFacts, Tracing } from "../../src/core/tracing.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import { inWorld } from "../support/world.ts";

interface Told {
  readonly name: string;
  readonly parent: Told | undefined;
  facts: SpanFacts;
  error?: unknown;
  ended: number;
}

/** Tracing that keeps every span. */
class Kept implements Tracing {
  readonly on = true;
  readonly spans: Told[] = [];
  readonly #current = new AsyncLocalStorage<Told | undefined>();

  get current(): Told | undefined {
    return this.#current.getStore();
  }

  async span<T>(
    name: string,
    { facts }: Parameters<Tracing["span"]>[1],
    work: (span: { set(facts: SpanFacts): void }) => Promise<T>,
  ): Promise<T> {
    const told = this.#begin(name, this.current, facts?.() ?? {});
    try {
      return await this.#current.run(told, () => work({ set: (f) => void Object.assign(told.facts, f) }));
    } catch (error) {
      told.error = error;
      throw error;
    } finally {
      told.ended++;
    }
  }

  open(name: string, facts: SpanFacts): OpenSpan {
    const told = this.#begin(name, undefined, facts);
    return {
      set: (f) => void Object.assign(told.facts, f),
      within: (work) => this.#current.run(told, work),
      end: () => void told.ended++,
    };
  }

  bind<T>(work: () => T): () => T {
    const now = this.current;
    return () => this.#current.run(now, work);
  }

  ids() {
    return undefined;
  }

  #begin(name: string, parent: Told | undefined, facts: SpanFacts): Told {
    const told: Told = { name, parent, facts: { ...facts }, ended: 0 };
    this.spans.push(told);
    return told;
  }
}

const uidOf = (span: Told | undefined): unknown => {
  while (span && span.name !== "pass") span = span.parent;
  return span?.facts["externaldatabase.uid"];
};

Deno.test("a call is inside of its own actor's pass, whoever's end starts it; every pass ends once and says where it led", () =>
  inWorld({ latencyMs: 50 }, async (world) => {
    const tracing = new Kept();
    const provider = createSimulatedProvider(world.cloud, { clock: world.clock });
    const strays: string[] = [];
    let creates = 0;
    world.start({
      tracing,
      concurrency: 1,
      provider: {
        ...provider,
        name: provider.name,
        info: (o) => provider.info(o),
        get: (id, o) => provider.get(id, o),
        list: (o) => provider.list(o),
        modify: (id, r, o) => provider.modify(id, r, o),
        delete: (id, o) => provider.delete(id, o),
        create: (request, options) => {
          creates++;
          const { current } = tracing;
          if (uidOf(current) !== request.tags[TAG.uid]) strays.push(`${current?.name} of ${uidOf(current)}`);
          assertEquals([current?.name, current?.parent?.name], ["cloud create", "create"]);
          return provider.create(request, options);
        },
      },
    });
    await world.run(1_000);
    const names = Array.from({ length: 8 }, (_, i) => `db-${i}`);
    for (const name of names) world.cluster.create("default", name);
    await world.available(...names);
    assertEquals([creates, strays], [8, []]);
    const queued = tracing.spans.filter((s) => s.name === "cloud create").map((s) =>
      Number(s.facts["externaldatabase.queued_ms"])
    );
    assert(Math.max(...queued) >= 100, "they waited for each other");
    world.cluster.delete("default", "db-0");
    await world.until("it is gone", () => world.get("db-0") === undefined);
    await world.run(1_000);
    const passes = tracing.spans.filter((s) => s.name === "pass");
    assertEquals(passes.filter((s) => s.ended !== 1), []);
    assertEquals(tracing.spans.filter((s) => s.ended !== 1), []);
    const led = passes.map((s) => s.facts["externaldatabase.to"]);
    assert(led.includes("Available") && led.includes("Finalized"), `${new Set(led)}`);
    assert(passes.length < 12 * names.length, `${passes.length} passes`);
  }));

Deno.test("a call that fails is told by its span with the outcome, and so is its effect", () =>
  inWorld({}, async (world) => {
    const tracing = new Kept();
    world.start({ tracing });
    await world.run(1_000);
    world.cloud.faults.add({ verbs: ["create"], fault: { answer: REFUSALS.throttled }, times: 1 });
    world.cluster.create("default", "orders");
    await world.available("orders");
    const [first] = tracing.spans.filter((s) => s.name === "cloud create");
    assertEquals(first?.facts["externaldatabase.outcome"], "throttled");
    assert(first?.error !== undefined && first.parent?.error !== undefined);
  }));

Deno.test("F4: the pass of an actor that crashes in it ends, also where its resource goes before it is started again", () =>
  inWorld({ latencyMs: 50 }, async (world) => {
    const tracing = new Kept();
    const process = world.start({ tracing });
    await world.run(500); // the account is known
    world.cluster.create("default", "orders", {});
    const creating = () => tracing.spans.some(({ name, ended }) => name === "cloud create" && ended === 0);
    await world.until("a create is under way", creating, 5_000, 10);
    world.cluster.setStatus("default", "orders", { conditions: 7 } as never);
    await world.until("crashed", () => world.lines.some((l) => /actor crashed/.test(l.message)), 5_000, 10);
    world.cluster.vanish("default", "orders");
    await world.until("gone", () => process.operator.supervisor.size === 0);
    const passes = tracing.spans.filter(({ name }) => name === "pass");
    assert(passes.length > 0);
    assertEquals(passes.map(({ ended }) => ended), passes.map(() => 1));
  }));
