/** The image as a cluster runs it: non-root, nothing writable, named permissions, nothing fetched. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Image } from "../support/image.ts";

Deno.test("The image builds, and answers as a non-root user with nothing writable and no network needed", async (t) => {
  const image = await Image.build();
  try {
    const config = await image.config();
    const entrypoint: string[] = config.Entrypoint;

    await t.step(
      "deno task release --image gave it the version and the commit that it is made from",
      async () => {
        const { version } = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url)));
        const { Labels } = config;
        assertEquals(Labels["org.opencontainers.image.version"], version);
        assert(
          /^([0-9a-f]{40}|unknown)$/.test(Labels["org.opencontainers.image.revision"]),
          JSON.stringify(Labels),
        );
      },
    );
    await t.step("it runs as a non-root user, by number", () => {
      assertEquals(config.User, "65532:65532");
    });
    await t.step("its permissions are named: no -A, no bare permission, no child process, no writing", () => {
      for (const flag of entrypoint) {
        assert(!/^(-A|--allow-all|-[NRWES]|-P)$/.test(flag), flag);
        assert(!/^--allow-(run|write|ffi|sys|import)/.test(flag), flag);
        assert(!flag.startsWith("--allow-") || /=./.test(flag), `${flag} names nothing`);
      }
      assert(entrypoint.includes("--cached-only") && entrypoint.includes("--no-prompt"));
    });
    await t.step("--version is that of deno.json", async () => {
      const { version } = JSON.parse(
        await Deno.readTextFile(new URL("../../deno.json", import.meta.url)),
      );
      const output = await image.run(["--version"], { readOnly: true });
      assertEquals([output.code, output.stderr], [0, ""]);
      assertStringIncludes(output.stdout, version);
    });
    await t.step("--help answers", async () => {
      const output = await image.run(["--help"], { readOnly: true });
      assertEquals(output.code, 0, output.stderr);
      assertStringIncludes(output.stdout, "statechart");
      assertEquals(output.stderr, "");
    });
    await t.step("start --help answers", async () => {
      const output = await image.run(["start", "--help"], { readOnly: true });
      assertEquals(output.code, 0, output.stderr);
      assertStringIncludes(output.stdout, "--provider");
    });
    await t.step("statechart draws every state", async () => {
      const output = await image.run(["statechart"], { readOnly: true });
      assertEquals(output.code, 0, output.stderr);
      for (const state of ["Pending", "Creating", "Available", "Drifted", "Deleting", "Finalized"]) {
        assertStringIncludes(output.stdout, state);
      }
    });
    await t.step("the built page is in it, where its permissions let it be read", async () => {
      const output = await image.run(["-c", "cat /app/dist/page/index.html; ls /app/dist/page/assets"], {
        entrypoint: ["/bin/sh"],
      });
      assertEquals(output.code, 0, output.stderr);
      const [script] = /\/assets\/page\.[0-9a-f]+\.js/.exec(output.stdout) ?? [];
      assert(script !== undefined && output.stdout.includes(`\n${script.slice(8)}`), output.stdout);
      assert(entrypoint.some((flag) => /^--allow-read=.*\/app\/dist\/page(,|$)/.test(flag)));
    });
    await t.step("start outside a cluster ends with an error that says what to do", async () => {
      const output = await image.run(["start"], { readOnly: true });
      assert(output.code !== 0);
      assertStringIncludes(output.stderr, "demo");
      assertEquals(/Uncaught|NotCapable|\n +at /.test(output.stderr), false, output.stderr);
    });
    await t.step("the user cannot write where the program lies", async () => {
      const script =
        "id -u; touch /app/x 2> /dev/null && echo app; touch /deno-dir/x 2> /dev/null && echo cache; true";
      const output = await image.run(["-c", script], { entrypoint: ["/bin/sh"] });
      assertEquals([output.code, output.stdout], [0, "65532\n"], output.stderr);
    });
  } finally {
    await image.remove();
  }
});
