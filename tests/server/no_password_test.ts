/**
 * No password of a connection Secret is in anything that people or machines read of the operator: log lines in both
 * formats, Events, statuses, the page and its JSON. The whole operator runs on the embedded Kubernetes API.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { eventually } from "../support/eventually.ts";
import { embeddedApi, startFuzzRig } from "../fuzz/rig.ts";

Deno.test("rule 25: no password is in log, Event, status, page or JSON, through create, rotation, rebuilding and deletion", async () => {
  const api = await embeddedApi(customResourceDefinition());
  const rig = await startFuzzRig(api, null);
  const secretPath = `/api/v1/namespaces/${api.namespace}/secrets/orders-connection`;
  const path = `${rig.path}/orders`;
  const password = async () => {
    const { status, body } = await rig.ask("GET", secretPath);
    return status === 200 ? atob(body.data.password ?? "") : undefined;
  };
  const resource = async () => (await rig.ask("GET", path)).body;
  const ready = async () => {
    const conditions = (await resource()).status?.conditions ?? [];
    return conditions.length > 0 && conditions.every((c: { status: string }) => c.status === "True");
  };
  const merge = (body: unknown) => rig.ask("PATCH", path, body, "application/merge-patch+json");
  const known: string[] = [];
  const next = async (what: string) => {
    await eventually(what, async () => {
      const is = await password();
      if (is === undefined || is === "" || known.includes(is) || !await ready()) return false;
      return rig.cloud.loginWorks((await resource()).status.providerId, is);
    });
    known.push(await password() ?? "");
  };
  try {
    const metadata = { name: "orders", namespace: api.namespace };
    const spec = { engine: "postgres", version: "14.2", sizeGb: 20, connectionSecretRef: {} };
    const made = await rig.ask("POST", rig.path, {
      apiVersion: "crd.my.domain/v1",
      kind: "ExternalDatabase",
      metadata,
      spec,
    });
    assertEquals(made.status, 201, JSON.stringify(made.body));
    await next("created");
    await merge({ metadata: { annotations: { "db.my.domain/rotate-password": "1" } } });
    await next("rotated");
    assertEquals((await rig.ask("DELETE", secretPath)).status, 200);
    await next("rebuilt");
    const { page, json, notes } = await rig.shown();
    const objects = JSON.stringify(await rig.resources());
    const events = JSON.stringify(
      (await rig.ask("GET", `/apis/events.k8s.io/v1/namespaces/${api.namespace}/events`)).body,
    );
    const books = JSON.stringify([
      rig.cloud.ledger.calls(),
      rig.cloud.ledger.effects(),
      rig.cloud.databases(),
    ]);
    assert(page.includes("orders") && objects.includes("orders-connection"), "they speak of it");
    assertEquals(known.length, 3);
    for (const secret of known) {
      for (const text of [rig.lines.join("\n"), page, json, notes.join("\n"), objects, events, books]) {
        assert(!text.includes(secret) && !text.includes(btoa(secret)), "a password is told");
      }
    }
    await rig.ask("DELETE", path);
    await eventually("the Secret is collected with its owner", async () => await password() === undefined);
  } finally {
    await rig.close();
  }
});
