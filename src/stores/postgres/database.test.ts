import { expect, test } from "vitest";
import { createGate } from "../../../test/support/gate.ts";
import { createPostgresUrl } from "../../../test/support/postgres.ts";
import { startTcpProxy } from "../../../test/support/tcp-proxy.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { createDatabase } from "./database.ts";

test("a commit that was sent is looked up until the commit timeout, although other writes are refused by then", async () => {
  const url = new URL(await createPostgresUrl());
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const options = { url: url.href, maxConnections: 2, commitTimeoutMs: 3000, maxIdleMs: 60_000, log: silentLog };
  const database = createDatabase(options);
  const [begun, refused] = [createGate(), createGate()];
  const attempts: boolean[] = [];
  const writing = database.transact(async ({ run }, { isRepeated }) => {
    attempts.push(isRepeated);
    if (isRepeated) return;
    await run("SELECT 1");
    begun.open();
    await refused.passed;
  });
  await begun.passed;
  proxy.cutAfter(() => 0);
  await expect(database.transact(async () => undefined)).rejects.toThrow("cannot be used");

  const cuts = proxy.cuts();
  proxy.cutAt("COMMIT");
  refused.open();
  await expect.poll(() => proxy.cuts(), { interval: 10 }).toBeGreaterThan(cuts + 1);
  proxy.cutAt(undefined);
  proxy.cutAfter(undefined);
  await writing;
  expect(attempts).toEqual([false, true]);
  await database.close();
  await proxy.close();
});

test("a lock holds neither a read nor a write for longer than a third of a lease", async () => {
  const options = { url: await createPostgresUrl(), commitTimeoutMs: 0, log: silentLog };
  const [holder, database] = [
    createDatabase({ ...options, maxConnections: 1 }),
    createDatabase({ ...options, maxConnections: 1, maxLockMs: 50 }),
  ];
  const [locked, done] = [createGate(), createGate()];
  const holding = holder.transact(async ({ run }) => {
    await run("LOCK TABLE hookline.runs");
    locked.open();
    await done.passed;
  });
  await locked.passed;
  const select = "SELECT 1 FROM hookline.runs";
  const refusal = expect.objectContaining({
    name: "JournalUnavailable",
    message: expect.stringContaining("lock timeout"),
  });
  await expect(database.read(({ all }) => all(select))).rejects.toEqual(refusal);
  await expect(database.transact(({ all }) => all(select))).rejects.toEqual(refusal);
  done.open();
  await holding;
  await database.read(({ all }) => all(select));
  await Promise.all([holder.close(), database.close()]);
});
