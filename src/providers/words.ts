/**
 * The nearest state of the port for any word that a cloud uses for what a database is doing.
 *
 * @module
 */
import type { DatabaseState } from "./port.ts";

const WORDS: readonly (readonly [RegExp, DatabaseState])[] = [
  [/^(provisioning|creating|pending|requested|building|starting-first-time)$/, "Provisioning"],
  // Full storage is served and is cured by a change of size, which only an available database takes.
  [/^(available|ready|running|active|online|storage-?full|storage-?optimi[sz]ation)$/, "Available"],
  [/^(deleting|deleted|dropping|terminating|removing)$/, "Deleting"],
  [/^(failed|create-?failed|provisioning-?failed)$/, "Failed"],
];

/**
 * The state for a cloud's word, whatever its case. An unknown word is `Modifying`: something goes on that we do not
 * know, so nothing is sent and the database is looked at again. It is never `Failed` (which may be replaced, rule 7)
 * and never `Deleting` (which is waited out).
 */
export function toState(word: string): DatabaseState {
  const plain = word.trim().toLowerCase().replace(/[\s_]+/g, "-");
  return WORDS.find(([pattern]) => pattern.test(plain))?.[1] ?? "Modifying";
}
