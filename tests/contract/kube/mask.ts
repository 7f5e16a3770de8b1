/**
 * Masks what differs between two runs, so that answers can be compared word by word: times, UIDs, versions.
 *
 * @module
 */

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Masks the values of one test; equal UIDs stay equal. */
export class Mask {
  readonly #uids = new Map<string, string>();
  readonly #words: [string, string][] = [];

  /** Shows a word, such as the test's namespace, under another name. */
  word(word: string, shown: string): void {
    this.#words.push([word, shown]);
  }

  /** A masked copy with sorted keys. */
  value(value: unknown, key = ""): Json {
    if (typeof value === "string") return this.#text(value, key);
    if (typeof value !== "object" || value === null) return value as Json;
    if (Array.isArray(value)) return this.#list(value, key);
    const from = value as Record<string, unknown>;
    const out: Record<string, Json> = {};
    for (const name of Object.keys(from).sort()) {
      if (name === "remainingItemCount") out[name] = from[name] as Json;
      else if (from[name] !== undefined) out[name] = this.value(from[name], name);
    }
    const causes = (from["details"] as { causes?: unknown[] } | undefined)?.causes;
    if (from["kind"] === "Status" && Array.isArray(causes) && causes.length > 1) {
      // The server checks members in Go's random map order.
      out["message"] = String(out["message"]).replace(/is invalid: \[.*\]$/s, "is invalid: [the causes]");
    }
    return out;
  }

  #list(list: unknown[], key: string): Json {
    const masked = list.map((item) => this.value(item));
    const unordered = key === "causes" || key === "managedFields";
    return unordered ? masked.sort((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1) : masked;
  }

  #text(text: string, key: string): string {
    if (key === "resourceVersion") return text === "" ? "" : "RV";
    if (key === "continue") return text === "" ? "" : "CONTINUE";
    if (key === "time" || key === "lastTransitionTime" || key.endsWith("Timestamp")) return "TIME";
    let out = text;
    for (const [word, shown] of this.#words) out = out.replaceAll(word, shown);
    return out
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (uid) => {
        const known = this.#uids.get(uid) ?? `UID${this.#uids.size + 1}`;
        this.#uids.set(uid, known);
        return known;
      })
      .replace(/Invalid value: "\{.*\}": (?=strict|json|parsing)/s, "Invalid value: OBJECT: ")
      .replace(/current: \d+/, "current: RV")
      .replace(/too old resource version: \d+ \(\d+\)/, "too old resource version: RV (RV)")
      .replace(/in record \(\d+\)/, "in record (RV)")
      .replace(/^(\d+m)?\d+s$/, "AGE")
      .replace(/^(gen-)[a-z0-9]{5}$/, "$1SUFFIX");
  }
}
