/**
 * The few commands of kubectl that the tutorial uses, for machines without it: `deno task kubectl get edb`.
 *
 * It speaks to the demo's API alone, whose address is in `.demo/kubeconfig`, and prints what kubectl would.
 *
 * @module
 */
import { messageOf } from "../src/core/text.ts";
import { parseArgs } from "node:util";
import { parseAllDocuments, stringify } from "yaml";

/** An object of the API. */
// deno-lint-ignore no-explicit-any
type Json = any;

const KINDS: Readonly<Record<string, { readonly path: string; readonly name: string }>> = {
  externaldatabase: { path: "apis/crd.my.domain/v1", name: "externaldatabases" },
  secret: { path: "api/v1", name: "secrets" },
};
const SHORT: Readonly<Record<string, string>> = { edb: "externaldatabase", databases: "externaldatabase" };
/** How long `wait` and `delete` wait unless told, in milliseconds; and how often they look. */
const WAIT_MS = 30_000;
const LOOK_MS = 200;

const USAGE = "Use: deno task kubectl get|describe|apply|patch|annotate|delete|wait … as kubectl";

/** The command line. One that cannot be read is said on stderr, and ends the program. */
function commandLine() {
  try {
    return parseArgs({
      args: Deno.args,
      allowPositionals: true,
      options: {
        namespace: { type: "string", short: "n", default: "default" },
        "all-namespaces": { type: "boolean", short: "A" },
        "no-headers": { type: "boolean" },
        output: { type: "string", short: "o" },
        filename: { type: "string", short: "f" },
        patch: { type: "string", short: "p" },
        type: { type: "string" },
        for: { type: "string" },
        timeout: { type: "string" },
        wait: { type: "string" },
        watch: { type: "boolean", short: "w" },
        overwrite: { type: "boolean" },
      },
    });
  } catch (error) {
    const what = messageOf(error).split(". To specify")[0];
    console.error(`error: ${what}; this stand-in knows only what the documents use. ${USAGE}`);
    Deno.exit(1);
  }
}

const { values, positionals } = commandLine();

async function server(): Promise<string> {
  const text = await Deno.readTextFile(".demo/kubeconfig").catch((error: unknown) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error('There is no .demo here; run "deno task demo" in another terminal');
  });
  const found = /server: "([^"]+)"/.exec(text)?.[1];
  if (found === undefined) throw new Error(".demo/kubeconfig names no server");
  return found;
}

function kindOf(word: string): { readonly path: string; readonly name: string; readonly kind: string } {
  const singular = word.replace(/\.crd\.my\.domain$/, "").replace(/s$/, "");
  const kind = SHORT[word] ?? SHORT[singular] ?? singular;
  const known = KINDS[kind];
  if (known === undefined) throw new Error(`the kind "${word}" is not known here; kubectl knows them all`);
  return { ...known, kind };
}

/** `edb orders` and `edb/orders`. */
function target(words: readonly string[], namespace = values.namespace) {
  const [first = "", second] = words.length === 1 && words[0]?.includes("/") ? words[0].split("/") : words;
  const { path, name: plural, kind } = kindOf(first);
  const all = values["all-namespaces"]
    ? `${path}/${plural}`
    : `${path}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
  return { kind, name: second, path: second === undefined ? all : `${all}/${encodeURIComponent(second)}` };
}

/** The same of one object: a command that changes something never means all that there are. */
function one(words: readonly string[], namespace?: string) {
  const { name, ...rest } = target(words, namespace);
  if (name === undefined || name === "") throw new Error("no name was specified: say KIND NAME or KIND/NAME");
  if (values["all-namespaces"]) throw new Error("one object is in one namespace: say -n NAMESPACE, not -A");
  return { name, ...rest };
}

async function call(
  method: string,
  path: string,
  body?: Json,
  headers: Record<string, string> = {},
): Promise<Json> {
  const answer = await fetch(`${await server()}/${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { "content-type": "application/json", ...headers },
  });
  const json = await answer.json();
  if (!answer.ok) {
    throw Object.assign(new Error(`Error from server (${json.reason}): ${json.message}`), {
      code: answer.status,
    });
  }
  return json;
}

/** The object, or `undefined` when there is none. */
async function find(path: string): Promise<Json | undefined> {
  try {
    return await call("GET", path);
  } catch (error) {
    if ((error as { code?: number }).code === 404) return undefined;
    throw error;
  }
}

