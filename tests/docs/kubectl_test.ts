/**
 * The stand-in for kubectl that the documents use, for machines without it.
 *
 * @module
 */
import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { cleanEnv, denoFlags } from "../cli/support.ts";
import { read } from "./support.ts";

const TOOL = new URL("../../tools/kubectl.ts", import.meta.url).pathname;
const GROUP = "apis/crd.my.domain/v1";
const SPEC = { engine: "postgres", version: "16", sizeGb: 20 };

/** A world with `default/orders`, `default/carts` and `shop/orders`, and the stand-in in it. */
async function world(
  run: (
    kubectl: (...args: string[]) => Promise<{ code: number; out: string; err: string }>,
    names: () => Promise<string[]>,
    folder: string,
  ) => Promise<void>,
): Promise<void> {
  const served = await serveEmbeddedApi();
  const folder = await Deno.makeTempDir();
  const post = async (path: string, body: string, type = "application/json") => {
    const answer = await fetch(`${served.url}/${path}`, {
      method: "POST",
      body,
      headers: { "content-type": type },
    });
    assertEquals([answer.status, (await answer.json()).message], [201, undefined]);
  };
  const make = (namespace: string, name: string) =>
    post(
      `${GROUP}/namespaces/${namespace}/externaldatabases`,
      JSON.stringify({
        apiVersion: "crd.my.domain/v1",
        kind: "ExternalDatabase",
        metadata: { name },
        spec: SPEC,
      }),
    );
  try {
    const crd = await read("crds/externaldatabases.crd.my.domain.yaml");
    await post("apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd, "application/yaml");
    await post("api/v1/namespaces", JSON.stringify({ metadata: { name: "shop" } }));
    for (
      const [namespace, name] of [["default", "orders"], ["default", "carts"], ["shop", "orders"]] as const
    ) {
      await make(namespace, name);
    }
    await Deno.mkdir(`${folder}/.demo`);
    await Deno.writeTextFile(`${folder}/.demo/kubeconfig`, `server: "${served.url}"\n`);
    await run(
      async (...args) => {
        const output = await new Deno.Command(Deno.execPath(), {
          args: [...denoFlags(["--allow-net=127.0.0.1", "--allow-env", "--allow-read"]), TOOL, ...args],
          cwd: folder,
          env: cleanEnv(),
          clearEnv: true,
          stdin: "null",
        }).output();
        const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
        return { code: output.code, out: text(output.stdout), err: text(output.stderr) };
      },
      async () => {
        const { items } = await (await fetch(`${served.url}/${GROUP}/externaldatabases`)).json();
        return items.map((i: { metadata: { namespace: string; name: string } }) =>
          `${i.metadata.namespace}/${i.metadata.name}`
        ).sort();
      },
      folder,
    );
  } finally {
    await served.close();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the stand-in for kubectl deletes the one that is named, in its namespace, and nothing without a name", async () => {
  await world(async (kubectl, names) => {
    const all = ["default/carts", "default/orders", "shop/orders"];
    for (const words of [["edb"], ["edb", "-A"], ["edb/"], ["edb", "-n", "shop"]]) {
      const refused = await kubectl("delete", ...words);
      assertEquals([refused.code, refused.out, await names()], [1, "", all], words.join(" "));
      assertStringIncludes(refused.err, "no name was specified");
    }
    const done = await kubectl("delete", "edb", "orders", "-n", "shop");
    assertEquals([done.code, done.err, await names()], [0, "", ["default/carts", "default/orders"]]);
  });
});

Deno.test("the stand-in for kubectl shows one namespace or all, and tells in a line what it cannot do", async () => {
  await world(async (kubectl, names, folder) => {
    const rows = async (...args: string[]) =>
      (await kubectl("get", "edb", "--no-headers", ...args)).out.trim().split("\n").map((row) =>
        row.split(/\s+/).slice(0, 2).join(" ")
      );
    assertEquals(await rows("-A"), ["default carts", "default orders", "shop orders"]);
    assertEquals(await rows("-n", "shop"), ["orders postgres"]);
    await Deno.writeTextFile(`${folder}/bad.yaml`, "a: [\n");
    for (
      const [args, says] of [
        [["get", "edb", "--bogus"], /--bogus/],
        [["get", "pods"], /"pods" is not known/],
        [["get", "edb", "-o", "wider"], /"wider"/],
        [["patch", "edb", "orders", "-p", "x"], /-p needs a patch in JSON/],
        [["wait", "edb/orders"], /--for=condition/],
        [["apply"], /-f FILE/],
        [["apply", "-f", `${folder}/bad.yaml`], /bad\.yaml/],
      ] as const
    ) {
      const refused = await kubectl(...args);
      assertEquals(refused.code, 1, args.join(" "));
      assertMatch(refused.err, says);
      assertMatch(refused.err, /^error: /);
      assertNotMatch(refused.err, /^\s+at /m);
    }
    assertEquals((await names()).length, 3);
  });
});

Deno.test("the stand-in for kubectl watches: what is there, then each change", async () => {
  await world(async (kubectl, _names, folder) => {
    const watch = new Deno.Command(Deno.execPath(), {
      args: [
        ...denoFlags(["--allow-net=127.0.0.1", "--allow-env", "--allow-read"]),
        ...[TOOL, "get", "edb", "--watch"],
      ],
      cwd: folder,
      env: cleanEnv(),
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
    }).spawn();
    const reader = watch.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let out = "";
    const until = async (holds: () => boolean) => {
      while (!holds()) {
        const { value, done } = await reader.read();
        assertEquals(done, false, out);
        out += value;
      }
    };
    try {
      await until(() => /^NAME[^]*^carts [^]*^orders .*\n/m.test(out));
      out = "";
      await kubectl("patch", "edb", "carts", "--type=merge", "-p", '{"spec":{"sizeGb":40}}');
      await until(() => out.includes("\n"));
      assertMatch(out, /^carts +postgres +16 +40 .*\n$/);
    } finally {
      watch.kill();
      await reader.cancel();
      await watch.status;
    }
  });
});
