/**
 * An embedded API with the CRDs installed, for what the API server itself refuses.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { classResourceDefinition, customResourceDefinition } from "../../src/api/crd.ts";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { createEmbeddedApi } from "../../src/embedded/api.ts";

/** An API with both CRDs; `send` asks it, and reads the answer. */
export async function withCrds() {
  const api = createEmbeddedApi({ clock: systemClock, random: seededRandom(1) });
  const send = async (method: string, path: string, body: unknown, type = "application/json") => {
    const answer = await api.fetch(
      new Request(`http://embedded${path}`, {
        method,
        headers: { "content-type": type },
        body: JSON.stringify(body),
      }),
    );
    return { status: answer.status, body: await answer.json() };
  };
  for (const crd of [customResourceDefinition(), classResourceDefinition()]) {
    const made = await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    assertEquals(made.status, 201, JSON.stringify(made.body));
  }
  return { api, send };
}
