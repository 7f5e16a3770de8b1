/**
 * The keys that requests are signed with.
 *
 * @module
 */

/** Keys of a user or, with a session token, of a role. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** When they end, in wall milliseconds. */
  readonly expiresAt?: number;
}

/** Keys from names and values. Throws, without quoting a value, when one is missing or cannot be one. */
export function keysFrom(record: Readonly<Record<string, string>>, where: string): AwsKeys {
  const take = (name: string) => (record[name] ?? record[name.toLowerCase()] ?? "").trim();
  const accessKeyId = take("AWS_ACCESS_KEY_ID");
  const secretAccessKey = take("AWS_SECRET_ACCESS_KEY");
  const sessionToken = take("AWS_SESSION_TOKEN");
  const action = `Reading AWS credentials from ${where}`;
  if (accessKeyId === "") throw new Error(`${action}: AWS_ACCESS_KEY_ID is missing`);
  if (secretAccessKey === "") throw new Error(`${action}: AWS_SECRET_ACCESS_KEY is missing`);
  for (const value of [accessKeyId, secretAccessKey, sessionToken]) {
    if (!/^[\x21-\x7e]{0,16384}$/.test(value)) {
      throw new Error(`${action}: a value has characters that no key has`);
    }
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken === "" ? {} : { sessionToken }) };
}

/**
 * The keys of one section of a credentials file (`key = value` lines). Throws an Error that quotes no value. What other
 * tools allow there, such as `credential_process` or `source_profile`, is not followed: only keys are read.
 */
export function keysInFile(text: string, profile: string): AwsKeys {
  let section: string | undefined;
  const found: Record<string, string> = {};
  let seen = false;
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#") || line.startsWith(";")) continue;
    const head = /^\[\s*(?:profile\s+)?(.+?)\s*\]$/.exec(line);
    if (head !== null) {
      section = head[1];
      seen ||= section === profile;
      continue;
    }
    const at = line.indexOf("=");
    if (section === profile && at > 0) {
      found[line.slice(0, at).trim().toUpperCase()] = line.slice(at + 1).trim();
    }
  }
  if (!seen) throw new Error(`there is no section "${profile}"`);
  return keysFrom(found, `its section "${profile}"`);
}
