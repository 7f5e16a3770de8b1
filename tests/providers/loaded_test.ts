/**
 * Which libraries the program loads by itself, and which only once a provider that needs them is called: by Deno's own
 * graph of the modules.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { mapFlags } from "../cli/support.ts";

interface Dependency {
  readonly code?: { readonly specifier?: string };
  readonly isDynamic?: boolean;
}

interface Graph {
  readonly roots: readonly [string];
  readonly modules: readonly { readonly specifier: string; readonly dependencies?: readonly Dependency[] }[];
}

/** Libraries of providers, by how their specifiers begin. */
const LIBRARIES = ["npm:pg@", "npm:@aws-sdk/"];

/** Modules that are reached from `main.ts`, where `follows` tells whose imports within functions are. */
function reached({ roots, modules }: Graph, follows: (specifier: string) => boolean): Set<string> {
  const byName = new Map(modules.map((each) => [each.specifier, each.dependencies ?? []]));
  const found = new Set<string>(roots);
  for (const name of found) { // what is added meanwhile is visited too
    for (const { code, isDynamic } of byName.get(name) ?? []) {
      if (code?.specifier === undefined || isDynamic === true && !follows(name)) continue;
      found.add(code.specifier);
    }
  }
  return found;
}

Deno.test("the libraries of postgres and aws-rds are loaded by providers when they are called, and by nothing else", async () => {
  const main = new URL("../../main.ts", import.meta.url).pathname;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", ...mapFlags(), main],
    stderr: "null",
  }).output();
  const graph = JSON.parse(new TextDecoder().decode(stdout)) as Graph;
  const libraries = (names: Iterable<string>) =>
    LIBRARIES.map((library) => [...names].some((name) => name.startsWith(library)));
  const all = reached(graph, () => true);
  assertEquals(libraries(all), [true, true], "they are there");
  const unasked = reached(graph, (name) => !name.includes("/src/providers/"));
  assert([...unasked].some((name) => name.endsWith("/src/providers/from_class.ts")));
  assertEquals(libraries(unasked), [false, false]);
});
