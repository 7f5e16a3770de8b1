/**
 * Reads what documents and test titles name.
 *
 * @module
 */

const ROOT = new URL("../../", import.meta.url);

/** The documents, from the repository's root. */
export const DOCUMENTS = [
  "README.md",
  "docs/README.md",
  "CONTRIBUTING.md",
  "deploy/README.md",
  "docs/design.md",
  "docs/safety.md",
  "docs/behaviours.md",
  "docs/cloud-api.md",
  "docs/classes.md",
  "docs/providers.md",
  "docs/plan.md",
  "docs/statechart.md",
  "docs/reasons.md",
  "docs/describe.md",
  "docs/tutorial.md",
  ...[
    "adopt",
    "retain",
    "snapshot",
    "rotate-password",
    "pause",
    "observe-only",
    "debug",
    "move-account",
    "uninstall",
  ]
    .map((name) => `docs/how-to/${name}.md`),
  "docs/reference/crds.md",
  "docs/reference/flags.md",
  "docs/observability.md",
  "docs/install.md",
  "docs/upgrade.md",
  "docs/http.md",
] as const;

/** A file's text, by its path from the root. */
export function read(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}

/** Whether there is a file or folder at a path from the root. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(new URL(path, ROOT));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Paths in backticks: of files, and of what lies in one of the repository's folders. */
export function paths(text: string): string[] {
  const tokens = [...text.matchAll(/`([^`\s]+)`/g)].map((m) => m[1] ?? "");
  const folder = /^(?:src|tests|tests-real|tools|deploy|crds|bench|docs|\.ci)\//;
  return tokens.filter((token) =>
    folder.test(token) || /^[\w.-]+\/[\w./-]*\.(?:ts|md|ya?ml|json)$/.test(token)
  );
}

/** Relative links of a document, as paths from the root. */
export function links(
  document: string,
  text: string,
): { readonly target: string; readonly anchor: string }[] {
  // A pattern in a code span may look like a link.
  return [...text.replace(/`[^`\n]*`(?!\]\()/g, "").matchAll(/\]\(([^)\s]+)\)/g)].map((m) => m[1] ?? "")
    .filter((href) => !/^[a-z]+:/.test(href))
    .map((href) => {
      const url = new URL(href, new URL(document, ROOT));
      return { target: url.pathname.slice(ROOT.pathname.length), anchor: url.hash.slice(1) };
    });
}

/** Whether a path that begins with `..` leads out of the repository from where the document is. */
export function leadsOut(document: string, path: string): boolean {
  return !new URL(path, new URL(document, ROOT)).pathname.startsWith(ROOT.pathname);
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchors(text: string): ReadonlySet<string> {
  return new Set(
    [...text.matchAll(/^#+ (.*)$/gm)].map((m) =>
      (m[1] ?? "").toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
    ),
  );
}

/** A test or step whose title begins with numbers of behaviours or rules. */
export interface Title {
  readonly file: string;
  /** `C1`, `D2b`, `S5`, `rule 21`. */
  readonly numbers: readonly string[];
}

const NUMBER = "(?:[A-Z]\\d+b?|[Rr]ules? \\d+)";
const NUMBERS = new RegExp(`^${NUMBER}(?:(?:, | and |/)(?:${NUMBER}|\\d+))*:`);

/** The numbered titles of all tests, fast and real. */
export async function titles(): Promise<Title[]> {
  const found: Title[] = [];
  for (const folder of ["tests/", "tests-real/"]) {
    for await (const file of modules(folder)) {
      for (const [, title] of (await read(file)).matchAll(/(?:test|step)\(\s*["`]([^"`]*)/g)) {
        const prefix = NUMBERS.exec(title ?? "")?.[0];
        if (prefix !== undefined) found.push({ file, numbers: numbersOf(prefix) });
      }
    }
  }
  return found;
}

/** `Rules 2 and 6` → `rule 2`, `rule 6`. */
function numbersOf(prefix: string): string[] {
  let rule = false;
  return [...prefix.matchAll(/([Rr]ules? )?([A-Z]?\d+b?)/g)].map(([, word, number]) => {
    rule = word !== undefined || (rule && /^\d/.test(number ?? ""));
    return rule ? `rule ${number}` : number ?? "";
  });
}

async function* modules(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, ROOT))) {
    if (entry.isDirectory) yield* modules(`${folder}${entry.name}/`);
    else if (entry.name.endsWith(".ts")) yield `${folder}${entry.name}`;
  }
}

/**
 * Tests of doubles: they show that a double can play a situation, not what the operator does in it.
 */
const DOUBLES =
  /^tests\/(?:providers\/(?:simulated_cloud|server)_test|embedded|contract\/kube)|^tests-real\/embedded/;

/** The files whose tests prove a behaviour, the real ones last. */
export function proofsOf(tests: readonly Title[], number: string): string[] {
  const files = tests.filter((t) => t.numbers.includes(number) && !DOUBLES.test(t.file)).map((t) => t.file);
  const rank = (file: string) => `${file.startsWith("tests-real/") ? 1 : 0}${file}`;
  return [...new Set(files)].sort((a, b) => rank(a) < rank(b) ? -1 : 1);
}

/** One entry of behaviours.md. */
export interface Behaviour {
  readonly number: string;
  readonly verdict: "Proof" | "Partly" | "Not yet" | undefined;
  /** Test files that it names. */
  readonly files: readonly string[];
  /** What stands after the files: what "Partly" lacks. */
  readonly remark: string;
  /** The lines of the verdict, as they stand. */
  readonly text: string;
}

/** The entries of behaviours.md. */
export function behaviours(markdown: string): Behaviour[] {
  return markdown.split(/^- \*\*/m).slice(1).map((entry) => {
    const found = /^ {2}- (Proof|Partly|Not yet): .*(?:\n {4}.*)*/m.exec(entry);
    const text = found?.[0] ?? "";
    return {
      number: /^\w+/.exec(entry)?.[0] ?? "",
      verdict: found?.[1] as Behaviour["verdict"],
      files: paths(text).filter((path) => /^tests(-real)?\//.test(path)),
      remark: /.*`: ([^]*)$/.exec(text)?.[1]?.replace(/\s+/g, " ") ?? "",
      text,
    };
  });
}
