/**
 * Flags as plain data, and how they become commander options: each with an environment variable and a line of help.
 *
 * A command describes its flags in a table and needs no import of the command line's library.
 *
 * @module
 */
import type { Command } from "commander";
import { InvalidArgumentError, Option } from "commander";
import { messageOf } from "../core/text.ts";

/** One flag of a command. */
export interface Flag {
  /** Long name in kebab case, without dashes: `poll-interval`. Its variable is `EDB_POLL_INTERVAL`. */
  readonly name: string;
  /** One letter that stands for it too. */
  readonly short?: string;
  /** What stands for the value in `--help`, such as `duration`; absent: the flag is a switch that takes true or false. */
  readonly value?: string;
  /** One line for `--help`. */
  readonly description: string;
  /** The default as a person would type it; it goes through `parse` as well. */
  readonly default?: string;
  /** The only values allowed. */
  readonly choices?: readonly string[];
  /** May be given more than once, or as a list with commas; the result is an array. */
  readonly repeatable?: boolean;
  /** Turns text into the value; throws an Error whose message says what would be right. @default the text itself */
  readonly parse?: (text: string) => unknown;
}

/** Values by flag name (kebab case); absent where neither given nor defaulted. */
export type FlagValues = Readonly<Record<string, unknown>>;

/** The environment variable of a flag: `poll-interval` → `EDB_POLL_INTERVAL`. */
export function envName(name: string): string {
  return `EDB_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** Adds `flags` to `command`; read the values back with {@linkcode readFlags}. */
export function addFlags(command: Command, flags: readonly Flag[]): void {
  for (const flag of flags) {
    for (const option of toOptions(flag)) command.addOption(option);
  }
}

/** The values of `flags` after `command` was parsed. */
export function readFlags(command: Command, flags: readonly Flag[]): FlagValues {
  const values: Record<string, unknown> = {};
  for (const flag of flags) values[flag.name] = command.getOptionValue(camel(flag.name));
  return values;
}

function toOptions(flag: Flag): Option[] {
  if (flag.value === undefined) return switchOptions(flag);
  const short = flag.short === undefined ? "" : `-${flag.short}, `;
  const option = new Option(`${short}--${flag.name} <${flag.value}>`, flag.description).env(
    envName(flag.name),
  );
  const parseOne = checked(flag);
  if (flag.choices) option.choices([...flag.choices]);
  if (flag.repeatable) {
    option.argParser((text: string, previous: unknown) => {
      const earlier = Array.isArray(previous) ? previous as unknown[] : [];
      return [...earlier, ...text.split(",").map((part) => parseOne(part.trim()))];
    });
  } else if (!flag.choices || flag.parse) {
    option.argParser(parseOne);
  }
  if (flag.default !== undefined) option.default(parseOne(flag.default), flag.default);
  return [option];
}

/** `--x`, `--x=false`, `--no-x` and the variable with true or false. */
function switchOptions(flag: Flag): Option[] {
  const on = new Option(`--${flag.name} [true|false]`, flag.description)
    .env(envName(flag.name)).argParser((text: string) => parseSwitch(text));
  if (flag.default !== undefined) on.default(parseSwitch(flag.default), flag.default);
  return [on, new Option(`--no-${flag.name}`, `the same as --${flag.name}=false`)];
}

function parseSwitch(text: string): boolean {
  if (/^(true|1|yes|on)$/i.test(text)) return true;
  if (/^(false|0|no|off)$/i.test(text)) return false;
  throw new InvalidArgumentError("Use true or false.");
}

function checked(flag: Flag): (text: string) => unknown {
  return (text) => {
    if (text === "") throw new InvalidArgumentError("It is empty: give a value or leave it out.");
    if (flag.choices && !flag.choices.includes(text)) {
      throw new InvalidArgumentError(`Allowed choices are ${flag.choices.join(", ")}.`);
    }
    try {
      return flag.parse ? flag.parse(text) : text;
    } catch (error) {
      throw new InvalidArgumentError(sentence(messageOf(error)));
    }
  };
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function camel(name: string): string {
  return name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
