/** Contract: watches. @module */
import { assert, assertEquals } from "@std/assert";
import { PATCH, type Session, slim, TABLE } from "./session.ts";
import type { ContractTests } from "./suite.ts";
import type { Manifest } from "./widget_crd.ts";

const LABEL = "labelSelector=wt%3Dy";

function watched(s: Session, name: string, metadata: object = {}): Manifest {
  return s.widget(name, { size: 2 }, { labels: { wt: "y" }, ...metadata });
}

async function version(s: Session): Promise<string> {
  return (await s.quiet("GET", s.widgets)).body.metadata.resourceVersion;
}

/** Every kind of change, the eight events of which a watch with the label selector tells. */
async function changes(s: Session): Promise<void> {
  const patch = (name: string, body: unknown) =>
    s.quiet("PATCH", `${s.widgets}/${name}`, { body, type: PATCH.merge });
  await s.quiet("POST", s.widgets, { body: watched(s, "w2") });
  await patch("w2", { spec: { size: 5 } });
  await patch("w1", { metadata: { labels: { wt: "n" } } });
  await patch("w1", { metadata: { labels: { wt: "y" } } });
  await s.quiet("DELETE", `${s.widgets}/w2`);
  await s.quiet("POST", s.widgets, { body: watched(s, "w3", { finalizers: ["x.y/z"] }) });
  await s.quiet("DELETE", `${s.widgets}/w3`);
  await patch("w3", { metadata: { finalizers: null } });
}

