/**
 * What documents tell a reader to type works as it is written, on a machine with Deno alone.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { commandBlocks, outputPattern } from "./commands.ts";
import { checkOut, runDocument, shellEnv, startDemo } from "./run.ts";
import { read } from "./support.ts";

Deno.test("docs/tutorial.md works as it is written, without kubectl, and leaves nothing running", async () => {
  const directory = await checkOut();
  const before = [...Deno.readDirSync(directory)].map(({ name }) => name);
  try {
    const ran = await runDocument("docs/tutorial.md", await read("docs/tutorial.md"), {
      directory,
      env: shellEnv(),
      without: ["without deno"],
    });
    assert(ran > 10, `${ran} blocks were run`);
    const after = [...Deno.readDirSync(directory)].map(({ name }) => name);
    // The page, where it could be built, stays for the next start.
    assertEquals(after.filter((name) => name !== "dist" && !before.includes(name)), ["shop.yaml"]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

/** In this order, in one world: a later one may use what an earlier one left; the last ends all. */
const HOW_TO = [
  ...["adopt", "retain", "snapshot", "rotate-password", "pause", "observe-only", "debug", "move-account"],
  "uninstall",
];

Deno.test("every page of docs/how-to works as it is written", async (t) => {
  const directory = await checkOut();
  const env = { ...shellEnv(`${directory}/bin`), KUBECONFIG: `${directory}/.demo/kubeconfig` };
  await Deno.mkdir(`${directory}/bin`);
  await Deno.writeTextFile(
    `${directory}/bin/kubectl`,
    '#!/bin/sh\nexec deno run --no-check --allow-net=127.0.0.1 --allow-env --allow-read tools/kubectl.ts "$@"\n',
    {
      mode: 0o755,
    },
  );
  const demo = await startDemo(directory, env);
  try {
    for (const name of HOW_TO) {
      const path = `docs/how-to/${name}.md`;
      await t.step(path, async () => {
        await runDocument(path, await read(path), { directory, env, without: ["in a cluster"] });
      });
    }
    const pages = [...Deno.readDirSync(new URL("../../docs/how-to/", import.meta.url))].map(({ name }) =>
      name
    );
    assertEquals(pages.toSorted(), HOW_TO.map((name) => `${name}.md`).toSorted());
  } finally {
    await demo.end();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a document whose commands fail, or print something else, is caught at its line", async () => {
  const directory = await Deno.makeTempDir();
  const options = { directory, env: shellEnv() };
  const run = (markdown: string) => runDocument("x.md", markdown, options);
  const ticks = "```";
  const sh = (text: string) => `${ticks}sh\n${text}\n${ticks}\n`;
  const text = (text: string) => `${ticks}text\n${text}\n${ticks}\n`;
  try {
    assertEquals(
      await run(`${sh("name=you\nhi() { echo hi $name; }")}Now:\n\n${sh("hi")}${text("hi …")}`),
      2,
    );
    await assertRejects(() => run(`a\n\n${sh("echo no")}${text("yes")}`), Error, "x.md:3 printed:\nno");
    await assertRejects(() => run(sh("false\necho yes")), Error, "x.md:1 failed");
    await assertRejects(() => run(text("yes")), Error, "an output without commands");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("an ellipsis stands for what differs, and for nothing more", () => {
  const matches = (expected: string, printed: string) => outputPattern(expected).test(printed);
  assert(matches("…\nAll … Ready\n", "a\nb\nAll 3 are Ready\n"));
  assert(matches("NAME   AGE\nshop   …\n", "NAME       AGE\nshop       5s\n"));
  assert(!matches("NAME   AGE\nshop   …\n", "NAME   AGE\nshop   5s\nother   5s\n"));
  assert(!matches("a … c\n", "a\nc\n"));
  const markdown = "<!-- terminal 1 -->\n```sh\nx\n```\n\ntext\n\n```yaml\ny\n```\n";
  assertEquals(commandBlocks(markdown), [{ line: 2, commands: "x\n", note: "terminal 1" }]);
  assertEquals(commandBlocks("1. a\n\n   ```sh\n   x <<E\n     y\n   E\n   ```\n"), [
    { line: 3, commands: "x <<E\n  y\nE\n" },
  ]);
});
