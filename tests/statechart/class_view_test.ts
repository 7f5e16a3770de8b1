import { assertEquals, assertMatch } from "@std/assert";
import { PINNED_CLASS } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { classNameOf, type ClassView, notAllowed } from "../../src/statechart/class_view.ts";
import { decide } from "../../src/statechart/decide.ts";
import { policiesOf } from "../../src/statechart/facts.ts";
import { initialKnowledge } from "../../src/statechart/knowledge.ts";
import { isNew } from "../../src/statechart/resource.ts";
import { condition, cr, type CrChange, deleting, inStep, NOW, view } from "./support.ts";

const pinned = { annotations: { [PINNED_CLASS]: "gold" } };
const bare = (change: CrChange = {}) => cr({ ...change, meta: { finalizers: [], ...change.meta } });
const told = (reason: string) => ({ conditions: [condition("Synced", "False", reason)] });

for (
  const [what, object, name] of [
    ["a new one is of the default class", bare(), "default"],
    ["a new one is of the class that it names", bare({ spec: { className: "silver" } }), "silver"],
    ['"" asks for the flags', bare({ spec: { className: "" } }), ""],
    ["a copied annotation of another life says nothing", bare({ meta: pinned }), "default"],
    ["what was begun without a class was begun by the flags", cr(), ""],
    ["also where a class is named since", cr({ spec: { className: "silver" } }), ""],
    ["what was begun stays with its pin", cr({ meta: pinned, spec: { className: "silver" } }), "gold"],
    ["the status stands over all", cr({ meta: pinned, status: { className: "iron" } }), "iron"],
    ["what is recorded without class is of the flags", cr({ meta: pinned, status: inStep() }), ""],
    ["its finalizer stripped, the pin is left", bare({ meta: pinned, status: told("Creating") }), "gold"],
    ["its finalizer stripped, and no pin", bare({ status: told("Creating") }), ""],
    ["one that was held from the beginning is of the default", bare({ status: told("Paused") }), "default"],
    ["one whose class was missing is of the default", bare({ status: told("ClassMissing") }), "default"],
  ] as const
) {
  Deno.test(`Classes: ${what}`, () => assertEquals(classNameOf(object, "default"), name));
}

Deno.test("Classes: one that was only told that its class is missing is new; one with a pin, a class or a database is not", () => {
  assertEquals(isNew(bare({ status: told("ClassMissing") })), true);
  assertEquals(isNew(bare({ status: told("NotAllowed") })), true);
  for (
    const object of [
      cr({ status: told("ClassMissing") }),
      bare({ meta: pinned, status: told("ClassMissing") }),
      bare({ status: { ...told("ClassMissing"), className: "gold" } }),
      bare({ status: { ...told("ClassMissing"), providerId: "db-1" } }),
      bare({ status: { ...told("ClassMissing"), incarnation: 2 } }),
      bare({ status: told("Paused") }),
    ]
  ) assertEquals(isNew(object), false);
});

/** The step and `Synced` of a CR under a class. */
function decided(object: ExternalDatabase, of: Partial<ClassView> | undefined): string {
  const now = view(of === undefined ? {} : { class: { name: "gold", ...of } });
  const { step, synced, quiet } = decide(initialKnowledge(object, NOW), now);
  return `${step} ${synced.status}/${synced.reason}${quiet ? " quiet" : ""}`;
}

