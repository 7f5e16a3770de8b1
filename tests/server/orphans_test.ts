import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { orphanRows } from "../../src/cli/fleet_rows.ts";
import type { OrphanRow } from "../../src/server/fleet.ts";
import { viewOf } from "../support/fleet_view.ts";
import { whileServed } from "../support/served.ts";

function withOrphans(orphans: readonly OrphanRow[], work: (url: string) => Promise<void>): Promise<void> {
  return whileServed({ view: viewOf(() => [], () => orphans) }, work);
}

const HOSTILE = '<script>alert("1")</script>';

Deno.test("S2: orphans stand on the page, every value escaped, and in the API", async () => {
  const [row] = orphanRows({
    orphans: {
      orphans: [{
        id: "db-9",
        name: "x",
        engine: HOSTILE,
        version: "14",
        sizeGb: 20,
        state: "Available",
        providerState: "Available",
        tags: {
          "kubernetes.io/cr-name": HOSTILE,
          "db.my.domain/namespace": "shop",
          "db.my.domain/uid": "u-9",
        },
        createdAt: "2026-01-01T00:00:00Z",
      }],
    },
  });
  assert(row);
  await withOrphans([row], async (url) => {
    const html = await (await fetch(`${url}/`)).text();
    assertStringIncludes(html, "<h2>Orphans</h2>");
    for (const text of ["db-9", "shop", "u-9", "Orphans 1 of 1"]) assertStringIncludes(html, text);
    assert(!html.includes("<script"));
    assertStringIncludes(html, "&#60;script&#62;");
    const { items } = await (await fetch(`${url}/api/orphans`)).json();
    assertEquals(items, [row]);
  });
});

Deno.test("S2: a page without orphans says nothing of them", () =>
  withOrphans([], async (url) => {
    assert(!(await (await fetch(`${url}/`)).text()).includes("Orphans"));
  }));
