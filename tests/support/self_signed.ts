/**
 * Self-signed certificates for loopback, made with the platform's own cryptography.
 *
 * @module
 */
/** A certificate and its key, PEM. */
export interface TestPair {
  readonly cert: string;
  readonly key: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Makes a pair for 127.0.0.1 that expires `validMs` milliseconds from `now`. */
export async function selfSigned(name: string, now: number, validMs = 86_400_000): Promise<TestPair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", keys.publicKey));
  const subject = sequence(tlv(0x31, sequence(oid(0x55, 4, 3), tlv(0x0c, new TextEncoder().encode(name)))));
  const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2));
  const extension = (id: Uint8Array, value: Uint8Array) => sequence(id, tlv(4, value));
  const body = sequence(
    tlv(0xa0, tlv(2, Uint8Array.of(2))), // version 3
    tlv(2, crypto.getRandomValues(new Uint8Array(8)).map((byte, i) => i === 0 ? 1 : byte)),
    ecdsaWithSha256,
    subject,
    sequence(utcTime(now - 172_800_000), utcTime(now + validMs)),
    subject,
    spki,
    tlv(
      0xa3,
      sequence(
        extension(oid(0x55, 29, 19), sequence()), // no authority
        extension(oid(0x55, 29, 17), sequence(tlv(0x87, Uint8Array.of(127, 0, 0, 1)))),
      ),
    ),
  );
  const raw = new Uint8Array(await crypto.subtle.sign(ALGORITHM, keys.privateKey, body));
  const signature = sequence(integer(raw.subarray(0, 32)), integer(raw.subarray(32)));
  const certificate = sequence(body, ecdsaWithSha256, tlv(3, Uint8Array.of(0), signature));
  const key = new Uint8Array(await crypto.subtle.exportKey("pkcs8", keys.privateKey));
  return { cert: pem("CERTIFICATE", certificate), key: pem("PRIVATE KEY", key) };
}

function pem(label: string, bytes: Uint8Array): string {
  const lines = bytes.toBase64().match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** Tag, length, value. */
function tlv(tag: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Uint8Array.from([tag, ...size, ...parts.flatMap((part) => [...part])]);
}

function sequence(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return tlv(0x30, ...parts);
}

function oid(...bytes: readonly number[]): Uint8Array {
  return tlv(6, Uint8Array.from(bytes));
}

/** A positive integer without leading zeros. */
function integer(bytes: Uint8Array): Uint8Array {
  const from = bytes.findIndex((byte) => byte !== 0);
  const trimmed = bytes.subarray(Math.max(0, from));
  return tlv(2, ...(trimmed[0]! >= 128 ? [Uint8Array.of(0)] : []), trimmed);
}

function utcTime(ms: number): Uint8Array {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "").slice(2);
  return tlv(0x17, new TextEncoder().encode(text));
}
