/** What can be said of the Helm chart without helm: its schema knows its values, and every flag of the operator. */
import { assert, assertEquals } from "@std/assert";
import { Ajv } from "ajv";
import { parse, parseAllDocuments } from "yaml";
import { START_FLAGS } from "../../src/cli/options.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const CHART = `${ROOT}deploy/helm/externaldatabase-operator`;
const read = (path: string) => Deno.readTextFile(path);
const schema = JSON.parse(await read(`${CHART}/values.schema.json`));
const values = parse(await read(`${CHART}/values.yaml`));
const validate = new Ajv({ allErrors: true, strict: false }).compile(schema);

// deno-lint-ignore no-explicit-any
type Any = any;

/** Helm's own merge: objects by key, all else replaced. */
function merged(below: Any, above: Any): Any {
  const plain = (x: Any) => typeof x === "object" && x !== null && !Array.isArray(x);
  if (!plain(below) || !plain(above)) return above;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, key in above ? merged(below[key], above[key]) : below[key]]),
  );
}

Deno.test("values.yaml and the values of ci/ are as the schema says, and the schema describes no value that is not there", async () => {
  assert(validate(values), JSON.stringify(validate.errors));
  for await (const { name } of Deno.readDir(`${CHART}/ci`)) {
    assert(validate(merged(values, parse(await read(`${CHART}/ci/${name}`)))), `${name}: ${validate.errors}`);
  }
  const walk = (described: Any, given: Any, path: string) => {
    for (const [key, inner] of Object.entries<Any>(described.properties ?? {})) {
      if (path === "" && key === "global") continue; // Helm's own
      assert(key in given, `${path}${key} is described and not in values.yaml`);
      if (
        described.additionalProperties === false && inner.properties && inner.additionalProperties === false
      ) {
        walk(inner, given[key], `${path}${key}.`);
      }
    }
  };
  walk(schema, values, "");
});

/** Flags that the chart sets by itself, or by a value of another name. */
const BY_THE_CHART = new Set([
  ...["provider", "cloud-url", "cloud-token-file", "postgres-url-file", "namespace", "listen"],
  ...["aws-region", "aws-endpoint-url", "aws-parameters-file", "aws-credentials-file"],
  ...["leader-elect", "lease-name", "http-auth", "tls-cert-file", "tls-key-file"],
]);
/** Flags that make no sense in a pod. */
const NOT_IN_A_POD = new Set(["kubeconfig", "context", "local-folder", "lease-namespace", "shards"]);

Deno.test("every flag of the operator has its value, with the same choices", () => {
  const camel = (name: string) => name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const offered = schema.properties.operator.properties;
  for (const { name, choices } of START_FLAGS) {
    if (BY_THE_CHART.has(name) || NOT_IN_A_POD.has(name)) {
      assert(!(camel(name) in offered), `${name} is the chart's own`);
      continue;
    }
    assert(
      camel(name) in offered,
      `--${name} has no value: add operator.${camel(name)}, or name it in this test`,
    );
    if (choices !== undefined) assertEquals(offered[camel(name)].enum, [...choices, null]);
  }
  const known = new Set(START_FLAGS.map(({ name }) => camel(name)));
  assertEquals(Object.keys(offered).filter((key) => !known.has(key)), []);
  const providers = START_FLAGS.find(({ name }) => name === "provider")!.choices!;
  assertEquals(schema.properties.provider.enum.toSorted(), providers.filter((p) => p !== "local").toSorted());
});

Deno.test("the command of deploy/ and of the chart allows what the image's own entry point allows", async () => {
  const dockerfile = (await read(`${ROOT}Dockerfile`)).replaceAll("\\\n", "");
  const entry: string[] = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)![1]!.replace(/,\s+/g, ","));
  const deployment = parseAllDocuments(await read(`${ROOT}deploy/base/deployment.yaml`))[0]!.toJS();
  const [{ command, env }] = deployment.spec.template.spec.containers;
  const hosts = env.find((v: Any) => v.name === "ALLOWED_HOSTS").value;
  assertEquals(
    command.map((flag: string) => flag.replace("$(ALLOWED_HOSTS)", hosts)),
    entry,
  );
});
