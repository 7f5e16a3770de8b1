/**
 * Runs one SQL statement on a database of the demo, by what its connection Secret says: `deno task psql orders "SELECT 1"`.
 *
 * For machines without psql and kubectl. It knows no more than the demo's kubeconfig.
 *
 * @module
 */
// @ts-types="@types/pg"
import pg from "pg";

const [name, statement = "SELECT version()"] = Deno.args;
if (name === undefined) {
  console.error('Use: deno task psql NAME ["SQL"]');
  Deno.exit(2);
}
try {
  const kubeconfig = await Deno.readTextFile(".demo/kubeconfig");
  const server = /server: "([^"]+)"/.exec(kubeconfig)?.[1];
  const answer = await fetch(`${server}/api/v1/namespaces/default/secrets/${name}-connection`);
  if (!answer.ok) {
    throw new Error(`Reading the Secret "${name}-connection" failed: HTTP status ${answer.status}`);
  }
  const { data } = await answer.json() as { readonly data: Readonly<Record<string, string>> };
  const client = new pg.Client({
    connectionString: atob(data["uri"] ?? ""),
    connectionTimeoutMillis: 10_000,
  });
  await client.connect();
  try {
    const { rows, rowCount, command } = await client.query<Record<string, unknown>>(statement);
    if (rows.length > 0) console.table(rows);
    else console.log(`${command} ${rowCount ?? ""}`.trim());
  } finally {
    await client.end();
  }
} catch (error) {
  const gone = error instanceof Deno.errors.NotFound;
  const why = error instanceof Error ? error.message : String(error);
  console.error(`error: ${gone ? 'There is no .demo here; run "deno task demo" in another terminal' : why}`);
  Deno.exit(1);
}
