/**
 * A short soak, as `deno task soak` runs it for as long as one likes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { mapFlags } from "../../tests/cli/support.ts";

const MAIN = new URL("../../tools/soak/main.ts", import.meta.url).pathname;
/** Deadline of the whole run, in milliseconds; it comes to rest within its own bounds long before. */
const LIMIT_MS = 480_000;

Deno.test("C1, C3, W2, W3, W6: for a minute the operator, API server, etcd, cloud and network fail at random under load; then all is as the specs ask", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", ...mapFlags(), MAIN, "--minutes=1", "--databases=200", "--seed=1"],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGINT"), LIMIT_MS); // it ends what it started
  try {
    const { code, stdout, stderr } = await child.output();
    const text = new TextDecoder();
    const out = text.decode(stdout);
    console.log(out);
    assertEquals(code, 0, `${out}\n${text.decode(stderr)}`);
    assert(out.trimEnd().endsWith("0 violations"), out);
  } finally {
    clearTimeout(timer);
  }
});
