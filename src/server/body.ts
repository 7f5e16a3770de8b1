/**
 * Answers with a body that may be large: compressed where the client takes that.
 *
 * @module
 */

/** Bodies below this many characters are sent as they are. */
const MIN_GZIP = 1_400;

/** A body and the headers that go with it. */
export interface Body {
  readonly body: BodyInit;
  readonly headers: Readonly<Record<string, string>>;
}

/** A text, or the pieces of one, as a body for this request. */
export function textBody(request: Request, text: string | readonly string[]): Body {
  const vary = { vary: "accept-encoding" };
  const pieces = typeof text === "string" ? [text] : text;
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length < MIN_GZIP) return { body: pieces.join(""), headers: vary };
  // Made only as it is read: for one who reads slowly nothing is held but the pieces, which are others' too.
  const body = ReadableStream.from(chunks(pieces)).pipeThrough(new TextEncoderStream());
  if (!takesGzip(request)) return { body, headers: vary };
  return {
    body: body.pipeThrough(new CompressionStream("gzip")),
    headers: { ...vary, "content-encoding": "gzip" },
  };
}

/** Whether a client says that it takes gzip. */
export function takesGzip(request: Request): boolean {
  const accepted = request.headers.get("accept-encoding") ?? "";
  return accepted.split(",").some((part) => {
    const [name, ...parameters] = part.trim().toLowerCase().split(";").map((p) => p.trim());
    return name === "gzip" && !parameters.some((p) => /^q=0(\.0{0,3})?$/.test(p));
  });
}

/** Characters that are made at once, before the event loop gets its turn. */
const CHUNK = 65_536;

function* chunks(pieces: readonly string[]): Iterable<string> {
  let waiting: string[] = [];
  let length = 0;
  for (const piece of pieces) {
    waiting.push(piece);
    length += piece.length;
    if (length < CHUNK) continue;
    yield waiting.join("");
    waiting = [];
    length = 0;
  }
  if (length > 0) yield waiting.join("");
}
