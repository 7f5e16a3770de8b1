/**
 * The whole program behind reviews and HTTPS, on the embedded API with a stand-in for its reviews in front.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { sampleDatabases } from "../../src/cli/samples.ts";
import { showStatechart } from "../../src/cli/statechart_of.ts";
import { systemClock } from "../../src/core/clock.ts";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { eventually } from "../support/eventually.ts";
import { selfSigned } from "../support/self_signed.ts";
import { Child, main } from "./support.ts";

const PERMISSIONS = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read"];

/** The embedded API behind a server that answers reviews: `scraper` may get /metrics, `viewer` the page. */
async function reviewedApi() {
  const embedded = await serveEmbeddedApi();
  const state = { down: false, reviews: 0 };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const url = new URL(request.url);
    const kind = /\/(tokenreviews|subjectaccessreviews)$/.exec(url.pathname)?.[1];
    if (kind === undefined) {
      return await fetch(embedded.url + url.pathname + url.search, {
        method: request.method,
        headers: request.headers,
        signal: request.signal,
        ...(request.body === null ? {} : { body: await request.text() }),
      });
    }
    state.reviews++;
    if (state.down) {
      return Response.json({ kind: "Status", code: 403, message: "no right to" }, { status: 403 });
    }
    const { spec } = await request.json();
    const { user, token, nonResourceAttributes: asked } = spec;
    const status = kind === "tokenreviews"
      ? {
        authenticated: token !== "stolen",
        user: { username: token, groups: ["g"], extra: { "a/b": ["c"] } },
      }
      : {
        allowed: asked.verb === "get" && spec.groups[0] === "g" && spec.extra["a/b"][0] === "c" &&
          (user === "scraper"
            ? asked.path === "/metrics"
            : user === "viewer" && asked.path.startsWith("/externaldatabases/")),
      };
    return Response.json({ apiVersion: "v1", kind: "Review", metadata: {}, spec, status }, { status: 201 });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const made = await fetch(`${embedded.url}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(customResourceDefinition()),
  });
  assertEquals(made.status, 201, await made.text());
  return {
    state,
    url,
    kubeconfig: embedded.kubeconfig().replaceAll(embedded.url, url),
    async close() {
      await embedded.close();
      await server.shutdown();
    },
  };
}

Deno.test("behind reviews and HTTPS a scrape and the page are seen by those who may, health by all, and the certificate rotates", async () => {
  const directory = await Deno.makeTempDir();
  const api = await reviewedApi();
  const [one, two] = [await selfSigned("one", systemClock.now()), await selfSigned("two", systemClock.now())];
  const write = async ({ cert, key }: { cert: string; key: string }) => {
    await Deno.writeTextFile(`${directory}/tls.crt`, cert);
    await Deno.writeTextFile(`${directory}/tls.key`, key);
  };
  await write(one);
  await Deno.writeTextFile(`${directory}/kubeconfig`, api.kubeconfig);
  const child = new Child([
    ...["start", "--kubeconfig", `${directory}/kubeconfig`, "--listen", "127.0.0.1:0"],
    ...["--provider", "simulated", "--http-auth", "kubernetes"],
    ...["--tls-cert-file", `${directory}/tls.crt`, "--tls-key-file", `${directory}/tls.key`],
  ], PERMISSIONS);
  try {
    const line = await child.line((text) => text.includes("The operator has started"));
    const url = JSON.parse(line).url as string;
    assertMatch(url, /^https:/);
    const ask = async (path: string, token?: string, trusted = one.cert) => {
      using client = Deno.createHttpClient({ caCerts: [trusted] });
      const headers: HeadersInit = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const response = await fetch(url + path, { client, headers } as RequestInit);
      return { status: response.status, text: await response.text() };
    };
    const status = async (path: string, token?: string) => (await ask(path, token)).status;
    await eventually("it is ready", async () => await status("/readyz") === 200);
    assertEquals(await status("/healthz"), 200);
    assertEquals([await status("/metrics"), await status("/metrics", "stolen")], [401, 401]);
    assertEquals([await status("/metrics", "scraper"), await status("/", "scraper")], [200, 403]);
    assertEquals([await status("/api/fleet", "viewer"), await status("/", "viewer")], [200, 200]);
    assertEquals(await status("/metrics", "viewer"), 403);
    const { text } = await ask("/metrics", "scraper");
    assertMatch(text, /^externaldatabase_http_access_total\{outcome="unauthenticated"\} 2$/m);
    assertMatch(text, /^externaldatabase_tls_certificate_expiry_timestamp_seconds \d{10}/m);
    api.state.down = true;
    assertEquals(await status("/metrics", "somebody-new"), 503, "nobody is let in on trust");
    assertEquals(await status("/healthz"), 200);
    api.state.down = false;
    await write({ cert: two.cert, key: one.key });
    await eventually("the bad pair is told", () => child.out.includes("do not belong together"), 15_000);
    assertEquals(await status("/healthz"), 200, "the pair before stays");
    await write(two);
    await eventually("the new certificate is served", async () => {
      return await ask("/healthz", undefined, two.cert).then((r) => r.status === 200, () => false);
    }, 15_000);
    const after = await ask("/metrics", "scraper", two.cert);
    assertMatch(after.text, /^externaldatabase_tls_reload_failures_total 1$/m);
    for (const secret of ["stolen", "somebody-new", "scraper", "PRIVATE"]) {
      assert(!child.out.includes(secret), `"${secret}" is in the log`);
    }
    child.kill("SIGTERM");
    assertEquals([await child.code(), child.err], [0, ""]);
  } finally {
    await child.end();
    await api.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a pair that cannot be used ends the start with one line that names the file", async () => {
  const directory = await Deno.makeTempDir();
  const api = await reviewedApi();
  try {
    await Deno.writeTextFile(`${directory}/kubeconfig`, api.kubeconfig);
    const child = new Child([
      ...[
        "start",
        "--kubeconfig",
        `${directory}/kubeconfig`,
        "--listen",
        "127.0.0.1:0",
        "--provider",
        "simulated",
      ],
      ...["--tls-cert-file", `${directory}/none.crt`, "--tls-key-file", `${directory}/none.key`],
    ], PERMISSIONS);
    assertEquals(await child.code(), 1);
    assertMatch(
      child.err,
      /^error: Reading the file of --tls-(cert|key)-file failed: .*none\.(crt|key).*\n$/,
    );
    const half = new Child(["start", "--tls-key-file", "x"], PERMISSIONS);
    assertEquals(await half.code(), 2);
    assertMatch(half.err, /--tls-key-file needs --tls-cert-file/);
  } finally {
    await api.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("statechart --of shows its token to an operator behind reviews and HTTPS, and says which flag is missing or wrong", async () => {
  const directory = await Deno.makeTempDir();
  const api = await reviewedApi();
  const [pair, other] = [
    await selfSigned("operator", systemClock.now()),
    await selfSigned("other", systemClock.now()),
  ];
  const file = async (name: string, text: string) => {
    await Deno.writeTextFile(`${directory}/${name}`, text);
    return `${directory}/${name}`;
  };
  const [sample] = sampleDatabases(1);
  assert(sample);
  const made = await fetch(`${api.url}/apis/crd.my.domain/v1/namespaces/default/externaldatabases`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(sample),
  });
  assertEquals(made.status, 201, await made.text());
  const { name } = sample.metadata;
  const caFile = await file("tls.crt", pair.cert);
  const child = new Child([
    ...["start", "--kubeconfig", await file("kubeconfig", api.kubeconfig), "--listen", "127.0.0.1:0"],
    ...["--provider", "simulated", "--http-auth", "kubernetes"],
    ...["--tls-cert-file", caFile, "--tls-key-file", await file("tls.key", pair.key)],
  ], PERMISSIONS);
  try {
    const { url } = JSON.parse(await child.line((text) => text.includes("The operator has started")));
    const show = (files: { readonly tokenFile?: string; readonly caFile?: string }) =>
      showStatechart({ namespace: "default", name, url, ...files }, { clock: systemClock, fetch });
    const tokenFile = await file("token", "viewer\n");
    await eventually("the database is shown", async () => {
      return await show({ caFile, tokenFile }).then(
        (text) => text.startsWith(`default/${name}  `),
        () => false,
      );
    });
    const flags = ["--of", `default/${name}`, "--url", url, "--token-file", tokenFile, "--ca-file", caFile];
    const { code, out, err } = await main(["statechart", ...flags], {}, PERMISSIONS);
    assertEquals([code, err], [0, ""]);
    assertMatch(out, new RegExp(`^default/${name}  .*\n(.*\n)*History: `));

    const refused = async (files: Parameters<typeof show>[0], words: RegExp) => {
      const error = await assertRejects(() => show(files), Error);
      assertMatch(error.message, words);
      for (const secret of ["viewer", "scraper", "stolen"]) {
        assert(!error.message.includes(secret), error.message);
      }
    };
    await refused({ caFile }, /asks for a token .*401.*--token-file/);
    // The file is read again each time: whoever renews it needs no other name.
    await file("token", "stolen");
    await refused({ caFile, tokenFile }, /does not take the token in --token-file ".*token".*401/);
    await file("token", "scraper");
    await refused(
      { caFile, tokenFile },
      /--token-file ".*token" may not see .*403.*\/externaldatabases\/api\//,
    );
    await file("token", "two words");
    await refused({ caFile, tokenFile }, /Reading the token file ".*token": it is empty, too long, or/);
    await refused({ caFile, tokenFile: `${directory}/none` }, /Reading the token file ".*none": /);
    await file("token", "viewer");
    await refused({ tokenFile }, /cannot be reached; --ca-file names the CA/);
    await refused({ tokenFile, caFile: await file("other.crt", other.cert) }, /--ca-file names the CA/);
    await refused({ tokenFile, caFile: tokenFile }, /--ca-file ".*token" holds no certificate in PEM/);
    await refused({ tokenFile, caFile: `${directory}/none` }, /Reading the file of --ca-file failed/);
    api.state.down = true;
    await file("token", "somebody-new");
    await refused({ caFile, tokenFile }, /cannot say now .*503.*try again/);
    assert(!child.out.includes("somebody-new"));
  } finally {
    await child.end();
    await api.close();
    await Deno.remove(directory, { recursive: true });
  }
});
