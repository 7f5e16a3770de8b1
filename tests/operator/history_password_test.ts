/**
 * No password is in an actor's history (rule 25).
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import { History } from "../../src/operator/history/history.ts";
import { ProviderError } from "../../src/providers/port.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import { inStep } from "../support/fleet.ts";
import { inWorld } from "../support/world.ts";

Deno.test("rule 25: a password that a provider says again is not in the history", () =>
  inWorld({ passwords: "always" }, async (world) => {
    const inner = createSimulatedProvider(world.cloud, { clock: world.clock });
    const history = new History(world.clock);
    const sent = new Set<string>();
    world.start({
      history,
      provider: {
        ...inner,
        modify: (id, request, o) => {
          if (request.password === undefined || sent.size > 0) return inner.modify(id, request, o);
          sent.add(request.password);
          throw new ProviderError("rejected", `The password ${request.password} is too short`);
        },
      },
    });
    await inStep(world);
    world.cluster.annotate("default", "orders", { [ANNOTATION.rotatePassword]: "1" });
    await world.run(60_000);
    assertEquals(sent.size, 1);
    const text = JSON.stringify(history.of(world.get("orders")!.metadata.uid));
    assert(text.includes("is too short"), text);
    for (const password of sent) assert(!text.includes(password), "the history tells the password");
  }));