/** Prints rows, their columns as wide as those of `like`. */
function print(rows: readonly (readonly string[])[], like = rows): void {
  const widths = like[0]?.map((_, i) => Math.max(...like.map((row) => row[i]?.length ?? 0))) ?? [];
  for (const row of rows) {
    console.log(row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("   ").trimEnd());
  }
}

async function get(words: readonly string[]): Promise<void> {
  const { path } = target(words);
  const { output } = values;
  const field = /^jsonpath=\{?\.?([^}]*)\}?$/.exec(output ?? "")?.[1];
  if (output === "yaml") return console.log(stringify(await call("GET", path)).trimEnd());
  if (output === "json") return console.log(JSON.stringify(await call("GET", path), null, 4));
  if (field !== undefined) {
    const value = field.split(/(?<!\\)\./).reduce(
      (at, key) => at?.[key.replaceAll("\\", "")],
      await call("GET", path),
    );
    await Deno.stdout.write(
      new TextEncoder().encode(typeof value === "object" ? JSON.stringify(value) : String(value ?? "")),
    );
    return;
  }
  if (output === "name") {
    for (const { metadata } of (await call("GET", path)).items) {
      console.log(`externaldatabase.crd.my.domain/${metadata.name}`);
    }
    return;
  }
  if (output !== undefined && output !== "wide") {
    throw new Error(`the output "${output}" is not known here: wide, name, yaml, json or jsonpath={.FIELD}`);
  }
  const everywhere = values["all-namespaces"] === true;
  const { head, rows } = await tableOf(path);
  if (rows.length === 0 && values.watch !== true) {
    return console.log(`No resources found${everywhere ? "" : ` in ${values.namespace} namespace.`}`);
  }
  const shown = [...(values["no-headers"] ? [] : [head]), ...rows];
  print(shown);
  const before = new Map(rows.map((row) => [identity(row), row.slice(0, -1).join()]));
  while (values.watch === true) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const now = (await tableOf(path)).rows;
    // The last column is the age, which is no change.
    print(now.filter((row) => before.get(identity(row)) !== row.slice(0, -1).join()), shown);
    before.clear();
    for (const row of now) before.set(identity(row), row.slice(0, -1).join());
  }
}

/** What tells rows apart: the name, with the namespace before it where there are several. */
function identity(row: readonly string[]): string {
  return row.slice(0, values["all-namespaces"] ? 2 : 1).join("/");
}

/** The table that the API makes of one object or of all. */
async function tableOf(path: string): Promise<{ head: string[]; rows: string[][] }> {
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const table = await call("GET", path, undefined, { accept });
  const shown = table.columnDefinitions.map((c: Json) => !c.priority || values.output === "wide");
  const pick = (first: string, cells: readonly unknown[]) => [
    ...(values["all-namespaces"] ? [first] : []),
    ...cells.filter((_, i) => shown[i]).map((cell) => cell === null || cell === "" ? "<none>" : String(cell)),
  ];
  return {
    head: pick(
      "NAMESPACE",
      table.columnDefinitions.map((c: Json) => c.name.toUpperCase().replaceAll(" ", "-")),
    ),
    rows: table.rows.map(({ cells, object }: Json) => pick(object.metadata.namespace, cells)),
  };
}

async function describe(words: readonly string[]): Promise<void> {
  const { path } = one(words);
  const { metadata, spec, status } = await call("GET", path);
  const { managedFields: _, ...shown } = metadata;
  console.log(stringify({ Metadata: shown, Spec: spec, Status: status }, { lineWidth: 0 }).trimEnd());
  const events = await call("GET", `api/v1/namespaces/${metadata.namespace}/events`);
  const at = (e: Json): string => e.lastTimestamp ?? e.eventTime ?? e.metadata.creationTimestamp;
  const own = events.items.filter((e: Json) => e.involvedObject.uid === metadata.uid)
    .sort((a: Json, b: Json) => at(a).localeCompare(at(b)));
  if (own.length === 0) return console.log("Events:  <none>");
  console.log("Events:");
  print([["  Type", "Reason", "Message"], ...own.map((e: Json) => [`  ${e.type}`, e.reason, e.message])]);
}

