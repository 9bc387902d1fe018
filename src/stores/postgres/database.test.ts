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
