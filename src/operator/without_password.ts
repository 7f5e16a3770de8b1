/**
 * What a provider says of a password that it was told: nothing of that is passed on (rule 25).
 *
 * @module
 */
import { ProviderError } from "../providers/port.ts";

/** An error whose message does not hold the password, should a provider have said it again. */
export function withoutPassword(error: unknown, password: string | undefined): unknown {
  if (!(error instanceof Error) || password === undefined || !error.message.includes(password)) return error;
  const message = error.message.replaceAll(password, "[password]");
  if (!(error instanceof ProviderError)) return new Error(message);
  const { code, retryAfterMs } = error;
  return new ProviderError(error.errorClass, message, {
    ...(code === undefined ? {} : { code: code.replaceAll(password, "[password]") }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
