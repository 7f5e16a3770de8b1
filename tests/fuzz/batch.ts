/**
 * What must hold of a batch of resources, whatever they are: what is accepted becomes usable or says which field stands
 * in the way; nothing crashes; nothing that is shown carries markup or control characters; nothing is left behind.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { FINALIZER, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { eventually } from "../support/eventually.ts";
import type { Engines, FuzzRig } from "./rig.ts";

const MERGE = "application/merge-patch+json";
/** How long a batch may take to come to rest, or to go, in milliseconds. */
const SETTLE_MS = 10_000;

/** What nobody may see unescaped: C0 but for the line feed of a document, DEL, C1, separators, direction marks. */
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;
const MARKUP = /<(script|img|b)\b/i;

/** What a cloud may offer that refuses much of what is asked for. */
export const OFFERED: Engines = { postgres: ["14", "15"], a: ["1"] };

/** Reasons that name their field, or the provider's word, in their message. */
const TELLING: Readonly<Record<string, RegExp>> = {
  Paused: /spec\.paused/,
  InvalidSpec: /spec(\.\w+)* is /,
  CreateFailed: /\w/,
  UpdateFailed: /\w/,
  Conflict: /\w/,
  ImmutableFieldChanged: /engine|version|providerId/,
  DriftNotRepairable: /version|sizeGb|engine/,
  DriftReported: /version|sizeGb|engine/,
  ClassMissing: /class/,
  SecretConflict: /Secret/,
  DatabaseFailed: /\w/,
  ExternalMissing: /\w/,
};

function conditions(object: ExternalDatabase) {
  return object.status?.conditions ?? [];
}

/** Whether a resource is usable and in step, or says why not. */
function atRest(object: ExternalDatabase): boolean {
  if (object.status?.observedGeneration !== object.metadata.generation) return false;
  return conditions(object).length === 2 &&
    conditions(object).every(({ status, reason, message }) =>
      status === "True" || TELLING[reason]?.test(message) === true
    );
}

function describe(objects: readonly ExternalDatabase[]): string {
  return objects.slice(0, 3).map(({ metadata, spec, status }) => JSON.stringify({ metadata, spec, status }))
    .join("\n");
}

async function come(
  rig: FuzzRig,
  what: string,
  moving: (object: ExternalDatabase) => boolean,
): Promise<void> {
  let left: ExternalDatabase[] = [];
  const look = async () => (left = (await rig.resources()).filter(moving)).length === 0;
  await eventually(what, look, SETTLE_MS, 50).catch((error) => {
    const bad = rig.lines.filter((line) => line.startsWith("{")).slice(-5).join("");
    throw new Error(`${error.message}; ${left.length} are not:\n${describe(left)}\n${bad}`);
  });
}

/** What is wrong with a text that people see. */
function assertShowable(what: string, text: string, markup: boolean): void {
  const at = text.search(UNSAFE);
  assert(
    at < 0,
    `${what} carries U+${text.codePointAt(at)?.toString(16)}: ${
      JSON.stringify(text.slice(at - 80, at + 40))
    }`,
  );
  if (!markup) return;
  const tag = text.search(MARKUP);
  assert(tag < 0, `${what} carries markup: ${JSON.stringify(text.slice(tag - 80, tag + 40))}`);
}

async function assertShown(rig: FuzzRig): Promise<void> {
  const { page, json, notes } = await rig.shown();
  assertShowable("the page", page, true);
  assertShowable("the page's JSON", json, false);
  for (const note of notes) assertShowable("an Event", note, false);
  for (const object of await rig.resources()) {
    for (const { message, reason } of conditions(object)) {
      assertShowable("a condition", message, false);
      assert(
        /^[A-Za-z]+$/.test(reason) && reason !== "ActorFailed",
        `${object.metadata.name}: ${reason}: ${message}`,
      );
    }
  }
  for (const line of rig.lines) {
    assert(line.endsWith("\n") && !line.slice(0, -1).includes("\n"), `not one line: ${JSON.stringify(line)}`);
    assertShowable("a line of the log", line.slice(0, -1), false);
    assert(!line.includes("hunter2"), `a password in the log: ${line}`);
    if (line.startsWith("{")) JSON.parse(line);
    assert(!/"level":"error"|crashed/.test(line), line);
  }
}

/** Lets every resource go, and holds that nothing but what is to be kept is left in the cloud. */
async function removeAll(rig: FuzzRig): Promise<void> {
  for (const { metadata } of await rig.resources()) {
    const path = `${rig.path}/${encodeURIComponent(metadata.name)}`;
    const all = metadata.finalizers ?? [];
    const left = all.filter((f) => f === FINALIZER);
    if (left.length < all.length) await rig.ask("PATCH", path, { metadata: { finalizers: left } }, MERGE);
    await rig.ask("PATCH", path, { spec: { paused: false, deletionProtection: false } }, MERGE);
    const gone = await rig.ask("DELETE", path);
    assert([200, 202, 404].includes(gone.status), JSON.stringify(gone.body));
  }
  await come(rig, "all resources are gone", () => true);
  const left = rig.cloud.databases().filter((d) => d.tags[TAG.retained] === undefined);
  assertEquals(left, [], "databases that were left behind");
  for (const { id } of rig.cloud.databases()) rig.cloud.remove(id);
  await eventually("no actor is left", () => [...rig.operator.supervisor.keepers].length === 0, SETTLE_MS);
}

/** One batch: created, at rest, patched, at rest, deleted. */
export async function live(
  rig: FuzzRig,
  objects: readonly object[],
  patches: readonly object[],
): Promise<void> {
  await Promise.all(objects.map((object) => rig.ask("POST", rig.path, object)));
  const moving = (object: ExternalDatabase) => !atRest(object);
  await come(rig, "all resources are usable or say why not", moving);
  await assertShown(rig);
  const names = (await rig.resources()).map((o) => o.metadata.name);
  await Promise.all(patches.map((patch, i) => {
    const name = names[i % Math.max(1, names.length)];
    return name === undefined
      ? undefined
      : rig.ask("PATCH", `${rig.path}/${encodeURIComponent(name)}`, patch, MERGE);
  }));
  await come(rig, "all patched resources are usable or say why not", moving);
  await assertShown(rig);
  await removeAll(rig);
}
