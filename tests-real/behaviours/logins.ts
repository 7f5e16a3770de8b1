/**
 * Logins to PostgreSQL by what a connection Secret says, and by nothing else.
 *
 * @module
 */
// @ts-types="@types/pg"
import pg from "pg";

/** Whether a client gets in by the URI of a Secret, and by its parts. */
export async function logsInBy(secret: Readonly<Record<string, string>>): Promise<boolean> {
  const { uri, host, port, database, username, password } = secret;
  const parts = {
    host: host!,
    port: Number(port),
    database: database!,
    user: username!,
    password: password!,
  };
  for (const config of [{ connectionString: uri! }, parts]) {
    const client = new pg.Client({ ...config, connectionTimeoutMillis: 10_000 });
    client.on("error", () => {}); // a server that ends meanwhile
    try {
      await client.connect();
      const { rows } = await client.query("SELECT current_user AS who");
      if (rows[0]?.who !== username) return false;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }
  return true;
}
