/** Contract: CEL rules, transition rules, ratcheting. @module */
import { assertEquals } from "@std/assert";
import { PATCH, type Session } from "./session.ts";
import type { ContractTests } from "./suite.ts";
import { type Manifest, widgetCrd } from "./widget_crd.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export const ruleTests: ContractTests = {
  "Rules refuse with message, message expression, field and reason": async (s: Session) => {
    const pick = (b: Manifest) => b.spec ?? b;
    for (
      const spec of [
        { size: 1, period: "30s" },
        { period: "5s" },
        { period: "90d" },
        { period: "1m" },
        { size: 0, period: "5s" },
        { counts: { a: 1, b: 4 } },
        { index: ["a"] },
        { index: ["a", "b"] },
        { index: ["a", "c"] },
        { ratioOf: 0 },
        { ratioOf: 2 },
        { ratioOf: 5 },
        { engine: "pg" },
        { size: 2, color: "pink", period: "5s" },
      ]
    ) { // deno-fmt-ignore-line
      await s.call(JSON.stringify(spec), "POST", `${s.widgets}?dryRun=All`, { body: s.widget("v", { size: 2, ...spec }), pick });
    }
  },
  "Transition rules compare with the stored object": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: s.widget("a", { size: 5, engine: "pg", code: "abc" }) });
    const patch = (step: string, body: object, sub = "") =>
      s.call(step, "PATCH", `${s.widgets}/a${sub}`, { body, type: PATCH.merge });
    await patch("shrink", { spec: { size: 1 } });
    await patch("grow", { spec: { size: 6 } });
    await patch("immutable", { spec: { engine: "my" } });
    await patch("removed", { spec: { engine: null } });
    await patch("added again", { spec: { engine: "my" } });
    await patch("locked by status", { status: { locked: true } }, "/status");
    await patch("grow while locked", { spec: { size: 7 } });
    await patch("label while locked", { metadata: { labels: { a: "b" } } });
  },
  "What became invalid may stay as it is, but a rule that errors refuses everything": async (s: Session) => {
    const group = `ratchet.${s.group}`;
    const at = `/apis/${group}/v1/namespaces/${s.namespace}/widgets/r`;
    const crd = widgetCrd(group);
    assertEquals((await s.quiet("POST", CRDS, { body: crd })).status, 201);
    await s.until(`/apis/${group}/v1/widgets`, (answer) => answer.status === 200);
    const spec = { size: 2, period: "20s", code: "abc", parts: [{ name: "a" }] };
    await s.quiet("POST", at.replace(/\/r$/, ""), {
      body: { ...s.widget("r", spec), apiVersion: `${group}/v1` },
    });
    const patch = (step: string, body: object, sub = "") =>
      s.call(step, "PATCH", at + sub, { body, type: PATCH.merge });
    await amend(s, group, (props) => {
      props.code.pattern = "^z+$";
      props.period["x-kubernetes-validations"] = [{
        rule: "duration(self) >= duration('60s')",
        message: "at least 60s",
      }];
    }, "size must be above 5");
    await patch("label", { metadata: { labels: { a: "c" } } });
    await patch("finalizer", { metadata: { finalizers: ["x.y/z"] } });
    await patch("status", { status: { state: "x" } }, "/status");
    await patch("the wrong field", { spec: { code: "abd" } });
    await patch("the field of a rule", { spec: { period: "30s" } });
    await patch("another field", { spec: { color: "red" } });
    await amend(s, group, (props) => {
      props.period["x-kubernetes-validations"] = [{
        rule: "duration(self + 'q') >= duration('60s')",
        message: "erroring",
      }];
    });
    await patch("label under an erroring rule", { metadata: { labels: { a: "d" } } });
    await patch("status under an erroring rule", { status: { state: "y" } }, "/status");
    await patch("finalizer under an erroring rule", { metadata: { finalizers: null } });
    await amend(s, group, (props) => delete props.period["x-kubernetes-validations"]);
    await patch("finalizer after the rule is mended", { metadata: { finalizers: null } });
    await s.quiet("DELETE", `${CRDS}/widgets.${group}`);
  },
};

/** Changes the schema of a stored definition and waits until the change is in force. */
async function amend(
  s: Session,
  group: string,
  change: (props: Manifest) => void,
  rule?: string,
): Promise<void> {
  const { body: crd } = await s.quiet("GET", `${CRDS}/widgets.${group}`);
  const schema = crd.spec.versions[0].schema.openAPIV3Schema.properties.spec;
  change(schema.properties);
  if (rule !== undefined) schema["x-kubernetes-validations"].push({ rule: "self.size > 5", message: rule });
  const marker = `m${crd.metadata.generation}`;
  schema.properties[marker] = { type: "string" };
  const put = await s.quiet("PUT", `${CRDS}/widgets.${group}`, { body: crd });
  assertEquals(put.status, 200, JSON.stringify(put.body));
  // In force once the new field is no longer unknown.
  const probe = {
    ...s.widget("probe", { size: 9, period: "70s", code: "zz", [marker]: "x" }),
    apiVersion: `${group}/v1`,
  };
  for (let i = 0; i < 200; i++) {
    const answer = await s.quiet(
      "POST",
      `/apis/${group}/v1/namespaces/${s.namespace}/widgets?dryRun=All&fieldValidation=Strict`,
      { body: probe },
    );
    if (!/unknown field/.test(JSON.stringify(answer.body))) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Amending the definition of "${group}" did not take effect`);
}
