/** What the API server itself refuses of classes, on the embedded API; `tests-real/api` asks a real one the same. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { API_VERSION, CLASS_KIND, CLASS_PLURAL, GROUP, KIND, PLURAL } from "../../src/api/constants.ts";
import { withCrds } from "./embedded_crds.ts";

const CLASSES = `/apis/${GROUP}/v1/${CLASS_PLURAL}`;
const AT = `/apis/${GROUP}/v1/namespaces/default/${PLURAL}`;
const MERGE = "application/merge-patch+json";
const SEED = { engine: "postgres", version: "14.2", sizeGb: 20 };

async function withClasses() {
  const { api, send } = await withCrds();
  const create = (name: string, spec: unknown) =>
    send("POST", CLASSES, { apiVersion: API_VERSION, kind: CLASS_KIND, metadata: { name }, spec });
  return { api, send, create };
}

Deno.test("A class's provider cannot change, its parameters can, and a spec that is none is refused", async () => {
  const { api, send, create } = await withClasses();
  const http = { provider: "http", parameters: { url: "https://db.example" } };
  assertEquals((await create("gold", http)).status, 201);
  const other = await send("PATCH", `${CLASSES}/gold`, { spec: { provider: "postgres" } }, MERGE);
  assertEquals(other.status, 422);
  assertStringIncludes(other.body.message, "provider cannot change");
  const moved = { spec: { parameters: { url: "https://other.example" } } };
  assertEquals((await send("PATCH", `${CLASSES}/gold`, moved, MERGE)).status, 200);
  for (
    const spec of [
      {},
      { provider: "azure" },
      { ...http, parameters: { url: 1 } },
      { ...http, credentialsSecretRef: {} },
      { ...http, credentialsSecretRef: { name: "Not_a_name" } },
      { ...http, allowed: { sizeGb: { max: 0 } } },
      { ...http, defaults: { pollInterval: "9s" } },
      { ...http, rateLimit: { perSecond: 0 } },
    ]
  ) assertEquals((await create("refused", spec)).status, 422, JSON.stringify(spec));
  api.close();
});

Deno.test("spec.className can be chosen until the database exists, and then only said as it is", async () => {
  const { api, send } = await withClasses();
  const metadata = { name: "orders" };
  const made = { apiVersion: API_VERSION, kind: KIND, metadata, spec: { ...SEED, className: "gold" } };
  assertEquals((await send("POST", AT, made)).status, 201);
  const set = (className: string | null) => send("PATCH", `${AT}/orders`, { spec: { className } }, MERGE);
  const status = (status: unknown) => send("PATCH", `${AT}/orders/status`, { status }, MERGE);
  assertEquals([(await set("silver")).status, (await set(null)).status], [200, 200]);
  assertEquals((await status({ providerId: "db-1", className: "gold" })).status, 200);
  for (const other of ["silver", ""]) {
    const refused = await set(other);
    assertEquals(refused.status, 422);
    assertStringIncludes(refused.body.message, "spec.className cannot change once the database exists");
  }
  assertEquals((await set("gold")).status, 200);
  assertEquals((await set(null)).status, 422);
  assertEquals((await status({ endpoint: "db-1.example:5432" })).status, 200);
  api.close();
});
