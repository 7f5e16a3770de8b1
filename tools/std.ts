/**
 * Prints the flag that makes `@std/*` come from npm where JSR cannot be reached, and nothing where it can.
 *
 * Every task runs `deno … $(deno run tools/std.ts) …`, so the genuine `jsr:` packages are used wherever JSR
 * answers within 2.5 s, and a machine that reaches the npm registry alone works without a setting.
 *
 * @module
 */

/** How long JSR may take to answer, in milliseconds, before the npm copies are used. */
const LIMIT_MS = 2_500;

async function jsrAnswers(): Promise<boolean> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), LIMIT_MS);
  try {
    const answer = await fetch("https://jsr.io/@std/async/meta.json", { signal: abort.signal });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false; // unreachable, refused or too slow: all mean "take the npm copies"
  } finally {
    clearTimeout(timer);
  }
}

if (!(await jsrAnswers())) {
  const map = new URL("../npm.import_map.json", import.meta.url).pathname;
  await Deno.stdout.write(new TextEncoder().encode(`--import-map=${map}`));
}
