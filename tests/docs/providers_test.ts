import { assert, assertEquals } from "@std/assert";
import { read, titles } from "./support.ts";

const COLUMNS = ["postgres", "rds", "local"] as const;

Deno.test("the table of proofs in providers.md names tests whose titles begin with that number", async () => {
  const known = await titles();
  const wrong: string[] = [];
  const rows = [...(await read("docs/providers.md")).matchAll(/^\| ([A-Z]\d+) [^|]*\|(.*)\|$/gm)];
  assert(rows.length >= 19, `${rows.length} rows`);
  for (const [, number, cells] of rows) {
    cells!.split("|").forEach((cell, column) => {
      for (const [, name] of cell.matchAll(/`([^`]+)`/g)) {
        const file = name === "suite"
          ? "tests-real/behaviours/suite.ts"
          : `tests-real/${COLUMNS[column]}/${name}`;
        if (!known.some((title) => title.file === file && title.numbers.includes(number!))) {
          wrong.push(`${number}: ${file}`);
        }
      }
    });
  }
  assertEquals(wrong, []);
});
