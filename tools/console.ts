/**
 * The console of the demo's cloud: what a colleague does there behind the operator's back.
 *
 *     deno task console show
 *     deno task console edit shop sizeGb=10
 *     deno task console create legacy engine=postgres version=16 sizeGb=50
 *     deno task console snapshots
 *     deno task console delete shop
 *
 * @module
 */

/** A database as the cloud shows it. */
interface Database {
  readonly id: string;
  readonly engine: string;
  readonly version: string;
  readonly sizeGb: number;
  readonly state: string;
  readonly tags: Readonly<Record<string, string>>;
}

async function fromDemo(name: string): Promise<string> {
  try {
    return (await Deno.readTextFile(`.demo/${name}`)).trim();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error('There is no .demo here; run "deno task demo" in another terminal');
  }
}

// deno-lint-ignore no-explicit-any
async function cloud(method: string, path: string, body?: unknown): Promise<any> {
  const answer = await fetch(`${await fromDemo("cloud-url")}${path}`, {
    method,
    headers: { authorization: `Bearer ${await fromDemo("cloud-token")}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.status === 404 && path.startsWith("/admin/")) {
    throw new Error("Only the simulated cloud can be edited: run the demo with --cloud simulated");
  }
  if (!answer.ok) {
    throw new Error(`The cloud refused ${method} ${path}: ${told(text) ?? `HTTP status ${answer.status}`}`);
  }
  return text === "" ? undefined : JSON.parse(text);
}

/** The message of an error's body, where it has one. */
function told(body: string): string | undefined {
  try {
    return JSON.parse(body).error.message;
  } catch {
    return undefined; // no body of this API: the status says all that there is
  }
}

/** The database of a resource, by its tag or its id. */
async function idOf(name: string): Promise<string> {
  const { items } = await cloud("GET", "/v1/databases") as { readonly items: readonly Database[] };
  const found = items.find(({ id, tags }) => id === name || tags["kubernetes.io/cr-name"] === name);
  if (found === undefined) throw new Error(`There is no database of "${name}" at the cloud`);
  return found.id;
}

async function show(): Promise<void> {
  const { items } = await cloud("GET", "/v1/databases") as { readonly items: readonly Database[] };
  const rows = items.map(({ id, engine, version, sizeGb, state, tags }) => [
    ...[id, tags["kubernetes.io/cr-name"] ?? "-", engine, version, `${sizeGb}`, state],
  ]).sort((a, b) => (a[1] ?? "") < (b[1] ?? "") ? -1 : 1);
  const all = [["ID", "OF", "ENGINE", "VERSION", "SIZE", "STATE"], ...rows];
  const widths = all[0]?.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0))) ?? [];
  for (const row of all) console.log(row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("   ").trimEnd());
}

/** `sizeGb=10` and such as an object. */
function change(fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => {
    const at = field.indexOf("=");
    if (at < 1 || at === field.length - 1) {
      throw new Error(`"${field}" is not FIELD=VALUE, such as sizeGb=10`);
    }
    const [key, value] = [field.slice(0, at), field.slice(at + 1)];
    const number = Number(value);
    return [key, ["sizeGb", "usedGb"].includes(key) && !Number.isNaN(number) ? number : value];
  }));
}

const [verb, name = "", ...fields] = Deno.args;
try {
  if (verb === "show") await show();
  else if (verb === "create" && fields.length > 0) {
    const { id } = await cloud("POST", "/admin/databases", { name, ...change(fields) });
    console.log(`${id} created`);
  } else if (verb === "snapshots") {
    const { items } = await cloud("GET", "/admin/snapshots") as {
      readonly items: readonly { name: string }[];
    };
    for (const snapshot of items) console.log(snapshot.name);
  } else if (verb === "edit" && fields.length > 0) {
    const id = await idOf(name);
    await cloud("PATCH", `/admin/databases/${id}`, change(fields));
    console.log(`${id} edited`);
  } else if (verb === "delete" && name !== "") {
    const id = await idOf(name);
    await cloud("DELETE", `/v1/databases/${id}`);
    console.log(`${id} deleted`);
  } else {throw new Error(
      "Use: deno task console show | snapshots | edit NAME FIELD=VALUE … | create NAME FIELD=VALUE … | delete NAME",
    );}
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  Deno.exit(1);
}
