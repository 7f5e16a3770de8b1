/**
 * Writes the CRD to `crds/` from the schema in `src/api/`. With `--check` it writes nothing and ends with 1 when the
 * file differs.
 *
 * @module
 */
import { stringify } from "yaml";
import { CRD_NAME } from "../src/api/constants.ts";
import { customResourceDefinition } from "../src/api/crd.ts";

/** Where the CRD is kept. */
export const CRD_FILE: URL = new URL(`../crds/${CRD_NAME}.yaml`, import.meta.url);

/** The file's text. */
export function crdYaml(): string {
  const text = stringify(customResourceDefinition(), { lineWidth: 0, aliasDuplicateObjects: false });
  return `# Made from src/api/schema.ts by \`deno task crds\`; do not edit.\n${text}`;
}

if (import.meta.main) {
  const text = crdYaml();
  if (Deno.args.includes("--check")) {
    if (await Deno.readTextFile(CRD_FILE) !== text) {
      console.error(`${CRD_FILE.pathname} differs from the schema: run "deno task crds"`);
      Deno.exit(1);
    }
  } else {
    await Deno.mkdir(new URL("./", CRD_FILE), { recursive: true });
    await Deno.writeTextFile(CRD_FILE, text);
    console.log(`Wrote ${CRD_FILE.pathname}`);
  }
}
