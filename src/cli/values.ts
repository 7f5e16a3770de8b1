/**
 * What flag values may look like: each function turns text into a value or throws an Error that says what is right.
 *
 * @module
 */
import { parseDuration } from "../api/duration.ts";

/** Where to listen. */
export interface ListenAddress {
  readonly hostname: string;
  /** 0: the system chooses. */
  readonly port: number;
}

/** A duration between `min` and `max` (both as text, such as `10s`), in milliseconds. */
export function durationBetween(min: string, max: string): (text: string) => number {
  const low = parseDuration(min);
  const high = parseDuration(max);
  return (text) => {
    const ms = parseDuration(text);
    if (ms < low || ms > high) {
      throw new Error(`Use a duration from ${min} to ${max}, such as 30s, 5m or 1h30m`);
    }
    return ms;
  };
}

/** A whole number between `min` and `max`. */
export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new Error(`Use a whole number from ${min} to ${max}`);
    return value;
  };
}

/** A number between `min` and `max`, fractions allowed. */
export function numberBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new Error(`Use a number from ${min} to ${max}`);
    return value;
  };
}

/** `host:port`, `[::1]:port`, or `:port` for every address. */
export function listenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65535) {
    throw new Error("Use host:port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080");
  }
  return { hostname: match[1] ?? (match[2] || "0.0.0.0"), port };
}

/** An absolute http or https URL, without a trailing slash. */
export function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new Error("Use an http:// or https:// URL, such as http://127.0.0.1:8090");
  }
  if (url.username !== "" || url.password !== "") {
    throw new Error("Leave credentials out of the URL; a token comes from a file, see --cloud-token-file");
  }
  return url.href.replace(/\/+$/, "");
}

/** A DNS label, as namespaces are named (RFC 1123: at most 63 of a-z, 0-9 and -). */
export function dnsLabel(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text)) {
    throw new Error("Use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit");
  }
  return text;
}

/** A DNS subdomain, as most objects are named (RFC 1123: labels joined by dots, at most 253). */
export function dnsName(text: string): string {
  if (
    text.length > 253 || !text.split(".").every((part) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(part))
  ) {
    throw new Error("Use labels of a-z, 0-9 and - joined by dots, at most 253 characters");
  }
  return text;
}

/** `namespace/name` of an object. */
export function resourceName(text: string): { readonly namespace: string; readonly name: string } {
  const [namespace = "", name = "", ...more] = text.split("/");
  try {
    if (more.length > 0) throw new Error("Too many parts");
    return { namespace: dnsLabel(namespace), name: dnsName(name) };
  } catch (cause) {
    throw new Error("Use namespace/name, such as default/orders", { cause });
  }
}

/** A cluster's identity, short enough for a tag's value. */
export function clusterIdentity(text: string): string {
  if (!/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(text)) {
    throw new Error("Use at most 63 letters, digits, dots, dashes and underscores");
  }
  return text;
}