async function apply(): Promise<void> {
  const file = values.filename;
  if (file === undefined) throw new Error("say which file: -f FILE, or -f - for standard input");
  const text = file === "-"
    ? await new Response(Deno.stdin.readable).text()
    : await Deno.readTextFile(file.startsWith("/") ? file : `${Deno.env.get("INIT_CWD") ?? "."}/${file}`);
  for (const document of parseAllDocuments(text)) {
    if (document.errors[0] !== undefined) throw new Error(`${file}: ${document.errors[0].message.trim()}`);
    const object = document.toJS();
    if (object !== null) await applyOne(object);
  }
}

async function applyOne(object: Json): Promise<void> {
  if (typeof object?.kind !== "string" || typeof object.metadata?.name !== "string") {
    throw new Error("the manifest needs apiVersion, kind and metadata.name");
  }
  const { kind, path } = one([object.kind.toLowerCase(), object.metadata.name], object.metadata.namespace);
  const before = await find(path);
  const after = await call("PATCH", `${path}?fieldManager=kubectl&force=true`, object, {
    "content-type": "application/apply-patch+yaml",
  });
  const same = before?.metadata.resourceVersion === after.metadata.resourceVersion;
  said(kind, object.metadata.name, before === undefined ? "created" : same ? "unchanged" : "configured");
}

function said(kind: string, name = "", what: string): void {
  console.log(`${kind === "secret" ? kind : `${kind}.crd.my.domain`}/${name} ${what}`);
}

async function merge(words: readonly string[], patch: Json, what: string): Promise<void> {
  const { kind, name, path } = one(words);
  await call("PATCH", path, patch, { "content-type": "application/merge-patch+json" });
  said(kind, name, what);
}

/** What `--patch` asks for. */
function asked(): Json {
  try {
    return JSON.parse(values.patch ?? "");
  } catch (error) {
    throw new Error(`-p needs a patch in JSON: ${messageOf(error)}`);
  }
}

async function annotate(words: readonly string[]): Promise<void> {
  const pairs = words.filter((word) => /[=-]$|=/.test(word));
  const annotations = Object.fromEntries(pairs.map((pair) => {
    const at = pair.indexOf("=");
    return at < 0 ? [pair.replace(/-$/, ""), null] : [pair.slice(0, at), pair.slice(at + 1)];
  }));
  await merge(words.filter((word) => !pairs.includes(word)), { metadata: { annotations } }, "annotated");
}

async function remove(words: readonly string[]): Promise<void> {
  const { kind, name, path } = one(words);
  await call("DELETE", path);
  console.log(
    `${
      kind === "secret" ? kind : `${kind}.crd.my.domain`
    } "${name}" deleted from ${values.namespace} namespace`,
  );
  if (values.wait !== "false") {
    await until(async () => await find(path) === undefined, `${kind} "${name}" to go`);
  }
}

async function wait(words: readonly string[]): Promise<void> {
  const { kind, name, path } = one(words);
  const wanted = values.for ?? "";
  const condition = /^condition=(\w+)$/.exec(wanted)?.[1];
  const [, field, value] = /^jsonpath=\{\.([\w.]+)\}=(.+)$/.exec(wanted) ?? [];
  if (wanted !== "delete" && condition === undefined && field === undefined) {
    throw new Error("say what for: --for=condition=NAME, --for=jsonpath={.FIELD}=VALUE or --for=delete");
  }
  await until(async () => {
    const object = await find(path);
    if (wanted === "delete") return object === undefined;
    if (field !== undefined) return String(field.split(".").reduce((at, key) => at?.[key], object)) === value;
    return object?.status?.conditions?.some((c: Json) => c.type === condition && c.status === "True") ===
      true;
  }, `${kind}/${name}`);
  said(kind, name, wanted === "delete" ? "deleted" : "condition met");
}

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const [, number, unit] = /^(\d+)(s|m)$/.exec(values.timeout ?? "") ?? [];
  const end = performance.now() +
    (number === undefined ? WAIT_MS : Number(number) * (unit === "m" ? 60_000 : 1_000));
  while (!await holds()) {
    if (performance.now() > end) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

const [command, ...words] = positionals;
try {
  if (command === "get") await get(words);
  else if (command === "describe") await describe(words);
  else if (command === "apply") await apply();
  else if (command === "patch") await merge(words, asked(), "patched");
  else if (command === "annotate") await annotate(words);
  else if (command === "delete") await remove(words);
  else if (command === "wait") await wait(words);
  else throw new Error(USAGE);
} catch (error) {
  const text = messageOf(error);
  console.error(text.startsWith("Error from server") ? text : `error: ${text}`);
  Deno.exit(1);
}
