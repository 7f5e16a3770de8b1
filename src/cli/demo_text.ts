/**
 * What the demo tells the person in front of the terminal.
 *
 * @module
 */
import type { FleetRow } from "../server/fleet.ts";

/** Where everything of a demo is. */
export interface DemoPlaces {
  readonly api: string;
  readonly kubeconfig: string;
  readonly page: string;
  readonly cloud: string;
  readonly tokenFile: string;
  readonly kind: "local" | "simulated";
  /** Why the cloud is not the local one. */
  readonly instead?: string | undefined;
}

/** Rows of the table at most. */
const MAX_ROWS = 20;

/** The first words: what there is, and what to type next. */
export function introduction(places: DemoPlaces): string {
  const { api, kubeconfig, page, cloud, tokenFile, kind, instead } = places;
  const where = kind === "local"
    ? "Each database is a PostgreSQL server of its own on this machine; nothing is installed."
    : `Everything runs in this process; nothing is installed.${
      instead === undefined ? "" : `\nThe cloud is simulated: ${instead}.`
    }`;
  return `ExternalDatabase operator, demo. ${where}

  Kubernetes API   ${api}   (kubeconfig: ${kubeconfig})
  Page             ${page}
  Metrics          ${page}metrics
  ${kind === "local" ? "Local cloud     " : "Simulated cloud "} ${cloud}/v1/databases   (token: ${tokenFile})

Type next, in another terminal of this directory:

  export KUBECONFIG=$PWD/${kubeconfig}
  kubectl get externaldatabases --watch
  kubectl describe externaldatabase orders
  kubectl patch externaldatabase orders --type=merge -p '{"spec":{"sizeGb":40}}'
  kubectl delete externaldatabase orders

Without kubectl, let a stand-in take its place first:

  kubectl() { npx --yes deno@2.9.6 task -q kubectl "$@"; }

Delete a database behind the operator's back, and watch it come back:

  curl -X DELETE -H "Authorization: Bearer $(cat ${tokenFile})" \\
    ${cloud}/v1/databases/$(kubectl get externaldatabase catalogue -o jsonpath='{.status.providerId}')

Ctrl-C ends it all and removes .demo.

`;
}

/** How to log in to a database by its connection Secret. */
export function login(name: string): string {
  return `
Log in to one, with what its Secret says:

  psql "$(kubectl get secret ${name}-connection -o jsonpath='{.data.uri}' | base64 -d)" -c 'SELECT version()'

or without psql and kubectl:

  npx --yes deno@2.9.6 task psql ${name} 'SELECT version()'
`;
}

/** `rows` as kubectl would print them, under a heading. */
export function table(rows: readonly FleetRow[], heading: string): string {
  const sorted = [...rows].sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  const cells = [
    ["NAMESPACE", "NAME", "ENGINE", "VERSION", "SIZE", "STATE", "READY", "SYNCED", "ENDPOINT"],
    ...sorted.slice(0, MAX_ROWS).map((row) => [
      row.namespace,
      row.name,
      row.engine,
      row.version,
      `${row.sizeGb}Gi`,
      row.state,
      row.ready,
      row.synced?.status ?? "",
      row.endpoint ?? row.reason,
    ]),
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ??
    [];
  const lines = cells.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("   ").trimEnd());
  if (sorted.length > MAX_ROWS) lines.push(`… and ${sorted.length - MAX_ROWS} more`);
  return `${heading}\n\n${lines.map((line) => `  ${line}`).join("\n")}\n`;
}
