/**
 * Cuts the stream of a watch into its lines, one JSON value each. A partial line at the end is dropped (W3).
 *
 * @module
 */
import { KubeError } from "./port.ts";

/** Longest line, in characters: etcd refuses objects long before. */
const MAX_LINE = 16 * 1024 * 1024;

/** The complete lines of a stream; ends when the stream ends and throws what the stream throws. */
export async function* lines(body: ReadableStream<Uint8Array>, action: string): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      let rest = decoder.decode(value, { stream: true });
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
        parts.push(rest.slice(0, end));
        rest = rest.slice(end + 1);
        const line = parts.join("");
        parts = [];
        length = 0;
        if (line.trim() !== "") yield line;
      }
      if (rest !== "") {
        parts.push(rest);
        length += rest.length;
        if (length > MAX_LINE) {
          throw new KubeError("tooLarge", `${action}: a line is longer than ${MAX_LINE} characters`);
        }
      }
    }
  } finally {
    reader.releaseLock();
  }
}
