/**
 * The operator as a process of its own, run as `deno task start` runs it.
 *
 * @module
 */
import { Child } from "../../tests/cli/support.ts";
import type { Kube } from "./kube.ts";

/** What a test may set. */
export interface StartArgs {
  readonly cloudUrl: string;
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
}

/** Starts `main.ts start` with the `http` provider against `kube`. */
export function startOperator(
  kube: Kube,
  { cloudUrl, namespace, kubeconfig, args = [], env = {} }: StartArgs,
): Child {
  return new Child(
    [
      "start",
      "--provider=http",
      `--cloud-url=${cloudUrl}`,
      `--kubeconfig=${kubeconfig ?? kube.kubeconfig}`,
      "--listen=127.0.0.1:0",
      "--log-format=json",
      ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
      ...args,
    ],
    ["--allow-env", "--allow-read", "--allow-net=127.0.0.1"],
    { env },
  );
}

/** What the operator's HTTP server answered. */
export interface Probed {
  readonly status: number;
  readonly text: string;
}

/** Asks the operator's own HTTP server for `/readyz`, `/metrics` …; waits first until it says where it listens. */
export async function probe(child: Child, path: string): Promise<Probed> {
  const started = await child.line((line) => line.includes('"msg":"The operator has started"'));
  const { url } = JSON.parse(started) as { readonly url: string };
  const answer = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(5_000) });
  return { status: answer.status, text: await answer.text() };
}

/** What it logged so far, each line an object. */
export function logged(child: Child): readonly Readonly<Record<string, unknown>>[] {
  return child.out.split("\n").slice(0, -1).map((line) => JSON.parse(line));
}
