/** `plan` over a folder of local databases, beside the operator that works with it. @module */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { LocalFolder } from "../../src/providers/local/folder.ts";
import { parseRecord } from "../../src/providers/local/record.ts";
import { idOf } from "../../src/providers/local/requests.ts";
import type { Plan } from "../../src/plan/types.ts";
import { onStage, plan, type Stage } from "./plan_support.ts";

/** Plans on the stage's cluster over its local folder. */
const planned = (stage: Stage, ...more: string[]) =>
  plan([
    ...["--kubeconfig", `${stage.directory}/kubeconfig`, "--cluster-id", "cluster-1"],
    ...["--provider", "local", "--local-folder", `${stage.directory}/local`, ...more],
  ]);

async function tree(path: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    names.push(
      name,
      ...(isDirectory ? (await tree(`${path}/${name}`)).map((inner) => `${name}/${inner}`) : []),
    );
  }
  return names.sort();
}

Deno.test("a plan looks at the folder of the local provider, which another process holds, and changes nothing in it", () =>
  onStage(async (stage) => {
    await Deno.chmod(stage.directory, 0o711);
    const folder = await LocalFolder.open(`${stage.directory}/local`, "acct");
    try {
      for (const name of ["same", "grows", "gone"]) {
        await stage.put(name, { spec: { sizeGb: name === "grows" ? 40 : 20 } });
      }
      for (const name of ["same", "grows"]) {
        const path = `/apis/crd.my.domain/v1/namespaces/default/externaldatabases/${name}`;
        const { metadata } = await stage.api("GET", path);
        const id = idOf(`${metadata.uid}-1`);
        await folder.save(parseRecord(JSON.stringify({
          ...{ format: 1, id, name, engine: "postgres", version: "14.2", sizeGb: 20, port: 25_432 },
          ...{ tags: stage.tags(name, metadata.uid), createdAt: "2026-01-01T00:00:00Z", request: "r" },
          ...{
            protected: false,
            phase: "ready",
            superuserPassword: "hidden",
            database: name,
            username: "dbadmin",
          },
        })));
        await stage.api("PATCH", path, { metadata: { finalizers: ["db.my.domain/finalizer"] } });
        await stage.api("PATCH", `${path}/status`, {
          status: { providerId: id, account: "local/acct", state: "Available", endpoint: "127.0.0.1:25432" },
        });
      }
      const before = await tree(`${stage.directory}/local`);
      const { text } = await planned(stage, "-o", "json");
      const made: Plan = JSON.parse(text);
      assertEquals(made.provider, { name: "local", account: "local/acct", error: null });
      assertEquals(
        made.resources.map((
          { name, actions },
        ) => [name, actions.map(({ action }) => action).filter((a) => !/secret|password/i.test(a))]),
        [["gone", ["create"]], ["grows", ["modify"]], ["same", []]],
      );
      assertEquals(text.includes("hidden"), false);
      assertEquals(await tree(`${stage.directory}/local`), before);
    } finally {
      folder.release();
    }
  }));

Deno.test("a plan over a local folder that is not there makes none: all is to be created", () =>
  onStage(async (stage) => {
    await stage.put("orders", {});
    const { code, text } = await planned(stage);
    assertEquals(code, 2);
    assertStringIncludes(text, "+ create  default/orders");
    assertEquals(await Deno.stat(`${stage.directory}/local`).then(() => true, () => false), false);
  }));

Deno.test("a plan says which record of a local folder cannot be read, and plans nothing on its absence", () =>
  onStage(async (stage) => {
    await stage.put("orders", {});
    await Deno.mkdir(`${stage.directory}/local/records`, { recursive: true });
    await Deno.writeTextFile(`${stage.directory}/local/account`, "externaldatabase-local/1 acct\n");
    await Deno.writeTextFile(`${stage.directory}/local/records/local-x.json`, "{");
    const { text } = await planned(stage);
    assertStringIncludes(text, 'local-x.json" failed: it is not JSON');
    assertStringIncludes(text, "! cannot");
  }));
