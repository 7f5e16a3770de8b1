/** The NetworkPolicy, judged as a network plugin would judge single connections by address and port. */
import { assertEquals } from "@std/assert";
import { parse } from "yaml";

const POLICY = new URL("../../deploy/components/network-policy/network-policy.yaml", import.meta.url);
const { spec } = parse(await Deno.readTextFile(POLICY));

// deno-lint-ignore no-explicit-any
type Any = any;

function bits(address: string): bigint {
  return address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function inside(address: string, cidr: string): boolean {
  const [base, length] = cidr.split("/") as [string, string];
  if (base.includes(":")) return false; // IPv6
  const shift = 32n - BigInt(length);
  return bits(address) >> shift === bits(base) >> shift;
}

/** Whether a connection goes out to an address outside the cluster. */
function outTo(address: string, port: number): boolean {
  return spec.egress.some(({ to, ports }: Any) =>
    ports.some((p: Any) => p.port === port && (p.protocol ?? "TCP") === "TCP") &&
    to.some(({ ipBlock }: Any) =>
      ipBlock !== undefined && inside(address, ipBlock.cidr) &&
      !(ipBlock.except ?? []).some((cidr: string) => inside(address, cidr))
    )
  );
}

Deno.test("the operator's pods reach the API server and HTTPS, and neither a node's credentials nor another port", () => {
  for (const [address, port] of [["10.96.0.1", 443], ["192.0.2.10", 6443], ["203.0.113.7", 443]] as const) {
    assertEquals([address, port, outTo(address, port)], [address, port, true]);
  }
  for (
    const [address, port] of [
      ...[["169.254.169.254", 80], ["169.254.169.254", 443], ["169.254.170.23", 80]] as const,
      ...[["203.0.113.7", 80], ["203.0.113.7", 5432], ["10.0.0.8", 22], ["10.0.0.8", 53]] as const,
    ]
  ) assertEquals([address, port, outTo(address, port)], [address, port, false]);
});

Deno.test("nobody but the namespace of the monitoring comes in, to the one port, and both directions are closed else", () => {
  assertEquals(spec.policyTypes, ["Ingress", "Egress"]);
  assertEquals(spec.ingress, [{
    from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }],
    ports: [{ port: 8080 }],
  }]);
  // A rule without "to" would be one to everywhere.
  for (const rule of spec.egress) assertEquals(Array.isArray(rule.to) && rule.to.length > 0, true);
});
