import { assertEquals } from "@std/assert";

Deno.test("the import map for machines without JSR maps what deno.json maps, to the same versions", async () => {
  const read = async (file: string) =>
    JSON.parse(await Deno.readTextFile(new URL(`../${file}`, import.meta.url)));
  const split = (imports: Record<string, string>) => ({
    names: Object.keys(imports).toSorted(),
    npm: Object.fromEntries(Object.entries(imports).filter(([name]) => !name.startsWith("@std/"))),
  });
  const { imports } = await read("deno.json");
  assertEquals(split((await read("npm.import_map.json")).imports), split(imports));
});
