/**
 * What kubectl says must be the same against the embedded API and a real one.
 *
 * @module
 */
import { type Manifest, widgetCrd } from "./widget_crd.ts";

/** What one command said. */
export interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl with arguments and, for `-f -`, a manifest. */
export type Kubectl = (args: readonly string[], stdin?: string) => Promise<CommandOutput>;

/** One masked command with its output. */
export interface Step {
  readonly command: string;
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What `KUBE_EDITOR` must be for the `edit` step: it turns `size: 40` into `size: 41`. */
export const EDITOR = "sed -i /size:/s/40/41/";

/** Runs the verbs of a day with custom resources in a namespace of its own; returns what was said, masked. */
export async function kubectlTranscript(kubectl: Kubectl): Promise<Step[]> {
  const unique = `k${crypto.randomUUID().replaceAll("-", "").slice(0, 10)}`;
  const group = `${unique}.example.com`;
  const steps: Step[] = [];
  const run = async (line: string, stdin?: string): Promise<CommandOutput> => {
    const args = line.replaceAll("NAMESPACE", unique).replaceAll("GROUP", group).split(" ");
    const output = await kubectl(args, stdin);
    const shown = (text: string) => mask(text.replaceAll(group, "GROUP").replaceAll(unique, "NAMESPACE"));
    steps.push({
      command: line,
      code: output.code,
      stdout: shown(output.stdout),
      stderr: shown(output.stderr),
    });
    return output;
  };
  const widget = (size: number, extra: object = {}) =>
    JSON.stringify({
      apiVersion: `${group}/v1`,
      kind: "Widget",
      metadata: { name: "w" },
      spec: { size, ...extra },
    });
  const map = (value: string) =>
    JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, data: { a: value } });
  const crd: Manifest = widgetCrd(group);
  crd.spec.names.shortNames = [`${unique}wd`]; // other tests' widgets have short names too
  crd.spec.names.categories = [`${unique}things`];
  const n = "-n NAMESPACE";
  await run("apply -f -", JSON.stringify(crd));
  await run("wait --for=condition=Established crd/widgets.GROUP --timeout=30s");
  await run("apply -f -", JSON.stringify(crd));
  await run("get crd widgets.GROUP");
  await run("api-resources --api-group=GROUP");
  await run("create namespace NAMESPACE");
  await run("get namespace NAMESPACE");
  await run(`${n} apply -f -`, widget(20));
  await run(`${n} apply -f -`, widget(20));
  await run(`${n} apply -f -`, widget(30));
  await run(`${n} apply -f -`, widget(20));
  await run(`${n} apply -f -`, widget(30, { foo: 1 }));
  await run(`${n} apply -f - --validate=false`, widget(30, { foo: 1 }));
  await run(`${n} apply -f -`, widget(0, { color: "pink" }));
  await run(`${n} apply -f - --dry-run=server`, widget(31));
  await run(`${n} apply -f - --server-side`, widget(31));
  await run(`${n} apply -f - --server-side --field-manager=other`, widget(32));
  await run(`${n} apply -f - --server-side --field-manager=other --force-conflicts`, widget(32));
  await run(`${n} get widgets.GROUP`);
  await run(`${n} get NAMESPACEwd -o wide`);
  await run(`${n} get NAMESPACEwd/w -o jsonpath={.spec}`);
  await run(`${n} get NAMESPACEwd/w -o name`);
  await run(`${n} get NAMESPACEthings`);
  await run("get NAMESPACEwd -A --field-selector=metadata.namespace=NAMESPACE");
  await run(`${n} get NAMESPACEwd --field-selector=spec.size=1`);
  await run(`${n} get NAMESPACEwd -l nothing=here`);
  await run(`${n} annotate NAMESPACEwd/w a=b`);
  await run(`${n} annotate NAMESPACEwd/w a=c`);
  await run(`${n} annotate NAMESPACEwd/w a=c --overwrite`);
  await run(`${n} label NAMESPACEwd/w a=b`);
  await run(`${n} label NAMESPACEwd/w a-`);
  await run(`${n} patch NAMESPACEwd/w --type=merge -p {"spec":{"size":40}}`);
  await run(`${n} patch NAMESPACEwd/w --type=merge -p {"spec":{"size":40}}`);
  await run(`${n} patch NAMESPACEwd/w --type=merge -p {"spec":{"size":10}}`);
  await run(`${n} patch NAMESPACEwd/w -p {"spec":{"size":40}}`);
  await run(`${n} patch NAMESPACEwd/w --type=json -p [{"op":"test","path":"/metadata/uid","value":"x"}]`);
  const status = '{"status":{"state":"Up","conditions":[{"type":"Ready","status":"True"}]}}';
  await run(`${n} patch NAMESPACEwd/w --subresource=status --type=merge -p ${status}`);
  await run(`${n} wait --for=condition=Ready NAMESPACEwd/w --timeout=5s`);
  await run(`${n} wait --for=jsonpath={.status.state}=Up NAMESPACEwd/w --timeout=5s`);
  await run(`${n} wait --for=condition=Synced NAMESPACEwd/w --timeout=1s`);
  await run(`${n} get NAMESPACEwd w`);
  await run(`${n} edit NAMESPACEwd w`);
  const uid =
    (await kubectl(["-n", unique, "get", `widgets.${group}`, "w", "-o", "jsonpath={.metadata.uid}"])).stdout;
  await run(`${n} create -f -`, event(group, unique, uid));
  await run(`${n} describe NAMESPACEwd w`);
  await run(`${n} get events`);
  await run("explain widget.spec --api-version=GROUP/v1");
  await run("explain widget.spec.size --api-version=GROUP/v1");
  await run("explain configmap.data");
  await run(`${n} create secret generic s --from-literal=a=b`);
  await run(`${n} create configmap c --from-literal=a=b`);
  await run(`${n} get secret s`);
  await run(`${n} get cm c -o jsonpath={.data}`);
  await run(`${n} apply -f -`, map("b"));
  await run(`${n} apply -f -`, map("c"));
  await run(`${n} describe cm m`);
  await run(`${n} get events`);
  await run(`${n} get nosuch`);
  await run(`${n} get NAMESPACEwd nosuch`);
  await run(`${n} get NAMESPACEwd --watch --request-timeout=2s`);
  await run("auth can-i create widgets.GROUP");
  await run(`${n} patch NAMESPACEwd/w --type=merge -p {"metadata":{"finalizers":["x.y/z"]}}`);
  await run(`${n} delete NAMESPACEwd w --wait=false`);
  await run(`${n} delete NAMESPACEwd w --timeout=1s`);
  await run(`${n} patch NAMESPACEwd/w --type=json -p [{"op":"remove","path":"/metadata/finalizers"}]`);
  await run(`${n} wait --for=delete NAMESPACEwd/w --timeout=5s`);
  await run(`${n} create -f -`, widget(2));
  await run(`${n} create -f -`, widget(2));
  await run(`${n} replace -f -`, widget(3));
  await run(`${n} delete NAMESPACEwd w`);
  await run(`${n} replace -f -`, widget(3));
  await run(`${n} delete NAMESPACEwd --all`);
  await run("delete namespace NAMESPACE --timeout=60s");
  await run("get namespace NAMESPACE");
  await run("delete crd widgets.GROUP --timeout=90s");
  await run("get crd widgets.GROUP");
  return steps;
}

