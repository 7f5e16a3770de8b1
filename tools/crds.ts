/**
 * Writes the CRDs to `crds/` and into the Helm chart, from the schemas in `src/api/`. With `--check` it writes nothing and
 * ends with 1 when a file differs.
 *
 * @module
 */
import { stringify } from "yaml";
import { CLASS_CRD_NAME, CRD_NAME } from "../src/api/constants.ts";
import { classResourceDefinition, customResourceDefinition } from "../src/api/crd.ts";

/** Folders that hold the CRDs. */
const FOLDERS = ["crds", "deploy/helm/externaldatabase-operator/files/crds"] as const;

/** Where the CRDs are kept, with their text. */
export const CRD_FILES: readonly { readonly file: URL; readonly yaml: () => string }[] = FOLDERS.flatMap((
  folder,
) =>
  [
    [CRD_NAME, customResourceDefinition, "schema.ts"] as const,
    [CLASS_CRD_NAME, classResourceDefinition, "class_schema.ts"] as const,
  ].map(([name, make, source]) => ({
    file: new URL(`../${folder}/${name}.yaml`, import.meta.url),
    yaml: () => {
      const text = stringify(make(), { lineWidth: 0, aliasDuplicateObjects: false });
      return `# Made from src/api/${source} by \`deno task crds\`; do not edit.\n${text}`;
    },
  }))
);

if (import.meta.main) {
  for (const { file, yaml } of CRD_FILES) {
    if (Deno.args.includes("--check")) {
      if (await Deno.readTextFile(file) !== yaml()) {
        console.error(`${file.pathname} differs from the schema: run "deno task crds"`);
        Deno.exit(1);
      }
    } else {
      await Deno.mkdir(new URL("./", file), { recursive: true });
      await Deno.writeTextFile(file, yaml());
      console.log(`Wrote ${file.pathname}`);
    }
  }
}
