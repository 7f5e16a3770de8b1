/**
 * The files of the built page, from one folder: what was there when they were first asked for, held in memory.
 *
 * Promised: nothing but those files is ever served, for a path is looked up by name and never opened. A file whose name
 * holds a hash of its content never changes and is cached for ever; all others are asked for anew.
 *
 * @module
 */
import { once } from "../core/once.ts";
import { takesGzip } from "./body.ts";

/** The policy that the built page is served under: its own files and this server's API, and nothing inline. */
export const ASSETS_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Largest file that is served, in bytes. */
const MAX_BYTES = 8_388_608;
/** Most files. */
const MAX_FILES = 500;

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  map: "application/json; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  webmanifest: "application/manifest+json",
  woff2: "font/woff2",
};
/** Types that are compressed already. */
const PACKED: ReadonlySet<string> = new Set(["png", "woff2", "ico"]);

/** Paths that the page itself finds its way by: each is answered with `index.html`. */
const ROUTES = /^\/(?:chart|reasons(?:\/[A-Za-z]*)?|orphans|databases\/[^/]+\/[^/]+)?$/;

/** A name with a hash of eight characters or more before its ending: `main-5f3c9a1b.js`, `main.5F3C9A1B.css`. */
const HASHED = /[-.](?=[\w-]*\d)[\w-]{8,}\.[a-z0-9]+(?:\.map)?$/i;

interface Asset {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly immutable: boolean;
  packed?: Promise<Uint8Array<ArrayBuffer>> | undefined;
}

/** The files of a folder. */
export class Assets {
  readonly #files: () => Promise<ReadonlyMap<string, Asset>>;

  /** `folder`: a path; it need not exist. */
  constructor(folder: string) {
    this.#files = once(() => readFiles(folder));
  }

  /**
   * The answer to a GET or HEAD; `undefined` where there is no such file. Rejects when the folder is there and cannot be
   * read.
   */
  async answer(request: Request, url: URL): Promise<Response | undefined> {
    const files = await this.#files();
    const file = files.get(ROUTES.test(url.pathname) ? "/index.html" : url.pathname);
    if (file === undefined) return undefined;
    const headers = new Headers({
      "content-type": file.type,
      "cache-control": file.immutable ? "public, max-age=31536000, immutable" : "no-cache",
      "content-security-policy": ASSETS_CSP,
      vary: "accept-encoding",
    });
    if (file.packed !== undefined && takesGzip(request)) {
      headers.set("content-encoding", "gzip");
      return new Response(await file.packed, { headers });
    }
    return new Response(file.bytes, { headers });
  }
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const files = new Map<string, Asset>();
  await readFolder(folder, "", files).catch((error: unknown) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  return files;
}

async function readFolder(folder: string, prefix: string, files: Map<string, Asset>): Promise<void> {
  for await (const { name, isFile, isDirectory } of Deno.readDir(`${folder}${prefix}`)) {
    const path = `${prefix}/${name}`;
    if (isDirectory) await readFolder(folder, path, files);
    const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
    const type = TYPES[ending];
    if (!isFile || type === undefined) continue; // a link is not followed
    const bytes = await Deno.readFile(`${folder}${path}`);
    if (bytes.length > MAX_BYTES || files.size >= MAX_FILES) {
      throw new Error(`The page's folder holds more than can be served: ${path}`);
    }
    files.set(path, {
      bytes,
      type,
      immutable: HASHED.test(name),
      packed: PACKED.has(ending) || bytes.length < 1_400 ? undefined : gzip(bytes),
    });
  }
}

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}
