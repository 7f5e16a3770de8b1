/**
 * How the cloud reports what it was asked for: clouds normalise values (R6).
 *
 * @module
 */
import type { CloudSettings } from "./settings.ts";

/** The engine's name in the cloud's own case. */
export function reportedEngine(engine: string, settings: CloudSettings): string {
  switch (settings.engineCase) {
    case "as-is":
      return engine;
    case "lower":
      return engine.toLowerCase();
    case "upper":
      return engine.toUpperCase();
    case "title":
      return engine.slice(0, 1).toUpperCase() + engine.slice(1).toLowerCase();
  }
}

/** The version with the minor part that the cloud chose, where none was asked for. */
export function reportedVersion(version: string, settings: CloudSettings): string {
  const { minorVersion } = settings;
  return minorVersion !== null && /^\d+$/.test(version) ? `${version}.${minorVersion}` : version;
}
