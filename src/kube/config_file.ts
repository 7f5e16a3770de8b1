/**
 * What reading a cluster's configuration is made of: the error, a file, and TLS material.
 *
 * @module
 */
import { messageOf } from "../core/text.ts";

/** The cluster's configuration is missing or cannot be used. Its message is one line that says what to do or where to look. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** PEM texts for a TLS connection to the API server. */
export interface TlsMaterial {
  /** Trusted in addition to the platform's own roots. */
  readonly caCerts?: string[];
  readonly cert?: string;
  readonly key?: string;
}

/** The text of a file; throws {@linkcode ConfigError} that names it. */
export async function readText(action: string, file: string): Promise<string> {
  try {
    return await Deno.readTextFile(file);
  } catch (cause) {
    throw new ConfigError(`${action}: ${fileProblem(file, cause)}`, { cause });
  }
}

/** What is wrong with a file, in one line. */
export function fileProblem(file: string, error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return `there is no file "${file}"`;
  if (error instanceof Deno.errors.NotCapable) {
    return `Deno may not read "${file}"; allow it with --allow-read`;
  }
  if (error instanceof Deno.errors.PermissionDenied) return `reading "${file}" is not permitted`;
  if (error instanceof Deno.errors.IsADirectory) return `"${file}" is a directory`;
  return `"${file}" cannot be read: ${messageOf(error).split("\n")[0]}`;
}
