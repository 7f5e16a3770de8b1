import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { matchVersion, type VersionMatch } from "../../src/statechart/versions.ts";

const TABLE: readonly (readonly [wanted: string, observed: string, VersionMatch])[] = [
  ["14.2", "14.2", "satisfied"],
  ["14", "14.2", "satisfied"],
  ["14.2", "14.2.7", "satisfied"],
  ["14.2", "14.3", "satisfied"],
  ["14.2", "14.10", "satisfied"],
  ["14.10", "14.2", "older"],
  ["14", "14.0", "satisfied"],
  ["14.0", "14", "satisfied"],
  ["14.0.0", "14", "satisfied"],
  ["14.1", "14", "older"],
  ["14", "140", "newerMajor"],
  ["14", "13.9", "older"],
  ["14.2", "15.0", "newerMajor"],
  ["15", "14.9", "older"],
  ["V14.2", "v14.2", "satisfied"],
  [" 14.2 ", "14.2\n", "satisfied"],
  ["14.2-R1", "14.2-r1", "satisfied"],
  ["14.2-R1", "14.2-r2", "satisfied"],
  ["14.2-R9", "14.2-R10", "satisfied"],
  ["14.2-R2", "14.2-R1", "older"],
  ["14.2-R2", "14.2", "older"],
  ["14.2-R2", "14.3-R1", "satisfied"],
  ["14.2-R2", "15.1-R1", "newerMajor"],
  ["14.2", "14.2-r2", "satisfied"],
  ["14.2", "14.2+build.7", "satisfied"],
  ["14", "14beta1", "different"],
  ["14.2-alpine", "14.2-debian", "different"],
  ["8.0.mysql_aurora.3.05", "8.0.mysql_aurora.3.05.2", "satisfied"],
  ["8.0.mysql_aurora.3.05", "8.0.mysql_aurora.3.051", "satisfied"],
  ["8.0.mysql_aurora.3.05", "8.0.mysql_aurora.3.04.9", "older"],
  ["", "", "satisfied"],
];

for (const [wanted, observed, match] of TABLE) {
  Deno.test(`R3: wanted ${JSON.stringify(wanted)}, observed ${JSON.stringify(observed)}: ${match}`, () => {
    assertEquals(matchVersion(wanted, observed), match);
  });
}

const version = fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 4 }).map((n) => n.join("."));

Deno.test("R3: of two different numeric versions the lower is never taken for the higher, whatever their shape", () => {
  fc.assert(fc.property(version, version, (a, b) => {
    const there = matchVersion(a, b), back = matchVersion(b, a);
    assert(there !== "different" && back !== "different");
    if (there === "older") assert(back === "satisfied" || back === "newerMajor", `${a} ${b} ${back}`);
    if (there === "newerMajor") assertEquals(back, "older");
    assert(!(there === "older" && back === "older"));
    assertEquals(matchVersion(a, a), "satisfied");
  }));
});

Deno.test("R3: of two builds the one with the lower number is never taken for the newer, so none is lowered", () => {
  const build = fc.tuple(version, fc.nat({ max: 30 }));
  fc.assert(fc.property(build, build, ([v, n], [w, m]) => {
    const there = matchVersion(`${v}-R${n}`, `${w}-R${m}`), back = matchVersion(`${w}-R${m}`, `${v}-R${n}`);
    assert(!(there === "older" && back === "older"), `${v}-R${n} ${w}-R${m}`);
    if (v === w) assertEquals(there, m < n ? "older" : "satisfied");
  }));
});

Deno.test("R3: any text can be compared", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
    assert(["satisfied", "older", "newerMajor", "different"].includes(matchVersion(a, b)));
    assertEquals(matchVersion(a, a), "satisfied");
  }));
});
