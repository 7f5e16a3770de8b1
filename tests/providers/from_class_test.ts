import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import type { ClassProvider } from "../../src/api/constants.ts";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { ClassError, createClassProvider } from "../../src/providers/from_class.ts";
import { ProviderError } from "../../src/providers/port.ts";

const options = { clock: systemClock, random: seededRandom(1) };
const { signal } = new AbortController();

for (
  const [provider, parameters, words] of [
    ["http", {}, "parameters.url is missing"],
    ["http", { url: "db.example" }, "parameters.url is not an http or https URL"],
    ["http", { url: "ftp://db.example" }, "parameters.url is not an http or https URL"],
    ["http", { url: "https://user:word@db.example" }, "parameters.url is not an http or https URL"],
    ["http", { url: "https://db.example", token: "x" }, "there is no parameters.token"],
    ["simulated", { size: "1" }, "there is no parameters.size"],
    ["postgres", { url: "postgres://db" }, "there is no parameters.url"],
    ["postgres", {}, "credentialsSecretRef is missing"],
    ["aws-rds", { region: "Nowhere" }, "region"],
    ["aws-rds", { color: "blue" }, "color"],
    ["local", {}, "parameters.folder is missing"],
  ] as const
) {
  Deno.test(`A class of ${provider} with ${JSON.stringify(parameters)} is refused: ${words}`, () => {
    const request = { provider, parameters, credentials: undefined };
    const error = assertThrows(() => createClassProvider(request, options), ClassError);
    assertStringIncludes(error.message, words);
    assert(!error.message.includes("user:word"), "no credential is quoted");
  });
}

Deno.test("A class of a provider that this build does not have is refused", () => {
  const request = { provider: "azure" as ClassProvider, parameters: {}, credentials: undefined };
  assertThrows(() => createClassProvider(request, options), ClassError, '"azure" is not in this build');
});

Deno.test("A class of http sends the token of its Secret as it is at each call, and none that is not there", async () => {
  const sent: (string | null)[] = [];
  let data: Readonly<Record<string, string>> = { token: "first\n" };
  const provider = createClassProvider({
    provider: "http",
    parameters: { url: "https://db.example/api" },
    credentials: () => Promise.resolve(data),
  }, {
    ...options,
    fetch: (url, init) => {
      assertEquals(String(url), "https://db.example/api/v1");
      sent.push(new Headers(init?.headers).get("authorization"));
      const body = { account: "a", clientTokens: true, readLagSeconds: 0, effectBoundSeconds: 1 };
      return Promise.resolve(Response.json(body));
    },
  });
  await provider.info({ signal });
  data = { token: "second" };
  await provider.info({ signal });
  assertEquals(sent, ["Bearer first", "Bearer second"]);
  data = { Token: "third" };
  const error = await assertRejects(() => provider.info({ signal }), ProviderError);
  assertEquals([error.errorClass, sent.length], ["unauthorised", 2]);
  assertStringIncludes(error.message, 'the Secret has no key "token"');
});

Deno.test("A class of postgres whose servers are wrong says so and quotes nothing of them", async () => {
  const provider = createClassProvider({
    provider: "postgres",
    parameters: {},
    credentials: () => Promise.resolve({ servers: "mysql://me:hidden@db" }),
  }, options);
  const error = await assertRejects(() => provider.info({ signal }), ProviderError);
  assertEquals(error.errorClass, "unauthorised");
  assert(!error.message.includes("hidden"), error.message);
  await provider.close?.();
});
