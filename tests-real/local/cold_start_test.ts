import { assert, assertEquals } from "@std/assert";
import { Child } from "../../tests/cli/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { newFolder, serversUnder } from "./support.ts";

/** What a machine that runs other tests besides may take; the promise is 60 for one that does not: `EDB_COLD_START_SECONDS=60`. */
const LIMIT_SECONDS = Number(Deno.env.get("EDB_COLD_START_SECONDS") ?? 240);

Deno.test("a demo with nothing downloaded before has its three PostgreSQL databases Ready", async () => {
  const directory = await newFolder();
  const nothing = await Deno.makeTempDir();
  // How this machine reaches the registry is its own matter.
  const ways = Object.entries(Deno.env.toObject()).filter(([name]) =>
    /^(DENO_(CERT|TLS_CA_STORE)|NPM_CONFIG_\w+|(HTTPS?|NO)_PROXY|SSL_CERT_\w+|NODE_EXTRA_CA_CERTS)$/i.test(
      name,
    )
  );
  const started = performance.now();
  const demo = new Child(["demo", "--cloud", "local", "--listen", "127.0.0.1:0"], [
    ...["--allow-net", "--allow-env", "--allow-read", "--allow-write=.demo,/tmp", "--allow-run"],
    "--allow-sys=uid",
  ], { cwd: directory, env: { ...Object.fromEntries(ways), DENO_DIR: nothing } });
  try {
    const ready = () => {
      assert(!/^error/m.test(demo.err), "it has ended");
      return demo.out.includes("All 3 are Ready");
    };
    await eventually("Ready", ready, LIMIT_SECONDS * 1_000, 50).catch((error: Error) => {
      assert(false, `${error.message}\n${demo.out.slice(-2_000)}\n${demo.err.slice(-2_000)}`);
    });
    console.log(`Ready ${Math.round((performance.now() - started) / 100) / 10} s after a cold start`);
    assertEquals(await serversUnder(`${directory}/.demo`), 3);
    demo.kill("SIGINT");
    assertEquals(await demo.code(), 0);
    assertEquals(await serversUnder(`${directory}/.demo`), 0);
  } finally {
    await demo.end();
    await Deno.remove(directory, { recursive: true });
    await Deno.remove(nothing, { recursive: true });
  }
});
