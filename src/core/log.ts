/**
 * The logger port: what the operator's parts write to; the format is chosen in `src/server/`.
 *
 * @module
 */

/** Severity, least first. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Values that a log line may carry beside its message. Never a secret, a token or a header. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Writes one line per call. */
export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

/** A logger that drops everything. */
export const silentLogger: Logger = { log: () => {} };
