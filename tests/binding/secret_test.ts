/**
 * What a connection Secret says, and what is made of one that was changed by hand: pure.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import jsonpatch from "fast-json-patch";
import fc from "fast-check";
import { MANAGED_BY, OPERATOR_NAME, SECRET_ANNOTATION } from "../../src/api/constants.ts";
import { factsOf, factsText, isComplete, splitEndpoint, typeOfEngine } from "../../src/binding/facts.ts";
import {
  mend,
  newSecret,
  ownerUid,
  ownerWords,
  type Password,
  passwordOf,
  seenOf,
  uriOf,
} from "../../src/binding/secret.ts";
import { newPassword, newRevision, systemEntropy } from "../../src/core/passwords.ts";
import type { StoredSecret } from "../../src/kube/secrets_port.ts";
import { cr } from "../statechart/support.ts";

const PASSWORD: Password = { password: "s3cret", revision: "r1" };
const ACCESS = { type: "postgresql", database: "orders", username: "dbadmin" };
const FACTS = factsOf("simulated", "postgres", { access: ACCESS, endpoint: "db-1.example:5432" });

function stored(facts = FACTS, password = PASSWORD): StoredSecret {
  const made = newSecret(cr(), "orders-connection", facts, password);
  return { ...made, metadata: { ...made.metadata, uid: "secret-1", resourceVersion: "7" } };
}

function patched(secret: StoredSecret, facts = FACTS, password = PASSWORD): StoredSecret {
  const operations = structuredClone(mend(secret, facts, password));
  return jsonpatch.applyPatch(structuredClone(secret), operations as never, true).newDocument as StoredSecret;
}

Deno.test("a new Secret is the CR's, holds all keys, and is as it is to be", () => {
  const secret = stored();
  assertEquals(ownerUid(secret), cr().metadata.uid);
  assertEquals(secret.metadata.labels, { [MANAGED_BY]: OPERATOR_NAME });
  assertEquals(passwordOf(secret), { ...PASSWORD, rotation: undefined });
  const { kind, revision, facts } = seenOf(secret);
  assertEquals([kind, revision, facts], ["ours", "r1", factsText(FACTS)]);
  assertEquals(mend(secret, FACTS, PASSWORD), []);
  assertEquals(JSON.stringify(seenOf(secret)).includes("s3cret"), false);
});

Deno.test("K2: whatever becomes of a Secret, mending makes it as it is to be again, and touches no key of others", () => {
  const whole = stored();
  const keys = Object.keys(whole.data ?? {});
  const harm = fc.record({
    data: fc.dictionary(
      fc.constantFrom(...keys, "other"),
      fc.constantFrom("", "!", btoa("x"), btoa("s3cret")),
    ),
    gone: fc.subarray(keys),
    labels: fc.constantFrom(undefined, {}, { [MANAGED_BY]: "helm" }, { a: "b" }),
    annotations: fc.constantFrom(undefined, {}, { [SECRET_ANNOTATION.checksum]: "0" }, { note: "mine" }),
  });
  fc.assert(fc.property(harm, ({ data, gone, labels, annotations }) => {
    const left = Object.fromEntries(Object.entries(whole.data ?? {}).filter(([key]) => !gone.includes(key)));
    const harmed: StoredSecret = {
      ...whole,
      metadata: { ...whole.metadata, labels, annotations },
      data: { ...left, ...data },
    };
    const again = patched(harmed);
    assertEquals([seenOf(again).facts, passwordOf(again)], [factsText(FACTS), {
      ...PASSWORD,
      rotation: undefined,
    }]);
    assertEquals(mend(again, FACTS, PASSWORD), []);
    assertEquals(again.data?.["other"], harmed.data?.["other"]);
    if (annotations !== undefined && "note" in annotations) {
      assertEquals(again.metadata.annotations?.["note"], "mine");
    }
  }));
});

Deno.test("K2: a password that is missing, edited, no base64, or without its checksum or revision is none", () => {
  const whole = stored();
  const data = (password: string | undefined) =>
    ({ ...whole, data: { ...whole.data, ...(password === undefined ? {} : { password }) } }) as StoredSecret;
  assertEquals(passwordOf(data(btoa("hunter2"))), undefined);
  assertEquals(passwordOf(data("%%%")), undefined);
  assertEquals(passwordOf(data("")), undefined);
  assertEquals(passwordOf(data("/w==")), undefined, "no UTF-8");
  for (const name of [SECRET_ANNOTATION.checksum, SECRET_ANNOTATION.revision]) {
    const { [name]: _, ...annotations } = whole.metadata.annotations ?? {};
    assertEquals(passwordOf({ ...whole, metadata: { ...whole.metadata, annotations } }), undefined, name);
  }
  assertEquals(passwordOf({ metadata: whole.metadata }), undefined);
});

Deno.test("before the endpoint is known host, port and uri are absent; when it goes they go", () => {
  const early = stored(factsOf("simulated", "postgres"));
  assertEquals(Object.keys(early.data ?? {}).sort(), ["password", "provider", "type"]);
  assertEquals(Object.keys(patched(early).data ?? {}).length, 8);
  assertEquals(Object.keys(patched(stored(), factsOf("simulated", "postgres")).data ?? {}).sort(), [
    ...["password", "provider", "type"],
  ]);
});

Deno.test("a URI is read back as what it was made of, whatever the parts hold", () => {
  const part = fc.string({ minLength: 1, unit: "grapheme" });
  fc.assert(fc.property(part, part, part, (username, password, database) => {
    const uri = uriOf({ ...FACTS, username, database }, password) ?? "";
    assert(URL.canParse(uri), uri);
    const url = new URL(uri);
    const read = [url.username, url.password, url.pathname.slice(1)].map(decodeURIComponent);
    // A path of one or two dots is no path of a URL.
    if (!/^\.{1,2}$/.test(database)) assertEquals(read, [username, password, database]);
    assertEquals([url.protocol, url.hostname, url.port], ["postgresql:", "db-1.example", "5432"]);
  }));
  assertEquals(
    uriOf({ ...FACTS, host: "2001:db8::1" }, "p"),
    "postgresql://dbadmin:p@[2001:db8::1]:5432/orders",
  );
  assertEquals(uriOf({ ...FACTS, host: undefined }, "p"), undefined);
});

Deno.test("endpoints are split at the port, an IPv6 address loses its brackets, anything else is none", () => {
  assertEquals(splitEndpoint("db.example:5432"), { host: "db.example", port: "5432" });
  assertEquals(splitEndpoint("[2001:db8::1]:3306"), { host: "2001:db8::1", port: "3306" });
  for (const bad of ["db.example", "db.example:", ":5432", "2001:db8::1:3306", "db:port", ""]) {
    assertEquals(splitEndpoint(bad), undefined, bad);
  }
  assertEquals(isComplete(factsOf("p", "postgres", { access: ACCESS, endpoint: "nonsense" })), false);
});

Deno.test("engines are named by the scheme of their URIs", () => {
  const names = ["postgres", "Postgres", "aurora-postgresql", "mysql", "mariadb", "oracle"];
  assertEquals(names.map(typeOfEngine), [
    ...["postgresql", "postgresql", "postgresql", "mysql", "mysql", "oracle"],
  ]);
});

Deno.test("K2: whose a foreign Secret is, is said by its owner reference, its label, or not at all", () => {
  const { metadata } = stored();
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "u" };
  const { ownerReferences: _, labels: __, ...bare } = metadata;
  assertEquals(ownerWords({ metadata: { ...bare, ownerReferences: [owner] } }), "belongs to Deployment web");
  assertEquals(ownerWords({ metadata: { ...bare, labels: { [MANAGED_BY]: "helm" } } }), "is managed by helm");
  assertEquals(ownerWords({ metadata: bare }), "has no owner reference to this resource");
  assertEquals(ownerUid({ metadata: { ...bare, ownerReferences: [owner] } }), undefined);
});

Deno.test("passwords are 32 letters and digits, revisions 12, and no two are alike", () => {
  const many = Array.from({ length: 200 }, () => newPassword(systemEntropy));
  for (const password of many) assertMatch(password, /^[A-Za-z0-9]{32}$/);
  assertEquals(new Set(many).size, many.length);
  assertMatch(newRevision(systemEntropy), /^[A-Za-z0-9]{12}$/);
  assertNotEquals(newRevision(systemEntropy), newRevision(systemEntropy));
});

Deno.test("passwords of a source that never gives a usable byte first are made all the same", () => {
  let n = 0;
  const entropy = { bytes: (size: number) => new Uint8Array(size).fill(n++ % 2 === 0 ? 255 : 7) };
  assertEquals(newPassword(entropy), "H".repeat(32));
});
