/**
 * Counts, for each site, the resources that wait for their settle window (rule 5).
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import type { Keeper } from "./keeper.ts";
import type { ProviderSite } from "./site.ts";

/** Who waits, by site. */
export class Settling {
  readonly #waiting = new Map<ProviderSite, number>();
  /** At which site each that waits was counted: its resource may name another since. */
  readonly #countedAt = new WeakMap<Keeper, ProviderSite>();

  /** How many wait at a site. */
  of(site: ProviderSite): number {
    return this.#waiting.get(site) ?? 0;
  }

  /** One more (1) or one less (−1) waits. */
  follow(keeper: Keeper, delta: 1 | -1, siteOf: (object: ExternalDatabase) => ProviderSite): void {
    const site = this.#countedAt.get(keeper) ?? siteOf(keeper.object);
    if (delta === 1) this.#countedAt.set(keeper, site);
    else this.#countedAt.delete(keeper);
    this.#waiting.set(site, this.of(site) + delta);
  }
}
