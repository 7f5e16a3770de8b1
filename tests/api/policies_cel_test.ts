/** What the API server itself refuses of the policies, on the embedded API; `tests-real/api` asks a real one the same. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { API_VERSION, GROUP, KIND, PLURAL } from "../../src/api/constants.ts";
import { withCrds } from "./embedded_crds.ts";

const AT = `/apis/${GROUP}/v1/namespaces/default/${PLURAL}`;
const SEED = { engine: "postgres", version: "14.2", sizeGb: 20 };

async function withCrd() {
  const { api, send } = await withCrds();
  const create = (name: string, spec: object) =>
    send("POST", AT, { apiVersion: API_VERSION, kind: KIND, metadata: { name }, spec: { ...SEED, ...spec } });
  const edit = (name: string, spec: object) =>
    send("PATCH", `${AT}/${name}`, { spec }, "application/merge-patch+json");
  return { api, send, create, edit };
}

Deno.test("D4: what only observes must say which, when it is made and ever after", async () => {
  const { api, send, create, edit } = await withCrd();
  const refused = ({ status, body }: Awaited<ReturnType<typeof create>>) => {
    assertEquals(status, 422, JSON.stringify(body));
    assertStringIncludes(body.message, "spec.providerId is required where managementPolicy is ObserveOnly");
  };
  refused(await create("a", { managementPolicy: "ObserveOnly" }));
  assertEquals((await create("a", { managementPolicy: "ObserveOnly", providerId: "db-1" })).status, 201);
  refused(await edit("a", { providerId: null }));
  assertEquals((await edit("a", { providerId: "db-2" })).status, 200, "nothing was recorded yet");
  assertEquals((await edit("a", { managementPolicy: "Full" })).status, 200);
  assertEquals((await create("b", {})).status, 201);
  refused(await edit("b", { managementPolicy: "ObserveOnly" }));
  const status = { status: { providerId: "db-3" } };
  const recorded = await send("PATCH", `${AT}/b/status`, status, "application/merge-patch+json");
  assertEquals(recorded.status, 200);
  assertEquals((await edit("b", { managementPolicy: "ObserveOnly", providerId: "db-9" })).status, 422);
  assertEquals((await edit("b", { managementPolicy: "ObserveOnly", providerId: "db-3" })).status, 200);
  api.close();
});

Deno.test("D5, D7: policies are of a closed list, and protection is true or false", async () => {
  const { api, create } = await withCrd();
  for (const deletionPolicy of ["Delete", "Retain", "Snapshot"]) {
    assertEquals((await create(deletionPolicy.toLowerCase(), { deletionPolicy })).status, 201);
  }
  for (
    const spec of [{ deletionPolicy: "Archive" }, { managementPolicy: "Look" }, { deletionProtection: "yes" }]
  ) {
    assertEquals((await create("x", spec)).status, 422);
  }
  api.close();
});
