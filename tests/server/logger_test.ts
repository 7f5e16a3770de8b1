import { assert, assertEquals, assertNotMatch, assertStringIncludes } from "@std/assert";
import type { LogFields, LogLevel } from "../../src/core/log.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createLogger, MAX_FIELDS, MAX_VALUE_CHARS } from "../../src/server/logger.ts";

const AT = Date.UTC(2026, 10, 29, 19, 46, 0, 5);

function capture(format: "json" | "text", level: LogLevel = "debug") {
  const lines: string[] = [];
  const logger = createLogger({
    format,
    level,
    clock: { ...systemClock, now: () => AT },
    write: (line) => lines.push(line),
  });
  return { logger, lines };
}

function one(format: "json" | "text", message: string, fields?: LogFields): string {
  const { logger, lines } = capture(format);
  logger.log("info", message, fields);
  assertEquals(lines.length, 1);
  return lines[0] ?? "";
}

const TRANSITION: LogFields = {
  attempt: 2,
  durationMs: 12,
  reason: "Available",
  event: "observed",
  to: "Available",
  from: "Creating",
  uid: "u-1",
  name: "orders",
  namespace: "shop",
};

Deno.test("a transition's fields come in their fixed order, in JSON", () => {
  assertEquals(
    one("json", "transition", TRANSITION),
    '{"time":"2026-11-29T19:46:00.005Z","level":"info","msg":"transition","namespace":"shop","name":"orders",' +
      '"uid":"u-1","from":"Creating","to":"Available","event":"observed","reason":"Available","durationMs":12,"attempt":2}\n',
  );
});

Deno.test("a transition's fields come in their fixed order, in text", () => {
  assertEquals(
    one("text", "transition", TRANSITION),
    "2026-11-29T19:46:00.005Z INFO  transition namespace=shop name=orders uid=u-1 from=Creating to=Available " +
      "event=observed reason=Available durationMs=12 attempt=2\n",
  );
});

Deno.test("no value can end a line, start another or repaint the terminal", () => {
  const evil = "a\nb\r\u001b[2J\u0085c\u2028d\u202ee\u0000\ufeff";
  for (const format of ["json", "text"] as const) {
    const line = one(format, evil, { reason: evil, [evil]: "x" });
    // deno-lint-ignore no-control-regex
    assertNotMatch(line.slice(0, -1), /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\ufeff]/);
    assert(line.endsWith("\n"));
  }
  assertEquals(JSON.parse(one("json", evil, { reason: evil })).reason, evil);
});

Deno.test("text values that could be read as another field are quoted", () => {
  assertStringIncludes(one("text", "m", { reason: "x level=error" }), 'reason="x level=error"');
  assertStringIncludes(one("text", "m", { reason: "" }), 'reason=""');
});

Deno.test("credentials in URLs are masked, in messages and values, wherever they stand", () => {
  const cases = [
    "postgres://admin:s3cret@db:5432/x",
    "https://s3cret@cloud.example/v1",
    "postgres://admin:s3cr/s3cret?#@db/x",
    `dial "postgres://u:p@ss-s3cret@h/db": refused`,
  ];
  for (const text of cases) {
    const line = one("json", `Connect ${text}`, { url: text });
    assert(!line.includes("s3cret"), line);
    assertStringIncludes(line, "://***@");
  }
  const plain = "GET https://host:8443/a?b=c failed, ask ops@example.com";
  assertStringIncludes(one("text", plain), plain);
});

Deno.test("a credential at the edge of the cut is masked, not halved", () => {
  const secret = "s3cret".repeat(20);
  const text = "x".repeat(MAX_VALUE_CHARS - 40) + ` postgres://user:${secret}@host/db`;
  assert(!one("json", text).includes("s3cret"));
});

Deno.test("long values and many fields are cut and say so", () => {
  const many = Object.fromEntries(Array.from({ length: MAX_FIELDS + 5 }, (_, i) => [`f${i}`, i]));
  const line = JSON.parse(one("json", "m", { ...many, reason: "r".repeat(100_000) }));
  assertEquals(line.fieldsCut, 5);
  assertStringIncludes(line.reason, "… (100000 characters)");
  assert(line.reason.length < MAX_VALUE_CHARS + 40);
});

Deno.test("fields cannot pose as the line's own time, level or message", () => {
  const line = JSON.parse(one("json", "real", { msg: "forged", level: "forged" }));
  assertEquals([line.msg, line.level, line["field.msg"]], ["real", "info", "forged"]);
});

Deno.test("levels below the chosen one are not written", () => {
  const { logger, lines } = capture("json", "warn");
  for (const level of ["debug", "info", "warn", "error"] as const) logger.log(level, level);
  assertEquals(lines.map((line) => JSON.parse(line).level), ["warn", "error"]);
});

Deno.test("a writer that throws costs its line, not its caller, and is counted", () => {
  const logger = createLogger({
    format: "json",
    level: "info",
    clock: systemClock,
    write: () => {
      throw new Deno.errors.BrokenPipe("closed");
    },
  });
  logger.log("error", "lost");
  assertEquals(logger.lost(), 1);
});
