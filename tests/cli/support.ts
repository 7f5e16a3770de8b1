/** Runs the program itself, with the permissions that its task gives it and no more. @module */

/** What a run left behind. */
export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const ROOT = new URL("../../", import.meta.url).pathname;

/** The import map that this test process runs under, if any, so that the child needs no look-up of its own. */
export function mapFlags(): string[] {
  return import.meta.resolve("@std/assert").startsWith("file:")
    ? [`--import-map=${ROOT}npm.import_map.json`]
    : [];
}

/** Arguments of `deno` for `main.ts args…` under `permissions`. */
export function denoArgs(args: readonly string[], permissions: readonly string[]): string[] {
  return ["run", "--no-prompt", "--no-check", ...permissions, ...mapFlags(), `${ROOT}main.ts`, ...args];
}

/** Variables of a child that must see none of this machine's own settings. */
export function cleanEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = ["PATH", "HOME", "DENO_DIR", "TMPDIR"].flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), NO_COLOR: "1", ...extra };
}

/** Runs `main.ts args…` to its end. */
export async function main(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  permissions: readonly string[] = ["--allow-env", "--allow-read"],
): Promise<Run> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: denoArgs(args, permissions),
    env: cleanEnv(env),
    clearEnv: true,
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code: output.code, out: text(output.stdout), err: text(output.stderr) };
}