/** An Event about the widget `w`. */
function event(group: string, namespace: string, uid: string): string {
  return JSON.stringify({
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: "w.1" },
    eventTime: "2026-01-01T10:00:00.000000Z",
    reportingController: "op",
    reportingInstance: "op-1",
    action: "Create",
    reason: "Created",
    regarding: { apiVersion: `${group}/v1`, kind: "Widget", name: "w", namespace, uid },
    note: "made it",
    type: "Normal",
    series: { count: 3, lastObservedTime: "2026-01-01T10:05:00.000000Z" },
  });
}

/** Masks times, identities and ages, and the spaces that columns are filled with. */
function mask(text: string): string {
  return text
    .replace(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/g, "TIME")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID")
    .replace(/(Resource Version:\s+|resourceVersion[\\":]+)\d+/g, "$1RV")
    .replace(/\b(\d+[ydhm])*\d+(\.\d+)?(ms|[ydhms])\b/g, "AGE")
    .replace(/https?:\/\/[^/\s"]+/g, "SERVER")
    .replace(/ +/g, " ")
    .replace(/ $/gm, "")
    .replace(/^[EWI]\d{4} .*\n/gm, "") // kubectl's own log, which tells of HTTP/1 and HTTP/2 alike
    // The server checks members in Go's random map order.
    .replace(/(^\* .*\n)+/gm, (lines) => lines.split("\n").slice(0, -1).sort().join("\n") + "\n");
}
