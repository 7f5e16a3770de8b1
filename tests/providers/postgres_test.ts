import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { seed } from "../fuzz/settings.ts";
import { DeadlineError } from "../../src/core/wait.ts";
import { ProviderError } from "../../src/providers/port.ts";
import { Call } from "../../src/providers/postgres/call.ts";
import { asProviderError } from "../../src/providers/postgres/errors.ts";
import { databaseName, formatId, MAX_NAME_BYTES, parseId } from "../../src/providers/postgres/names.ts";
import { createPostgresProvider } from "../../src/providers/postgres/provider.ts";
import { formatRecord, parseRecord, tagFragment } from "../../src/providers/postgres/record.ts";
import { maskUrls } from "../../src/server/mask.ts";
import { parseServers } from "../../src/providers/postgres/servers_file.ts";
import { identifier, literal } from "../../src/providers/postgres/statements.ts";
import { satisfies, versionOf } from "../../src/providers/postgres/versions.ts";
import { VirtualClock } from "./virtual_clock.ts";

// The same values in every run, unless FUZZ_SEED asks for others.
fc.configureGlobal({ seed: seed() });

const text = fc.string({ unit: "binary", maxLength: 300 });

Deno.test("names are plain identifiers of at most 63 bytes, whatever they are derived from", () => {
  fc.assert(fc.property(text, text, text, (namespace, name, clientToken) => {
    const derived = databaseName({ namespace, name, clientToken });
    assert(/^db_[a-z0-9_]*_[a-z2-7]{20}$/.test(derived), derived);
    assert(derived.length <= MAX_NAME_BYTES && !derived.startsWith("pg_"));
  }));
});

Deno.test("names never collide: the token alone tells them apart, also where the front is cut or replaced", () => {
  const long = "n".repeat(63);
  const parts = [
    { namespace: long, name: "x".repeat(253) },
    { namespace: long, name: `${"x".repeat(252)}y` },
    { namespace: "a-b", name: "c" },
    { namespace: "a", name: "b-c" },
    { namespace: "a", name: "b.c" },
    { namespace: undefined, name: "ä" },
  ];
  const names = parts.flatMap((part, n) =>
    ["1", "2"].map((incarnation) => databaseName({ ...part, clientToken: `uid-${n}-${incarnation}` }))
  );
  assertEquals(new Set(names).size, names.length);
  assertEquals(names[0], databaseName({ ...parts[0]!, clientToken: "uid-0-1" }));
  fc.assert(fc.property(fc.uniqueArray(text, { minLength: 2, maxLength: 50 }), (tokens) => {
    const all = tokens.map((clientToken) => databaseName({ namespace: "a", name: "b", clientToken }));
    assertEquals(new Set(all).size, tokens.length);
  }));
});

Deno.test("ids have one spelling each, printable, and what is no id is none", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 15 }), (name) => {
    fc.pre(new TextEncoder().encode(name).length <= MAX_NAME_BYTES && !name.includes("\0"));
    const id = formatId({ server: "7713740980298947754", name });
    assert(/^[\x21-\x7e]+$/.test(id) && id.length <= 253);
    assertEquals(parseId(id), { server: "7713740980298947754", name });
  }));
  fc.assert(fc.property(text, (id) => {
    const parsed = parseId(id);
    if (parsed !== undefined) assertEquals(formatId(parsed), id);
  }));
  const server = "7713740980298947754";
  for (
    const id of ["", "db-1", "a/b", server, `${server}/`, `${server}/%2`, `${server}/a%00`, `${server}/%61`]
  ) {
    assertEquals(parseId(id), undefined, id);
  }
  assertEquals(parseId(`${server}/${"é".repeat(32)}`), undefined); // 64 bytes
});