export const watchTests: ContractTests = {
  "Changes come in order, live and replayed, and the watch ends at its time-out": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: watched(s, "w1") });
    const from = await version(s);
    const live = await s.watch(`${s.widgets}?watch=1&timeoutSeconds=15&${LABEL}&resourceVersion=${from}`);
    await changes(s);
    const events = await live.take(8);
    s.note("live", { events: events.map(slim) });
    await live.close();
    const replay = await s.watch(`${s.widgets}?watch=1&timeoutSeconds=1&${LABEL}&resourceVersion=${from}`);
    const again = await replay.take(99);
    assertEquals(again, events, "a replay differs from what was told live");
    await replay.close();
    const versions = events.map((event) => Number(event.object.metadata.resourceVersion));
    assert(versions.every((value, i) => i === 0 || versions[i - 1]! < value), "versions do not rise");
    const later = await s.watch(
      `${s.widgets}?watch=1&timeoutSeconds=1&${LABEL}&resourceVersion=${versions[5]}`,
    );
    s.note("resumed in the middle", { events: (await later.take(99)).map(slim) });
    await later.close();
  },
  "Without a version, or from 0, a watch begins with what there is": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: watched(s, "w1") });
    for (const query of ["", "&resourceVersion=0"]) {
      const watch = await s.watch(`${s.widgets}?watch=true&timeoutSeconds=1&${LABEL}${query}`);
      s.note(`initial${query}`, { events: (await watch.take(99)).map(slim) });
      await watch.close();
    }
    const old = await s.watch(`/apis/${s.group}/v1/watch/namespaces/${s.namespace}/widgets?timeoutSeconds=1`);
    s.note("old path", { events: (await old.take(99)).map(slim) });
    await old.close();
  },
  "Initial events end with a bookmark when asked for": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: watched(s, "w1") });
    const base = `${s.widgets}?watch=true&timeoutSeconds=10&resourceVersionMatch=NotOlderThan`;
    for (
      const query of [
        "&sendInitialEvents=true&allowWatchBookmarks=true",
        "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=0",
      ]
    ) {
      const watch = await s.watch(base + query);
      const events = await watch.take(2);
      s.note(query, { events: events.map(slim), bookmark: Object.keys(events[1]!.object).sort() });
      await s.quiet("PATCH", `${s.widgets}/w1`, {
        body: { metadata: { labels: { t: query.length.toString() } } },
        type: PATCH.merge,
      });
      s.note("goes on", { events: (await watch.take(1)).map(slim) });
      await watch.close();
    }
    await s.call("without match", "GET", `${s.widgets}?watch=true&sendInitialEvents=true`);
    await s.call(
      "match alone",
      "GET",
      `${s.widgets}?watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1`,
    );
    await s.call("on a list", "GET", `${s.widgets}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan`);
    const none = await s.watch(
      `${base}&sendInitialEvents=false&allowWatchBookmarks=true&resourceVersion=${await version(s)}`,
    );
    await s.quiet("POST", s.widgets, { body: watched(s, "w2") });
    s.note("not asked for", { events: (await none.take(1)).map(slim) });
    await none.close();
  },
  "A version that is forgotten is told inside the stream, one that is to come is waited for": async (
    s: Session,
  ) => {
    await s.quiet("POST", s.widgets, { body: watched(s, "w1") });
    await s.connection.forget();
    await s.quiet("POST", s.widgets, { body: watched(s, "w2") });
    const old = await s.watch(`${s.widgets}?watch=1&timeoutSeconds=5&resourceVersion=1`);
    s.note("old", { status: old.answer.status, events: await old.take(99) });
    await old.close();
    const future = await s.watch(`${s.widgets}?watch=1&timeoutSeconds=1&resourceVersion=999999999`);
    s.note("future", { status: future.answer.status, events: await future.take(99) });
    await future.close();
    await s.call("no version", "GET", `${s.widgets}?watch=1&resourceVersion=abc`);
    await s.call("no time-out", "GET", `${s.widgets}?watch=1&timeoutSeconds=x`);
    await s.call("continue", "GET", `${s.widgets}?watch=1&continue=abc`);
  },
  "Objects enter and leave a field selection": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: watched(s, "w1") });
    const watch = await s.watch(
      `${s.widgets}?watch=1&timeoutSeconds=10&fieldSelector=spec.color%3Dred&resourceVersion=${await version(
        s,
      )}`,
    );
    for (const color of ["red", "green"]) {
      await s.quiet("PATCH", `${s.widgets}/w1`, { body: { spec: { color } }, type: PATCH.merge });
    }
    const events = await watch.take(2);
    s.note("color", { events: events.map((event) => ({ ...slim(event), color: event.object.spec.color })) });
    await watch.close();
    const one = await s.watch(`${s.widgets}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dw1`);
    s.note("name", { events: (await one.take(99)).map(slim) });
    await one.close();
  },
  "Tables name their columns with the first event alone": async (s: Session) => {
    await s.quiet("POST", s.widgets, { body: watched(s, "w1") });
    const query =
      `watch=1&timeoutSeconds=10&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
    const watch = await s.watch(`${s.widgets}?${query}`, { accept: TABLE });
    await s.quiet("PATCH", `${s.widgets}/w1`, { body: { spec: { size: 7 } }, type: PATCH.merge });
    const events = await watch.take(3);
    s.note("tables", {
      events: events.map(({ type, object }) => ({
        type,
        columns: object.columnDefinitions?.length ?? object.columnDefinitions,
        cells: object.rows.map((row: Manifest) => row.cells),
        objects: object.rows.map((
          row: Manifest,
        ) => [row.object.kind, row.object.metadata.name ?? null, row.object.metadata.annotations ?? null]),
      })),
    });
    await watch.close();
  },
  "A watch of a whole cluster and of a core kind": async (s: Session) => {
    const all = await s.watch(
      `/apis/${s.group}/v1/widgets?watch=1&timeoutSeconds=10&resourceVersion=${await version(s)}`,
    );
    await s.quiet("POST", s.widgets, { body: watched(s, "w1") });
    s.note("all namespaces", { events: (await all.take(1, s.namespace)).map(slim) });
    await all.close();
    const secrets = `/api/v1/namespaces/${s.namespace}/secrets`;
    const from = (await s.quiet("GET", secrets)).body.metadata.resourceVersion;
    const watch = await s.watch(`${secrets}?watch=1&timeoutSeconds=10&resourceVersion=${from}`);
    await s.quiet("POST", secrets, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { a: "b" } },
    });
    await s.quiet("DELETE", `${secrets}/s`);
    s.note("secrets", {
      events: (await watch.take(2)).map((event) => ({ ...slim(event), data: event.object.data })),
    });
    await watch.close();
  },
};
