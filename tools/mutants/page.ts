import type { Known } from "./known.ts";
export async function writePage(_: Known): Promise<void> {}
