/**
 * A process that works with the local provider until it is killed.
 *
 * @module
 */
import { CALL, inState, providerIn } from "./support.ts";

const [folder = "", what = ""] = Deno.args;
const provider = await providerIn(folder);
const begun = async () => void await Deno.stdout.write(new TextEncoder().encode("begun\n"));
const [first] = (await provider.list({ ...CALL, tags: {} })).items;
switch (what) {
  case "create":
    await begun();
    await provider.create({
      ...{ name: "o", engine: "postgres", version: "16", sizeGb: 1, tags: { a: "1" } },
      ...{ clientToken: "t", password: "first-0123456789" },
    }, CALL);
    break;
  case "rotate":
    await inState(provider, first!.id, "Available");
    await begun();
    await provider.modify(first!.id, { password: "second-0123456789" }, CALL);
    break;
  case "delete":
    await inState(provider, first!.id, "Available");
    await begun();
    await provider.delete(first!.id, CALL);
    break;
}
await new Promise(() => setInterval(() => {}, 1_000)); // until it is killed
