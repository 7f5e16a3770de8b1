/**
 * Makes what `kubectl describe` prints the same at each run: names that are drawn, times and versions become constant.
 *
 * @module
 */

const UIDS = [
  "5c1e8f0a-3b7d-4e52-9a64-d1f0b2c83e17",
  "a40f6d92-71c8-4b3e-8d05-6e9c17f2b8a3",
  "e90b7c46-15d2-4f8a-b3e1-2a7d6c5f4b08",
];
const DATABASES = ["db-4f7a2c91", "db-b83e05d6"];
const TIME = "2026-01-05T09:30:00Z";

/** The masked text of a resource. `namespace` becomes `default`. */
export function masked(text: string, namespace: string): string {
  const steady = text
    .replaceAll(namespace, "default")
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, numbered(UIDS))
    .replace(/\bdb-[0-9a-z]+(?=[".]|$|\s)/gm, numbered(DATABASES))
    .replace(/\b\d{4}-\d\d-\d\dT[\d:]+(?:\.\d+)?Z/g, TIME)
    .replace(/^( *Resource Version: +)\d+$/m, "$14711")
    .replace(/\(retry step \d+( or later)?\)/g, "(retry step 1)")
    .replace(
      /\(retry step \d+( or later)?, the next within [^)]+\)/g,
      "(retry step 1, the next within 15 s)",
    );
  const at = steady.indexOf("\nEvents:");
  return at < 0 ? steady : `${steady.slice(0, at)}\n${events(steady.slice(at + 1))}`;
}

/** The first thing that is met becomes the first name, and so on. */
function numbered(names: readonly string[]): (found: string) => string {
  const known = new Map<string, string>();
  return (found) => {
    const name = known.get(found) ?? names[known.size];
    if (name === undefined) throw new Error(`There is no name left for "${found}"`);
    known.set(found, name);
    return name;
  };
}

/** The order in which Events are shown; those of no such kind come last. */
const LIFE = [["Created", /./], ["Available", /./], ["Updating", /was edited$/], ["Updating", /./]] as const;

/** The table of Events: without counts, in the order of a life, and with ages that do not differ. */
function events(text: string): string {
  const [head = "", ...lines] = text.trimEnd().split("\n");
  const rows = lines.slice(2).map((line) => line.trim().split(/ {2,}/)).map((
    [type, reason, , from, message],
  ) => [
    type ?? "",
    reason ?? "",
    "9s",
    from?.replace(/, \S+$/, "") ?? "",
    message ?? "",
  ]);
  const rank = ([, reason, , , message = ""]: readonly string[]) =>
    LIFE.findIndex(([of, words]) => of === reason && words.test(message)) >>> 0;
  rows.sort((a, b) => rank(a) - rank(b));
  const titles = [["Type", "Reason", "Age", "From", "Message"], [
    "----",
    "------",
    "----",
    "----",
    "-------",
  ]];
  const all = [...titles, ...rows];
  const widths = titles[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  const body = all.map((row) =>
    `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ")}`.trimEnd()
  );
  return `${[head.trimEnd(), ...body].join("\n")}\n`;
}
