/**
 * The flags of `statechart`, and the options that they become.
 *
 * @module
 */
import type { Flag, FlagValues } from "./flag.ts";
import type { StatechartOfOptions } from "./statechart_of.ts";
import { httpUrl, resourceName } from "./values.ts";

/** Result of `statechart`. */
export interface StatechartOptions {
  readonly format: "mermaid" | "svg" | "json";
  /** The resource whose live chart is shown instead. */
  readonly of?: StatechartOfOptions | undefined;
}

/** Flags of `statechart`. */
export const STATECHART_FLAGS: readonly Flag[] = [
  {
    name: "format",
    value: "format",
    choices: ["mermaid", "svg", "json"],
    default: "mermaid",
    description: "how the chart is drawn",
  },
  {
    name: "of",
    value: "namespace/name",
    parse: resourceName,
    description: "show the live chart and the history of this resource, as the operator tells them",
  },
  {
    name: "url",
    value: "url",
    default: "http://127.0.0.1:8080",
    parse: httpUrl,
    description: "where the operator serves its page; goes with --of",
  },
  {
    name: "token-file",
    value: "file",
    description: "file with the token to send to an operator that runs with --http-auth; goes with --of",
  },
  {
    name: "ca-file",
    value: "file",
    description: "CA certificates (PEM) to trust besides the system's; goes with --of and an https URL",
  },
];

/** The options of `statechart`. Throws an Error that names the flag when flags do not go together. */
export function toStatechartOptions(values: FlagValues): StatechartOptions {
  const of = values["of"] as { readonly namespace: string; readonly name: string } | undefined;
  const url = values["url"] as string;
  const tokenFile = values["token-file"] as string | undefined;
  const caFile = values["ca-file"] as string | undefined;
  for (const flag of ["token-file", "ca-file"]) {
    if (of === undefined && values[flag] !== undefined) {
      throw new Error(`--${flag} goes with --of: name the resource, or leave it out`);
    }
  }
  if (caFile !== undefined && !url.startsWith("https:")) {
    throw new Error(
      "--ca-file goes with an https:// URL in --url: without HTTPS no certificate is looked at",
    );
  }
  return {
    format: values["format"] as StatechartOptions["format"],
    ...(of === undefined ? {} : { of: { ...of, url, tokenFile, caFile } }),
  };
}