Deno.test("quoted text is one token of SQL with the same meaning, and what cannot be quoted is refused", () => {
  fc.assert(fc.property(text, (value) => {
    if (value.includes("\0")) {
      assertThrows(() => identifier(value));
      assertThrows(() => literal(value));
      return;
    }
    const name = identifier(value);
    assert(name.startsWith('"') && name.endsWith('"'));
    assertEquals(name.slice(1, -1).replaceAll('""', "").includes('"'), false);
    assertEquals(name.slice(1, -1).replaceAll('""', '"'), value);
    const quoted = literal(value);
    const escapes = quoted.startsWith("E");
    assertEquals(escapes, value.includes("\\"));
    const inner = quoted.slice(escapes ? 2 : 1, -1);
    assert(!inner.replaceAll(/''|\\\\/g, "").match(/['\\]/), quoted);
    assertEquals(inner.replaceAll(/''|\\\\/g, (pair) => pair[0]!), value);
  }));
});

Deno.test("a record comes back as it was written, and each of its tags stands in it to be found", () => {
  fc.assert(fc.property(text, fc.dictionary(text, text), text, text, (name, tags, key, value) => {
    const record = {
      name,
      sizeGb: 20,
      tags: { ...tags },
      createdAt: "2026-01-01T00:00:00.000Z",
      ready: true,
    };
    const comment = formatRecord(record);
    assert(!comment.includes("\0"));
    assertEquals(parseRecord(comment), record);
    for (const [k, v] of Object.entries(tags)) assert(comment.includes(tagFragment(k, v)));
    const has = Object.hasOwn(tags, key) && tags[key] === value;
    // Nothing else looks like a tag, save the record's own field of that name.
    if (!has && comment.includes(tagFragment(key, value))) assert(["name", "createdAt"].includes(key));
  }));
  assertEquals(parseRecord(null), undefined);
  assertEquals(parseRecord("the shop's database"), undefined);
  for (const wrong of ["", "{", "[]", `{"tags":1}`]) {
    assertThrows(() => parseRecord(`externaldatabase/1 ${wrong}`), Error);
  }
});

Deno.test("the servers' file: one URL a line; what is wrong is told by line, never quoted", () => {
  const servers = parseServers(
    "# ours\r\n\npostgres://op:p%40ss%23@db1:6432/admin\n postgresql://op@[::1]?sslmode=verify-full&sslrootcert=/ca.pem\n",
  );
  assertEquals(
    servers.map(({ host, port, user, password, database }) => [host, port, user, password, database]),
    [
      ["db1", 6432, "op", "p@ss#", "admin"],
      ["::1", 5432, "op", undefined, "postgres"],
    ],
  );
  assertEquals(servers.map(({ tls, tlsAuthorities }) => [tls, tlsAuthorities]), [[false, undefined], [
    true,
    "/ca.pem",
  ]]);
  for (
    const line of [
      "",
      "hunter2",
      "http://op:hunter2@h",
      "postgres://op:hunter2@/x",
      "postgres://:hunter2@h",
      "postgres://op:hun#hunter2@h",
      "postgres://op:hunter2%@h",
      "postgres://op:hunter2@h?options=-c%20x",
      "postgres://op:hunter2@h?sslmode=prefer",
      "postgres://op:hunter2@h?identity=a/b",
      "postgres://a:hunter2@h\npostgres://b:hunter2@h:5432/y",
    ]
  ) {
    const error = assertThrows(() => parseServers(line), Error);
    assert(!error.message.includes("hunter2") && /line|no server/.test(error.message), error.message);
    assertEquals(maskUrls(error.message), error.message, "what is told is not taken for a credential");
  }
});

Deno.test("versions: a major, or a minor that is that or newer", () => {
  const have = versionOf(160_014);
  const cases: [string, boolean][] = [
    ["16", true],
    ["16.14", true],
    ["16.3", true],
    ["16.15", false],
    ["15", false],
    ["17", false],
    ["1", false],
    ["16.x", false],
    ["latest", false],
  ];
  for (const [wanted, fits] of cases) assertEquals(satisfies(have, wanted), fits, wanted);
});

/** An error as the driver throws it. */
function serverError(code: string): Error {
  return Object.assign(new Error(`the server says ${code}`), { code, severity: "ERROR" });
}

Deno.test("errors come in the class that their SQLSTATE and the moment mean", () => {
  const cases: [code: string, before: string, after: string][] = [
    ["42P04", "exists", "exists"],
    ["42710", "exists", "exists"],
    ["23505", "exists", "exists"],
    ["28P01", "unauthorised", "unauthorised"],
    ["28000", "unauthorised", "unauthorised"],
    ["42501", "rejected", "rejected"],
    ["22023", "rejected", "rejected"],
    ["55006", "busy", "busy"],
    ["XX000", "retryable", "retryable"],
    ["53300", "retryable", "retryable"],
    ["57014", "retryable", "retryable"],
    ["57P01", "retryable", "unknown"],
    ["57P02", "retryable", "unknown"],
    ["57P03", "retryable", "unknown"],
    ["57P05", "retryable", "unknown"],
    ["25P03", "retryable", "unknown"],
    ["08006", "retryable", "unknown"],
  ];
  const signal = new AbortController().signal;
  const classOf = (call: Call, error: unknown) => (asProviderError(call, error) as ProviderError).errorClass;
  for (const [code, before, after] of cases) {
    const call = new Call("create", signal);
    assertEquals(classOf(call, serverError(code)), before, code);
    call.send();
    assertEquals(classOf(call, serverError(code)), after, code);
  }
  const broken = new Error("Connection terminated unexpectedly");
  for (const verb of ["get", "list", "info"] as const) {
    for (const error of [broken, new DeadlineError("x", 1), serverError("57P01")]) {
      assertEquals(classOf(new Call(verb, signal), error), "retryable");
    }
  }
  for (const verb of ["create", "modify", "delete"] as const) {
    for (const error of [broken, new DeadlineError("x", 1)]) {
      const call = new Call(verb, signal);
      assertEquals(classOf(call, error), "retryable");
      call.send();
      assertEquals(classOf(call, error), "unknown");
    }
  }
});

Deno.test("what can no longer end within the call is not sent: retryable at first, unknown between two steps", () => {
  let late = true;
  let told = 0;
  const call = new Call("create", new AbortController().signal, () => told++, () => late);
  assertEquals(assertThrows(() => call.send(), ProviderError).errorClass, "retryable");
  assertEquals([told, call.sent], [0, false]);
  late = false;
  call.send();
  call.send();
  assertEquals([told, call.sent], [1, true]);
  late = true;
  assertEquals(assertThrows(() => call.send(), ProviderError).errorClass, "unknown");
});

Deno.test("a servers' file that cannot be used: unauthorised, named and not quoted; nothing is connected to", async () => {
  const clock = new VirtualClock();
  const call = { signal: new AbortController().signal };
  const files: (() => Promise<string>)[] = [
    () => Promise.resolve("postgres://op:hunter2@"),
    () => Promise.reject(new Deno.errors.NotFound("No such file: readfile '/x/servers'")),
    () => new Promise(() => {}),
  ];
  for (const readFile of files) {
    const provider = createPostgresProvider({ clock, urlFile: "/x/servers", readFile });
    const error = await clock.until(provider.info(call).catch((e) => e)) as ProviderError;
    assertEquals(error.errorClass, "unauthorised");
    assert(error.message.includes("/x/servers") && !error.message.includes("hunter2"), error.message);
  }
});
