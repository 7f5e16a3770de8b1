/**
 * An AWS that says what a test wants, in process: the query protocol of RDS and STS behind a `fetch`.
 *
 * @module
 */
import { systemClock } from "../../src/core/clock.ts";
import { parseRdsParameters } from "../../src/providers/aws-rds/parameters.ts";
import { createRdsProvider, type RdsProviderOptions } from "../../src/providers/aws-rds/provider.ts";
import type { DatabaseProvider } from "../../src/providers/port.ts";

/** Calls without an end of their own. */
export const CALL = { signal: new AbortController().signal };

/** Keys of the tests; the secret must never be seen. */
export const KEYS = { AWS_ACCESS_KEY_ID: "AKIATEST", AWS_SECRET_ACCESS_KEY: "very-secret-key-0123456789" };

/** A request as it arrives. */
export interface Arrived {
  readonly action: string;
  readonly url: string;
  readonly parameters: URLSearchParams;
  readonly headers: Headers;
  readonly signal: AbortSignal | null | undefined;
}

/** What is answered: a body with status 200, a response, or nothing (the promise rejects). */
export type Answer = string | Response | Promise<string | Response>;

/** A provider on an AWS that answers with `answer`; `arrived` holds what was asked. */
export function rdsOn(
  answer: (request: Arrived) => Answer,
  options: Partial<Omit<RdsProviderOptions, "parameters">> & { parameters?: Record<string, unknown> } = {},
): { readonly provider: DatabaseProvider; readonly arrived: Arrived[] } {
  const arrived: Arrived[] = [];
  const { parameters, ...rest } = options;
  const provider = createRdsProvider({
    clock: systemClock,
    credentials: () => Promise.resolve(KEYS),
    env: () => undefined,
    readFile: (path) => Promise.reject(new Error(`no file ${path}`)),
    fetch: async (url, init) => {
      const body = new URLSearchParams(String(init.body ?? ""));
      const request: Arrived = {
        action: body.get("Action") ?? "",
        url,
        parameters: body,
        headers: new Headers(init.headers),
        signal: init.signal,
      };
      arrived.push(request);
      const given = await answer(request);
      return typeof given === "string" ? new Response(given) : given;
    },
    ...rest,
    parameters: parseRdsParameters({ region: "eu-west-1", ...parameters }),
  });
  return { provider, arrived };
}

/** The envelope of a good answer. */
export function ok(action: string, result = ""): string {
  return `<${action}Response xmlns="http://rds.amazonaws.com/doc/2014-10-31/"><${action}Result>${result}</${action}Result>` +
    `<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></${action}Response>`;
}

/** A refusal as AWS words it. */
export function refusal(status: number, code: string, message = "No."): Response {
  const body =
    `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>` +
    `<RequestId>r</RequestId></ErrorResponse>`;
  return new Response(body, { status });
}

/** An instance in XML: `fields` replace or (`undefined`) drop what a plain one has. */
export function instance(fields: Readonly<Record<string, string | undefined>> = {}): string {
  const all: Record<string, string | undefined> = {
    DBInstanceIdentifier: "edb-one",
    DBInstanceClass: "db.t4g.micro",
    Engine: "postgres",
    EngineVersion: "16.4",
    DBInstanceStatus: "available",
    MasterUsername: "dbadmin",
    DBName: "app",
    Endpoint: "<Address>edb-one.abc.eu-west-1.rds.amazonaws.com</Address><Port>5432</Port>",
    AllocatedStorage: "20",
    InstanceCreateTime: "2026-01-02T03:04:05.000Z",
    DbiResourceId: "db-AAAA",
    DBInstanceArn: "arn:aws:rds:eu-west-1:123456789012:db:edb-one",
    DeletionProtection: "false",
    TagList: "",
    ...fields,
  };
  return `<DBInstance>${
    Object.entries(all).map(([name, value]) => value === undefined ? "" : `<${name}>${value}</${name}>`).join(
      "",
    )
  }</DBInstance>`;
}

/** A `TagList`'s content. */
export function tagList(tags: Readonly<Record<string, string>>): string {
  return Object.entries(tags).map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`)
    .join("");
}

/** The answer to a description. */
export function described(...instances: readonly string[]): string {
  return ok("DescribeDBInstances", `<DBInstances>${instances.join("")}</DBInstances>`);
}
