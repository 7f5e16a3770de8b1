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
}

/** Starts `main.ts start` with the `http` provider against `kube`. */
export function startOperator(kube: Kube, { cloudUrl, namespace, kubeconfig, args = [] }: StartArgs): Child {
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
  );
}
