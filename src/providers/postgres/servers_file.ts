/**
 * The servers' file: one connection URL a line, so that no password stands on a command line.
 *
 * @module
 */

/** One server as the file names it. */
export interface ServerAddress {
  /** From 1. */
  readonly line: number;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  /** The database that is connected to; never one that is managed. */
  readonly database: string;
  readonly tls: boolean;
  /** Path of the authorities to trust instead of the system's. */
  readonly tlsAuthorities: string | undefined;
  /** What stands in ids instead of the server's system identifier: the former one after `pg_upgrade`. */
  readonly identity: string | undefined;
}

const PARAMETERS = ["sslmode", "sslrootcert", "identity"];
const TLS_MODES = ["disable", "require", "verify-ca", "verify-full"];

/** The servers in a file's text. Throws an Error that names the line and quotes nothing of it: it holds a password. */
export function parseServers(text: string): ServerAddress[] {
  const servers: ServerAddress[] = [];
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    servers.push(parseLine(line, index + 1));
  }
  if (servers.length === 0) throw new Error("there is no server in it: write one postgres:// URL a line");
  const seen = new Map<string, number>();
  for (const { host, port, line } of servers) {
    const first = seen.get(`${host}:${port}`);
    if (first !== undefined) throw new Error(`lines ${first} and ${line} name the same server`);
    seen.set(`${host}:${port}`, line);
  }
  return servers;
}

function parseLine(text: string, line: number): ServerAddress {
  const wrong = (what: string) => new Error(`line ${line}: ${what}`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["postgres:", "postgresql:"].includes(url.protocol)) {
    // Spelled so that what masks credentials in URLs leaves it as it is.
    throw wrong('it is no URL of a server: "postgres://", user:password, "@", then host:port/database');
  }
  if (url.hostname === "") throw wrong("the host is missing");
  if (url.username === "") throw wrong("the user is missing");
  if (url.hash !== "") throw wrong('there is a "#": write it as %23 in a password');
  for (const key of url.searchParams.keys()) {
    if (!PARAMETERS.includes(key)) throw wrong(`a parameter is not one of ${PARAMETERS.join(", ")}`);
  }
  const mode = url.searchParams.get("sslmode") ?? "disable";
  if (!TLS_MODES.includes(mode)) throw wrong(`sslmode is not one of ${TLS_MODES.join(", ")}`);
  const identity = url.searchParams.get("identity") ?? undefined;
  if (identity !== undefined && !/^\d{15,20}$/.test(identity)) {
    throw wrong("identity is not a system identifier: 15 to 20 digits");
  }
  const decode = (part: string, what: string) => {
    try {
      return decodeURIComponent(part);
    } catch {
      throw wrong(`the ${what} has a stray "%": write it as %25`);
    }
  };
  return {
    line,
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? 5432 : Number(url.port),
    user: decode(url.username, "user"),
    password: url.password === "" ? undefined : decode(url.password, "password"),
    database: decode(url.pathname.slice(1), "database") || "postgres",
    tls: mode !== "disable",
    tlsAuthorities: url.searchParams.get("sslrootcert") ?? undefined,
    identity,
  };
}