Deno.test("Classes: nothing is begun under a class that is not there, is not known yet, or does not allow it", () => {
  const asks = { spec: { className: "gold" } };
  assertEquals(decided(bare(asks), {}), "finalize Unknown/Pending");
  assertEquals(decided(bare(asks), { missing: "it is not there" }), "report False/ClassMissing");
  assertEquals(decided(bare(asks), { unheard: true }), "idle Unknown/ClassMissing quiet");
  assertEquals(decided(bare(asks), { allowed: { engines: ["mysql"] } }), "report False/NotAllowed");
  assertEquals(decided(bare(), { name: "", unheard: true }), "idle Unknown/ClassMissing quiet");
  const held = bare({
    spec: { className: "gold", paused: true },
    status: { state: "Pending", ...told("Paused") },
  });
  assertEquals(decided(held, {}), "finalize Unknown/Pending");
  assertEquals(decided(held, { missing: "it is not there" }).split(" ")[0] === "finalize", false);
  assertEquals(
    decided(bare({ status: told("Paused") }), { name: "", unheard: true }).startsWith("finalize"),
    false,
  );
});

Deno.test("Classes: what there is of a missing class is neither changed nor deleted, but let go where nothing was made or a person says so", () => {
  const recorded = { meta: pinned, status: inStep({ className: "gold" }) };
  const gone = { missing: "it is not there" };
  assertEquals(decided(cr(recorded), gone), "report False/ClassMissing");
  assertEquals(decided(cr({ ...recorded, spec: { sizeGb: 40 } }), gone), "report False/ClassMissing");
  assertEquals(decided(deleting(recorded), gone), "report False/ClassMissing");
  const { uid } = cr().metadata;
  const abandoned = deleting({
    ...recorded,
    meta: { annotations: { ...pinned.annotations, "db.my.domain/abandon": uid } },
  });
  assertEquals(decided(abandoned, gone), "release False/Deleting");
  assertEquals(
    decided(cr({ meta: { ...pinned, finalizers: [] }, status: inStep({ className: "gold" }) }), gone),
    "finalize Unknown/Pending",
  );
  assertEquals(decided(cr({ ...recorded, spec: { className: "silver" } }), {}), "report False/Conflict");
  assertEquals(
    decided(deleting({ ...recorded, spec: { className: "silver" } }), {}),
    "confirm False/Deleting",
  );
});

Deno.test("Classes: what is allowed is compared by part of the version, in any case of the engine's letters", () => {
  const asked = (spec: NonNullable<CrChange["spec"]>, allowed: ClassView["allowed"]) =>
    notAllowed(cr({ spec }), { class: { name: "gold", allowed } });
  assertEquals(asked({ engine: "Postgres" }, { engines: ["postgreS"] }), undefined);
  assertEquals(asked({ version: "14.2" }, { versions: ["14"] }), undefined);
  assertEquals(asked({ version: "14" }, { versions: ["14"] }), undefined);
  assertMatch(asked({ version: "140" }, { versions: ["14"] }) ?? "", /^spec\.version is "140"/);
  assertMatch(asked({ version: "14" }, { versions: ["14.2"] }) ?? "", /^spec\.version is "14"/);
  assertEquals(asked({ sizeGb: 10 }, { sizeGb: { min: 10, max: 10 } }), undefined);
  assertMatch(asked({}, { engines: [] }) ?? "", /^spec\.engine/);
  assertEquals(asked({}, {}), undefined);
});

Deno.test("rule 19: a class's policies hold where the spec says nothing, and never for what was adopted", () => {
  const defaults = { deletionPolicy: "Retain", driftPolicy: "Report", onMissing: "Report" } as const;
  const of = { name: "gold", defaults };
  assertEquals(policiesOf({ ...cr(), class: of }), {
    deletion: "Retain",
    drift: "Report",
    missing: "Report",
  });
  const spec = { deletionPolicy: "Delete", driftPolicy: "Repair", onMissing: "Recreate" } as const;
  assertEquals(policiesOf({ ...cr({ spec }), class: of }), {
    deletion: "Delete",
    drift: "Repair",
    missing: "Recreate",
  });
  const loose = { name: "gold", defaults: spec };
  const adopted = cr({ status: inStep({ adopted: true }) });
  assertEquals(policiesOf({ ...adopted, class: loose }), {
    deletion: "Retain",
    drift: "Report",
    missing: "Report",
  });
});
