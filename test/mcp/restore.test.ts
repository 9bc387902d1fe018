/** Cursors of a store that was moved, or restored from a copy. */
import { cpSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { runWebhooks } from "../support/cli.ts";
import { publishing, rpc } from "../support/mcp.ts";
import { type Service, startService } from "../support/service.ts";

const started: Service[] = [];
afterEach(async () => {
  for (const service of started.splice(0)) await service.close();
});

async function start(prepare?: (folder: string) => void): Promise<Service> {
  const service = await startService({ config: publishing(), prepare });
  started.push(service);
  return service;
}

async function post(service: Service, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    ids.push((await service.post("deploys", { env: "a", n: index })).body.eventId);
  }
  return ids;
}

async function poll(service: Service, cursor?: string) {
  return (await rpc(service.url, "events/poll", { name: "deploys", cursor, maxEvents: 1000 })).result;
}

/** Polls until these events have come. */
async function pollFor(
  service: Service,
  from: string,
  ids: string[],
): Promise<{ cursor: string; isTruncated: boolean }> {
  const seen = new Set<string>();
  let cursor = from;
  let isTruncated = false;
  await expect
    .poll(async () => {
      const answer = await poll(service, cursor);
      for (const { eventId } of answer.events) seen.add(eventId);
      cursor = answer.cursor;
      isTruncated ||= answer.truncated;
      return ids.filter((id) => !seen.has(id));
    })
    .toEqual([]);
  return { cursor, isTruncated };
}

test("after a copy was restored, a newer cursor gets all events, and the word that some may be missing", async () => {
  const service = await start();
  const { cursor: begin } = await poll(service);
  const first = await post(service, 10);
  const { cursor: early } = await pollFor(service, begin, first);
  expect(await runWebhooks(service.folder, "backup", "copy.db")).toMatchObject({ code: 0 });
  const copy = path.join(service.folder, "copy.db");
  const { cursor: late } = await pollFor(service, early, await post(service, 10));
  const restored = await start((folder) => cpSync(copy, path.join(folder, ".webhooks/journal.db")));
  const other = await post(restored, 20);
  // True for positions that the subscriber knows of the store before.
  expect(await pollFor(restored, late, other)).toMatchObject({ isTruncated: true });
  // Positions that both have in common go on.
  expect(await pollFor(restored, early, other)).toMatchObject({ isTruncated: false });
});

test("a store at another place is the same store: its cursors are valid", async () => {
  const service = await start();
  const { cursor: begin } = await poll(service);
  await pollFor(service, begin, await post(service, 5));
  const { cursor } = await poll(service, begin);
  await service.hookline.close();
  const moved = await start((folder) =>
    cpSync(path.join(service.folder, ".webhooks"), path.join(folder, ".webhooks"), { recursive: true }),
  );
  expect(await pollFor(moved, cursor, await post(moved, 15))).toMatchObject({ isTruncated: false });
});

test("maxEvents: 0 gives none, and keeps the place", async () => {
  const service = await start();
  const { cursor } = await poll(service);
  const ids = await post(service, 2);
  await pollFor(service, cursor, ids);
  const { result } = await rpc(service.url, "events/poll", { name: "deploys", cursor, maxEvents: 0 });
  expect(result).toMatchObject({ events: [], hasMore: true, truncated: false });
  expect((await poll(service, result.cursor)).events.map(({ eventId }: { eventId: string }) => eventId)).toEqual(ids);
});
