/**
 * Cuts between a provider and its server, and what they show as.
 *
 * @module
 */
import { assert } from "@std/assert";
import { ProviderError } from "../../src/providers/port.ts";

/** What becomes of one request or statement: it passes, or its connection is cut before or after it took effect. */
export type Fate = "pass" | "before" | "after";

/** Cuts the connection at the nth from now on (from 0), once. */
export function cutAt(proxy: { fate: (what: never) => Fate }, n: number, fate: Fate): void {
  let count = 0;
  proxy.fate = () => (count++ === n ? fate : "pass");
}

/** The class of the error that a call ends with, or `done`. */
export async function classOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "done";
  } catch (error) {
    assert(error instanceof ProviderError, String(error));
    return error.errorClass;
  }
}
