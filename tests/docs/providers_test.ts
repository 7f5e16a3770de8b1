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

Deno.test("the IAM policy in providers.md allows what the code asks of RDS, and nothing that it never asks", async () => {
  const asked = new Set<string>();
  const folder = new URL("../../src/providers/aws-rds/", import.meta.url);
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(new URL(name, folder));
    for (const [, action] of text.matchAll(/new (\w+)Command\(/g)) asked.add(action!);
  }
  const [, policy] = /```json\n(\s*\{\s*"Version".*?)```/s.exec(await read("docs/providers.md"))!;
  const { Statement: statements } = JSON.parse(policy!) as { Statement: { Action: string | string[] }[] };
  const allowed = new Set(statements.flatMap(({ Action }) => Action));
  for (const action of ["GetCallerIdentity", "AssumeRole", "AssumeRoleWithWebIdentity"]) {
    assert(asked.delete(action), `${action} is asked of STS`); // the first needs no permission, the others are said in words
  }
  // RDS asks for this one itself, where a delete takes a final snapshot.
  assertEquals(allowed, new Set([...asked].map((action) => `rds:${action}`)).add("rds:CreateDBSnapshot"));
});
