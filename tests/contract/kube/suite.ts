/**
 * What the embedded API promises to have in common with a real API server.
 *
 * Each test is a list of requests. What the real server answered is kept in `golden/`, masked; both servers must
 * answer the same, word by word. `RECORD_KUBE_CONTRACT=1` on the real server writes the files anew.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { deletionTests } from "./deletion.ts";
import { discoveryTests } from "./discovery.ts";
import { eventTests } from "./events.ts";
import { kindTests } from "./kinds.ts";
import { listTests } from "./lists.ts";
import { objectTests } from "./objects.ts";
import { patchTests } from "./patches.ts";
import { ruleTests } from "./rules.ts";
import { type Connection, Session } from "./session.ts";
import { tableTests } from "./tables.ts";
import { validationTests } from "./validation.ts";
import { watchTests } from "./watches.ts";
import { widgetCrd } from "./widget_crd.ts";

/** Tests of one subject, by name. */
export type ContractTests = Readonly<Record<string, (session: Session) => Promise<void>>>;

const SUBJECTS: Readonly<Record<string, ContractTests>> = {
  discovery: discoveryTests,
  objects: objectTests,
  validation: validationTests,
  rules: ruleTests,
  patches: patchTests,
  lists: listTests,
  watches: watchTests,
  deletion: deletionTests,
  events: eventTests,
  kinds: kindTests,
  tables: tableTests,
};

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Makes the widgets of a group and waits until they are served. */
export async function establish(connection: Connection, group: string): Promise<void> {
  const session = new Session(connection, "default", group);
  const { status, body } = await session.quiet("POST", CRDS, { body: widgetCrd(group) });
  assertEquals(status, 201, JSON.stringify(body));
  await session.until(`/apis/${group}/v1/widgets`, (answer) => answer.status === 200);
}

/**
 * Registers the suite for one server. `connect` is called once per subject; `real` is set for the server that the
 * transcripts are recorded from.
 */
export function kubeContract(name: string, connect: () => Promise<Connection>, real = false): void {
  const record = real && Deno.env.get("RECORD_KUBE_CONTRACT") === "1";
  for (const [subject, tests] of Object.entries(SUBJECTS)) {
    Deno.test(`${name} keeps the Kubernetes contract: ${subject}`, async (t) => {
      const connection = await connect();
      const golden = await Golden.open(subject, record);
      const group = `${subject}${uniqueName()}.example.com`;
      try {
        await establish(connection, group);
        for (const [title, test] of Object.entries(tests)) {
          await t.step(title, async () => {
            const namespace = uniqueName();
            const session = new Session(connection, namespace, group);
            const made = await session.quiet("POST", "/api/v1/namespaces", {
              body: { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
            });
            assertEquals(made.status, 201, JSON.stringify(made.body));
            await test(session);
            golden.check(title, session.transcript);
            await session.quiet("DELETE", `/api/v1/namespaces/${namespace}`);
          });
        }
        await golden.save();
      } finally {
        await new Session(connection, "default", group).quiet("DELETE", `${CRDS}/widgets.${group}`);
        await connection.close();
      }
    });
  }
}

function uniqueName(): string {
  return `c${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`;
}

/** The recorded transcripts of one subject. */
class Golden {
  readonly #recorded: Record<string, unknown> = {};

  private constructor(
    readonly url: URL,
    readonly record: boolean,
    readonly known: Readonly<Record<string, unknown>>,
  ) {}

  static async open(subject: string, record: boolean): Promise<Golden> {
    const url = new URL(`./golden/${subject}.json`, import.meta.url);
    return new Golden(url, record, record ? {} : JSON.parse(await Deno.readTextFile(url)));
  }

  check(title: string, transcript: readonly unknown[]): void {
    this.#recorded[title] = transcript;
    if (!this.record) assertEquals(transcript, this.known[title], title);
  }

  async save(): Promise<void> {
    if (!this.record) return;
    await Deno.mkdir(new URL("./golden/", import.meta.url), { recursive: true });
    await Deno.writeTextFile(this.url, JSON.stringify(this.#recorded, null, 1) + "\n");
  }
}
