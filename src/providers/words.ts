/**
 * The nearest state of the port for any word that a cloud uses for what a database is doing.
 *
 * @module
 */
import type { Database, DatabaseState } from "./port.ts";

const WORDS: readonly (readonly [RegExp, DatabaseState])[] = [
  [/^(provisioning|creating|pending|requested|building|starting-first-time)$/, "Provisioning"],
  // Full storage is served and is cured by a change of size, which only an available database takes.
  [/^(available|ready|running|active|online|storage-?full|storage-?optimi[sz]ation)$/, "Available"],
  // Changes and upkeep under which a database goes on serving, as a rule.
  [
    /^(modifying|updating|upgrading|resizing|scaling|patching|maintenance|backing-?up|configuring(-.+)?)$/,
    "Modifying",
  ],
  [/^((converting|moving)-to-vpc|resetting-master-credentials)$/, "Modifying"],
  [/^storage-(config-upgrade|initiali[sz]ation)$/, "Modifying"],
  [/^(deleting|deleted|dropping|terminating|removing)$/, "Deleting"],
  [/^(failed|create-?failed|provisioning-?failed)$/, "Failed"],
];

/**
 * The state for a cloud's word, whatever its case. An unknown word is `Modifying` and marked: something goes on that we
 * do not know, so nothing is sent, the database is looked at again, and nobody is told that it serves. It is never
 * `Failed` (which may be replaced, rule 7) and never `Deleting` (which is waited out).
 */
export function toState(word: string): Pick<Database, "state" | "unknownState"> {
  const plain = word.trim().toLowerCase().replace(/[\s_]+/g, "-");
  const state = WORDS.find(([pattern]) => pattern.test(plain))?.[1];
  return state === undefined ? { state: "Modifying", unknownState: true } : { state };
}
