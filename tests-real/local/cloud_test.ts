import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { createHttpProvider } from "../../src/providers/http.ts";
import { Child } from "../../tests/cli/support.ts";
import { CALL, eventually, inState, logsIn, requestFor, serversUnder } from "./support.ts";

/** Those of the task `cloud`. */
const PERMISSIONS = [
  "--allow-net",
  "--allow-env",
  "--allow-read",
  "--allow-write",
  "--allow-run",
  "--allow-sys=uid",
];

Deno.test("cloud --real serves databases by the HTTP contract, with logins, and leaves nothing at its end", async () => {
  const cloud = new Child(["cloud", "--real", "--listen", "127.0.0.1:0"], PERMISSIONS);
  try {
    const line = await cloud.line((text) => text.includes("The cloud of real databases listens"));
    const [url, folder] = [/url=(\S+)/.exec(line)![1]!, /folder=(\S+)/.exec(line)![1]!];
    const provider = createHttpProvider({ url, clock: systemClock });
    const { passwords, snapshots, account } = await provider.info(CALL);
    assertEquals([passwords, snapshots, account?.startsWith("local/")], ["always", false, true]);
    const request = requestFor();
    const { id } = await provider.create(request, CALL);
    const made = await inState(provider, id, "Available");
    assertEquals([made.access?.database, made.access?.username], ["orders", "dbadmin"]);
    assertEquals(await logsIn(made, request.password!), true);
    await provider.modify(id, { password: "another-0123456789" }, CALL);
    const renewed = await inState(provider, id, "Available");
    assertEquals([await logsIn(renewed, request.password!), await logsIn(renewed, "another-0123456789")], [
      false,
      true,
    ]);
    await provider.delete(id, CALL);
    await eventually(
      "its end",
      async () => (await provider.list({ ...CALL, tags: {} })).items.length === 0 || undefined,
    );
    await provider.create(requestFor(), CALL); // one that is at work when the end comes
    cloud.kill("SIGTERM");
    assertEquals([await cloud.code(), cloud.err], [0, ""]);
    assertEquals(await Deno.stat(folder).then(() => "there", () => "gone"), "gone");
    assertEquals(await serversUnder(folder), 0);
    assertStringIncludes(cloud.out, "PostgreSQL's binaries are fetched from npm");
    for (const password of [request.password!, "another-0123456789"]) assert(!cloud.out.includes(password));
  } finally {
    await cloud.end();
  }
});
