/**
 * docs/describe.md is what kubectl says of real resources, and in each situation that says why, and what next.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { applyResource, installCrd, SEED_SPEC } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { conditionOf, fastCloud, messageOf, read } from "../support/operator.ts";
import { startOperator } from "../support/operator_process.ts";
import { inOrder } from "../support/steps.ts";
import { masked } from "./masked.ts";
import { type Situation, SITUATIONS, type Stage } from "./situations.ts";

const FILE = new URL("../../docs/describe.md", import.meta.url);
/** Set by `deno task docs:describe`: the page is written instead of compared. */
const WRITE = Deno.env.get("WRITE_DOCS") === "1";

Deno.test("kubectl describe says why and what next, and docs/describe.md shows it", async (t) => {
  const step = inOrder(t);
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube, "described");
  const cloud = fastCloud({ engines: { postgres: ["14", "15", "16"] } });
  const server = serveCloud(cloud);
  const child = startOperator(kube, { cloudUrl: server.url, namespace: ns, args: ["--poll-interval=10s"] });
  const kubectl = async (...args: string[]) => {
    const output = await kube.kubectl(...args, "-n", ns);
    if (output.code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${output.stderr}`);
    return output.stdout;
  };
  const apply = async (name: string, spec = {}) => {
    const applied = await applyResource(kube, ns, name, { ...SEED_SPEC, ...spec });
    assertEquals(applied.code, 0, applied.stderr);
  };
  const stage: Stage = {
    kube,
    cloud,
    kubectl,
    apply,
    ready: async (name, spec) => {
      await apply(name, spec);
      await kubectl("wait", "--for=condition=Ready", `edb/${name}`, "--timeout=30s");
      await kubectl("wait", "--for=condition=Synced", `edb/${name}`, "--timeout=30s");
    },
    idOf: async (name) => (await read(kube, ns, name))?.status?.providerId ?? "",
  };
  const told: string[] = [];
  try {
    for (const situation of SITUATIONS) {
      await step(`${situation.title}: says why, and what next`, async () => {
        const text = await bringAbout(situation, stage, ns);
        told.push(section(situation, masked(text, ns), told.length === 0));
      });
    }
  } finally {
    await child.end();
    await server.close();
    // Nobody is there any more who would let them go.
    for (const { name } of SITUATIONS) {
      await kube.kubectl(
        "patch",
        "edb",
        name,
        "-n",
        ns,
        "--type=merge",
        '-p={"metadata":{"finalizers":null}}',
      );
    }
    await kube.kubectl("delete", "edb", "--all", "-n", ns, "--timeout=20s");
  }
  const page = [INTRODUCTION, ...told].join("\n\n") + "\n";
  if (WRITE) await Deno.writeTextFile(FILE, page);
  assertEquals(await Deno.readTextFile(FILE), page, 'it differs: run "deno task docs:describe"');
});

/** What kubectl describes once the situation is there, told and announced. */
async function bringAbout(situation: Situation, stage: Stage, ns: string): Promise<string> {
  const { name, bring, on, reason, why, next } = situation;
  await bring(stage);
  await eventually(
    `${name} is ${reason}`,
    async () => {
      const object = await read(stage.kube, ns, name);
      return conditionOf(object, on).endsWith(`/${reason}`);
    },
    30_000,
    50,
  );
  const message = messageOf(await read(stage.kube, ns, name), on);
  assertMatch(message, why);
  assertMatch(message, next);
  let text = "";
  await eventually(
    `the Events of ${name}`,
    async () => {
      text = await stage.kubectl("describe", "edb", name);
      const reasons = [...text.slice(text.indexOf("\nEvents:")).matchAll(/^ {2}(?:Normal|Warning) +(\w+)/gm)];
      assertEquals(reasons.filter(([, r]) => !situation.events.includes(r ?? "")).map(([, r]) => r), []);
      return reasons.length >= situation.events.length &&
        situation.events.every((r) => reasons.some(([, found]) => found === r));
    },
    20_000,
    200,
  );
  return text;
}

const INTRODUCTION = `<!-- Made by \`deno task docs:describe\` from what kubectl printed; do not edit. -->

# What kubectl describe says

What \`kubectl describe externaldatabase\` prints of resources on a real API server, run by the operator, with a simulated
cloud that was made to misbehave. A test brings each situation about and compares; names that are drawn, times and
versions are made constant. [reasons.md](reasons.md) has every reason, and what to do.`;

function section({ title, story, on, reason }: Situation, text: string, whole: boolean): string {
  // The first is shown whole; of the others, what differs.
  const shown = whole ? text : text.slice(text.indexOf("Spec:"));
  const link = `[\`${reason}\`](reasons.md#${reason.toLowerCase()})`;
  return `## ${title}\n\n${story} \`${on}\` says ${link}.\n\n\`\`\`\n${shown.trimEnd()}\n\`\`\``;
}
