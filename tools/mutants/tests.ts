/**
 * Which unit tests hunt a bug that no seed catches: those of its file, and those that name the rule.
 *
 * @module
 */
import type { TestTrial } from "./protocol.ts";
import { ROOT } from "./tree.ts";

/** The quick ones first: those of one part alone, then those of the statechart, then those of the whole operator. */
const RANKS = [
  /operator\/(\w*effects?_test|effect_guards|announce|keeper|supervisor|account_watch|gateway|orphan_watch)/,
  /^tests\/statechart\//,
  /^tests\/kube\//,
  /./,
];

const FOLDERS = [
  "tests/binding/",
  "tests/statechart/",
  "tests/operator/",
  "tests/kube/",
  "tests/cli/",
  "tests/simulation/",
];

/** Tests by the source below `src/` that they are about. */
const ABOUT: readonly (readonly [source: RegExp, tests: RegExp])[] = [
  [/^statechart\/|^core\/backoff/, /statechart\/(?!draw)/],
  [/^kube\/(reflector|rewind)/, /kube\/(watch|reflector|rewind)/],
  [/^kube\/lease/, /kube\/lease/],
  [/^kube\/patches/, /kube\/patches/],
  [/^operator\/(scheduler|gateway)/, /operator\/(scheduler|account|gateway)/],
  [/^operator\/(absences|orphans|observer|account)/, /operator\/(absence|orphan|observer|account)/],
  [
    /^operator\/(keeper|supervisor)/,
    /operator\/(keeper|supervisor|absence|hibernation|crash|inbox|observer|orphans|life|drain)|simulation\/regressions/,
  ],
  [/^operator\/effects\//, /operator\/(\w*effects?_test|announce)/],
  [
    /^binding\/|^operator\/binding_watch|^operator\/effects\/bind/,
    /(operator|statechart)\/(decide_)?binding|binding\//,
  ],
  [/^operator\/(class|site)|^statechart\/class_view/, /(operator|statechart|behaviours)\/class/],
  [/^operator\/effects\/adopt/, /operator\/adoption/],
  [/^operator\/effects\/create/, /operator\/(creating|paused|effect_guards)/],
  [/^operator\/effects\/(remove|retain)/, /operator\/(deleting|late_read|effect_guards)/],
  [/^operator\/effects\/modify/, /operator\/(drift|effect_guards)/],
  [/^operator\/effects/, /operator\/(effect_guards|recovery|creating|deleting|drift|wiped)/],
  [
    /^operator\/(operator|fenced)|^kube\/lease/,
    /operator\/(recovery|life|gateway|standby|drain)|cli\/(start|host)/,
  ],
];

/** The tests of those files, and those whose name holds the rule that is broken. */
export function likelyTests(
  tests: readonly TestTrial[],
  files: readonly string[],
  breaks?: string,
): readonly TestTrial[] {
  const rule = breaks === undefined
    ? undefined
    : new RegExp(`\\b${breaks}\\b|\\b${breaks.replace(/^rule/, "rules")}\\b`, "i");
  const named = tests.filter((t) => rule?.test(t.test));
  const about = tests.filter(({ file }) =>
    ABOUT.some(([source, of]) => of.test(file) && files.some((f) => source.test(f)))
  );
  const rank = (t: TestTrial) => RANKS.findIndex((r) => r.test(t.file));
  return [...new Set([...named, ...about])].toSorted((a, b) => rank(a) - rank(b));
}

/** All files of the folders that are asked. */
export function testFiles(): string[] {
  return FOLDERS.flatMap((folder) =>
    [...Deno.readDirSync(new URL(folder, ROOT))].filter(({ name }) => name.endsWith("_test.ts"))
      .map(({ name }) => folder + name)
  ).toSorted();
}
