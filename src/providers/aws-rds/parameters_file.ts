/**
 * The parameters of `--aws-parameters-file` and of the flags beside it.
 *
 * @module
 */
import { parseRdsParameters, type RdsParameters } from "./parameters.ts";

/** Where `start` has them from. */
export interface RdsParameterSources {
  /** `--aws-region`. */
  readonly awsRegion?: string | undefined;
  /** `--aws-endpoint-url`. */
  readonly awsEndpointUrl?: string | undefined;
  /** `--aws-parameters-file`: path of a JSON object. */
  readonly awsParametersFile?: string | undefined;
}

/** Reads them; a flag goes before the file. Rejects with an Error that says what is wrong. */
export async function readRdsParameters(
  sources: RdsParameterSources,
  readFile: (path: string) => Promise<string> = Deno.readTextFile,
): Promise<RdsParameters> {
  const { awsRegion, awsEndpointUrl, awsParametersFile: file } = sources;
  const flags = {
    ...(awsRegion === undefined ? {} : { region: awsRegion }),
    ...(awsEndpointUrl === undefined ? {} : { endpointUrl: awsEndpointUrl }),
  };
  if (file === undefined) return parseRdsParameters(flags);
  let json: unknown;
  try {
    json = JSON.parse(await readFile(file));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/: readfile '.*'$/s, "") : String(cause);
    throw new Error(`Reading the parameters file "${file}": ${why}`, { cause });
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new Error(`Reading the parameters file "${file}": it is not a JSON object`);
  }
  return parseRdsParameters({ ...json, ...flags });
}
