/**
 * Tells an actor what a list of the connection Secrets shows of its own.
 *
 * @module
 */
import { isOlderVersion } from "../api/resource_version.ts";
import type { SecretSeen } from "../binding/facts.ts";
import { equal } from "../core/equal.ts";
import type { Keeper } from "./keeper.ts";

/**
 * Tells whoever has a Secret by its status and none by the list, and whoever read or wrote one itself that went, or went
 * back, before a watch could tell. Each then reads it again, for the list may be an old one.
 */
export function tellListed(keeper: Keeper, listed: readonly SecretSeen[]): void {
  const held = keeper.secret;
  if (held?.kind === "ours") {
    const shown = listed.find((s) => s.kind === "ours" && s.uid === held.uid);
    if (shown?.kind !== "ours") return keeper.send({ type: "binding.changed", gone: held.uid });
    if (isBehind(shown, held)) {
      return keeper.send({ type: "binding.changed", secret: shown, rewound: true });
    }
  }
  const { status } = keeper.object;
  if (status?.binding !== undefined && listed.length === 0) keeper.send({ type: "world.changed" });
}

type OurSecret = SecretSeen & { readonly kind: "ours" };

/** Whether a list shows a Secret as it was before what is held of it, or otherwise under the same version. */
function isBehind(shown: OurSecret, held: OurSecret): boolean {
  const [listed, known] = [shown.resourceVersion, held.resourceVersion];
  return isOlderVersion(listed, known) || (listed === known && !equal(shown, held));
}
