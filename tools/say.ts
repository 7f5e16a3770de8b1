/**
 * Lines on standard output, and whether a person watches.
 *
 * @module
 */
const encoder = new TextEncoder();

/** Writes a line. */
export function say(line: string): void {
  write(Deno.stdout, `${line}\n`);
}

/** Writes all of `text`, which a pipe may take in pieces. */
export function write(to: { writeSync(data: Uint8Array): number }, text: string): void {
  let left = encoder.encode(text);
  while (left.length > 0) left = left.subarray(to.writeSync(left));
}
