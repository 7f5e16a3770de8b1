/**
 * The logger behind the {@linkcode Logger} port: one line per call, JSON or text, to a writer.
 *
 * Promises: a line is one line whatever its values hold (control and direction-changing characters are escaped);
 * the order of fields is fixed; values, fields and lines are bounded; it never throws, a line that could not be
 * written is counted. It removes no secret by guess, callers pass none; only credentials inside URLs are masked.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { LogFields, Logger, LogLevel } from "../core/log.ts";
import { escapeUnsafe as escape, safeJson } from "../core/text.ts";
import { maskUrls } from "./mask.ts";

/** Longest value of a line, in characters. */
export const MAX_VALUE_CHARS = 1_024;
/** Most fields of a line, the fixed ones not counted. */
export const MAX_FIELDS = 32;

/** Order of the fields that lines have in common; others follow by name. */
const ORDER = ["namespace", "name", "uid", "from", "to", "event", "reason", "durationMs"] as const;
const ORDERED: ReadonlySet<string> = new Set(ORDER);
const RESERVED: ReadonlySet<string> = new Set(["time", "level", "msg"]);

const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** What {@linkcode createLogger} takes. */
export interface LoggerOptions {
  readonly format: "json" | "text";
  readonly level: LogLevel;
  readonly clock: Clock;
  /** Fields that each line has besides its own, such as the ids of a trace. @default none */
  readonly context?: (() => LogFields | undefined) | undefined;
  /** Takes one line with its line feed; may throw, then the line is lost and counted. */
  readonly write: (line: string) => void;
}

/** A {@linkcode Logger} that knows how many lines it lost. */
export interface LineLogger extends Logger {
  /** Lines that the writer refused, since the start. */
  readonly lost: () => number;
}

/** A logger that writes lines of `options.format` at or above `options.level`. */
export function createLogger(options: LoggerOptions): LineLogger {
  const least = SEVERITY[options.level];
  const render = options.format === "json" ? jsonLine : textLine;
  let lost = 0;
  return {
    log(level, message, fields = {}) {
      if (SEVERITY[level] < least) return;
      try {
        options.write(
          render(timeOf(options.clock), level, message, pick({ ...options.context?.(), ...fields })) + "\n",
        );
      } catch {
        lost++; // A closed pipe must not stop the operator; the number is on the metrics page.
      }
    },
    lost: () => lost,
  };
}

/** A writer to standard output; throws when it is closed. */
export function stdoutWriter(): (line: string) => void {
  const encoder = new TextEncoder();
  return (line) => {
    const bytes = encoder.encode(line);
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  };
}

type Value = string | number | boolean | null;

function timeOf(clock: Clock): string {
  const now = clock.now();
  // toISOString throws outside this range; a broken clock must not cost the line.
  return Math.abs(now) <= 8.64e15 ? new Date(now).toISOString() : String(now);
}

/** The fields in their fixed order, made safe. */
function pick(fields: LogFields): [string, Value][] {
  const others = Object.keys(fields).filter((key) => !ORDERED.has(key)).sort();
  const result: [string, Value][] = [];
  for (const key of [...ORDER, ...others.slice(0, MAX_FIELDS)]) {
    const value = fields[key];
    if (value === undefined) continue;
    const name = RESERVED.has(key) ? `field.${key}` : cut(key, 64);
    result.push([name, typeof value === "string" ? clean(value) : value]);
  }
  if (others.length > MAX_FIELDS) result.push(["fieldsCut", others.length - MAX_FIELDS]);
  return result;
}

/** Masked first and cut after, so that no cut can hide the end of a credential from the mask. */
function clean(text: string): string {
  return cut(maskUrls(text.slice(0, MAX_VALUE_CHARS * 4)), MAX_VALUE_CHARS, text.length);
}

function cut(text: string, limit: number, length = text.length): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${length} characters)`;
}

function jsonLine(
  time: string,
  level: LogLevel,
  message: string,
  fields: readonly [string, Value][],
): string {
  const line: Record<string, Value> = { time, level, msg: clean(message) };
  for (const [key, value] of fields) line[key] = value;
  // JSON escapes C0 itself; what is left of the unsafe ones is legal inside a JSON string as \uXXXX.
  return safeJson(line);
}

function textLine(
  time: string,
  level: LogLevel,
  message: string,
  fields: readonly [string, Value][],
): string {
  let line = `${time} ${level.toUpperCase().padEnd(5)} ${escape(clean(message))}`;
  for (const [key, value] of fields) line += ` ${escape(key)}=${textValue(value)}`;
  return line;
}

function textValue(value: Value): string {
  const text = String(value);
  return /^[^\s"=\\]+$/.test(text) && escape(text) === text ? text : safeJson(text);
}
