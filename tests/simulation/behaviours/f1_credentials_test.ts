/**
 * F1, as far as it goes while no field of a CR refers to a Secret: the provider's credentials come late, are revoked, are
 * rotated. The HTTP provider itself is in the world, with its token file, over the cloud's own request handler.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createHttpProvider } from "../../../src/providers/http.ts";
import { createCloudHandler } from "../../../src/providers/simulated/server.ts";
import {
  each,
  EXTREMES,
  HOUR,
  MINUTE,
  play,
  playAtEveryCrash,
  type Scene,
  SECOND,
  type Stage,
} from "./support.ts";

/** The token file, and what the cloud lets in. */
interface Keys {
  file: string | undefined;
  accepted: string[];
}

const KEYS = new WeakMap<Stage, Keys>();

function keysOf(stage: Stage): Keys {
  let keys = KEYS.get(stage);
  if (keys === undefined) KEYS.set(stage, keys = { file: undefined, accepted: ["first"] });
  return keys;
}

/** The provider over HTTP, in this process. */
const wrap: Scene["wrap"] = (_inner, stage) => {
  const { cloud, world } = stage();
  const keys = keysOf(stage());
  const handle = createCloudHandler(cloud, { tokens: () => keys.accepted, admin: false });
  return createHttpProvider({
    url: "http://cloud.example",
    clock: world.clock,
    tokenFile: "/var/run/token",
    // deno-lint-ignore require-await -- what it throws is a rejection
    readFile: async () => {
      if (keys.file === undefined) throw new Deno.errors.NotFound("No such file or directory (os error 2)");
      return keys.file;
    },
    fetch: (url, init) => handle(new Request(url, init), init.signal ?? undefined),
  });
};

/** A back-off of half a minute with its jitter, and the calls that follow. */
const ONE_BACK_OFF = 40 * SECOND;

const LATE: Readonly<Record<string, number>> = { "1 s": SECOND, "1 min": MINUTE, "1 h": HOUR };

for (const [words, ms] of Object.entries(LATE)) {
  each(
    EXTREMES,
    (cloud) =>
      `F1: a token file that comes ${words} after the start (${cloud}): told meanwhile, all made within one back-off of it`,
    (cloud) =>
      playAtEveryCrash({ minutes: 75, wrap, plan: { cloud, pollMs: 5 * MINUTE } }, async (stage) => {
        stage.create(["a", "b"]);
        await stage.pause(ms / 2);
        stage.create("c");
        await stage.pause(ms / 2);
        if (ms >= MINUTE) {
          for (const name of ["a", "b", "c"]) {
            const said = stage.condition(name, "Synced");
            assert(said.startsWith("Unknown/") && said !== "Unknown/Pending", said);
            assert(stage.message(name).includes("/var/run/token"), stage.message(name));
            assertEquals(stage.get(name).status?.observedGeneration, 1);
          }
        }
        assertEquals(stage.calls("create"), []);
        keysOf(stage).file = "first\n";
        const lag = (cloud?.readLagMs ?? 0) + 5 * SECOND; // a restart waits for its settle window
        await stage.available(["a", "b", "c"], ONE_BACK_OFF + lag);
        assertEquals(stage.effects("create").length, 3);
      }, 2),
  );
}

Deno.test("F1: a token that the cloud refuses at first, and lets in an hour later, is tried again by itself", () =>
  playAtEveryCrash({ minutes: 75, wrap, plan: { pollMs: 5 * MINUTE } }, async (stage) => {
    const keys = keysOf(stage);
    keys.file = "not-yet";
    stage.create("a");
    await stage.pause(HOUR);
    assert(stage.condition("a", "Synced").startsWith("Unknown/"), stage.condition("a", "Synced"));
    assert(stage.message("a").includes("Unauthenticated"), stage.message("a"));
    assert(!stage.message("a").includes("not-yet"), "the token is in the status");
    keys.accepted = ["not-yet"];
    await stage.available("a", ONE_BACK_OFF + 5 * SECOND);
  }, 3));

Deno.test("F1: revoked for an hour and rotated: told, nothing changed, an edit and a deletion made meanwhile are done", () =>
  playAtEveryCrash({ minutes: 90, wrap, plan: { pollMs: 5 * MINUTE } }, async (stage) => {
    const keys = keysOf(stage);
    keys.file = "first";
    stage.create(["a", "b", "c"]);
    await stage.available(["a", "b", "c"]);
    const mark = stage.mark();
    keys.accepted = ["second"];
    await stage.until("told", () => stage.condition("a", "Synced") === "Unknown/Unauthorised", 15 * MINUTE);
    stage.edit("b", { sizeGb: 40 });
    stage.remove("c");
    await stage.until("the deletion says so", () => stage.get("c").status?.state === "Deleting", 10 * SECOND);
    await stage.pause(45 * MINUTE);
    assert(stage.find("c") !== undefined, "released without a look at the cloud");
    for (const name of ["b", "c"]) {
      assert(stage.message(name).includes("Unauthenticated"), stage.message(name));
    }
    assertEquals(stage.mutations(mark), []); // they never came past the door
    keys.file = "second\n";
    await stage.gone("c", ONE_BACK_OFF);
    // A file is read once a minute, or when what it held was refused.
    await stage.available(["a", "b"], MINUTE + ONE_BACK_OFF);
    assertEquals(stage.database("b").sizeGb, 40);
    assertEquals(stage.effects("delete", mark).length, 1);
  }, 2));

Deno.test("F1: rotated every three minutes, the old one refused at once: nobody is told of anything", () =>
  play({ minutes: 60, wrap, plan: { pollMs: MINUTE } }, async (stage) => {
    const keys = keysOf(stage);
    keys.file = "first";
    stage.create("a");
    await stage.available("a");
    await stage.pause(3 * MINUTE);
    const { rv } = stage.world.store;
    for (let n = 0; n < 12; n++) {
      keys.file = ` token-${n}\n`;
      keys.accepted = [`token-${n}`];
      await stage.always("in step", () => stage.inStep("a"), 3 * MINUTE);
    }
    assertEquals(stage.writes("a", rv), 0);
    stage.edit("a", { sizeGb: 40 });
    await stage.available("a", 10 * SECOND);
  }));

Deno.test("F1: a file that is empty, torn or a folder is no token: told by its name, and never quoted", () =>
  play({ minutes: 30, wrap }, async (stage) => {
    const keys = keysOf(stage);
    stage.create("a");
    for (const torn of ["", "  \n", "sec\nret", "sec\u0000ret", "x".repeat(20_000)]) {
      keys.file = torn;
      await stage.pause(2 * MINUTE);
      assert(stage.condition("a", "Synced").startsWith("Unknown/"));
      assert(stage.message("a").includes("/var/run/token"), stage.message("a"));
      assert(!stage.message("a").includes("sec"), stage.message("a"));
    }
    keys.file = "first";
    await stage.available("a", ONE_BACK_OFF);
  }));
