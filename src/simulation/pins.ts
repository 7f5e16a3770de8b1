/**
 * Settings of the cloud that stand over what a seed draws, so that a campaign can be about one kind of provider.
 *
 * @module
 */
import { UNKNOWN_ACCOUNT } from "../providers/info.ts";
import { checkSetting, type CloudSettings, DEFAULT_SETTINGS } from "../providers/simulated/settings.ts";
import type { Plan } from "./plan.ts";

/** The settings that are pinned. */
export type Pins = Partial<CloudSettings>;

/**
 * The plan with these settings in place of its own.
 *
 * A cloud keeps what it promises, pinned or not: one whose bounds are beyond what is believed of a cloud that does not
 * describe itself (cloud-api.md) describes itself, and a token is remembered for the effect bound at least.
 */
export function pinned(plan: Plan, pins: Pins): Plan {
  if (Object.keys(pins).length === 0) return plan;
  const cloud = { ...DEFAULT_SETTINGS, ...plan.cloud, ...pins };
  const beyond = cloud.readLagMs > UNKNOWN_ACCOUNT.readLagSeconds * 1_000 ||
    cloud.effectBoundMs > UNKNOWN_ACCOUNT.effectBoundSeconds * 1_000;
  return {
    ...plan,
    cloud: {
      ...plan.cloud,
      ...pins,
      ...(beyond ? { describesItself: true } : {}),
      ...(cloud.tokenMemoryMs > 0
        ? { tokenMemoryMs: Math.max(cloud.tokenMemoryMs, cloud.effectBoundMs) }
        : {}),
    },
  };
}

/** Reads `name=value`, the value as JSON or a word. Throws when there is no such setting or its value makes no sense. */
export function parsePin(text: string): Pins {
  const at = text.indexOf("=");
  if (at < 1) throw new Error(`"${text}" does not pin anything; write it like readLagMs=20000`);
  const key = text.slice(0, at);
  const value = jsonOr(text.slice(at + 1));
  checkSetting(key, value);
  return { [key]: value };
}

/** The flags that pin these again. */
export function pinFlags(pins: Pins): string {
  return Object.entries(pins).map(([key, value]) => {
    if (key === "clientTokens") return ` --tokens ${value ? "yes" : "no"}`;
    if (key === "readLagMs") return ` --read-lag ${value}ms`;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return ` --pin ${/^[\w.=-]*$/.test(text) ? `${key}=${text}` : `'${key}=${text}'`}`;
  }).join("");
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
