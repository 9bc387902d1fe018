import { describe, expect, onTestFinished, test } from "vitest";
import { createGate } from "../../../test/support/gate.ts";
import { createPostgresUrl } from "../../../test/support/postgres.ts";
import { startTcpProxy } from "../../../test/support/tcp-proxy.ts";
import { type Log, silentLog } from "../../core/telemetry/log.ts";
import { createDatabase } from "./database.ts";

const isDirect = process.env.HOOKLINE_TEST_POSTGRES_SERVER !== "/pgbouncer";

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

// `test/system/pooler.test.ts` has what a pooler loses by itself.
describe.runIf(isDirect)("a statement with values is prepared once for a connection", () => {
  const ADD = "INSERT INTO hookline.numbers VALUES ($1)";

  async function createNumbers(): Promise<string> {
    const url = await createPostgresUrl();
    const { database } = open(url);
    await database.transact(({ run }) => run("CREATE TABLE hookline.numbers (n integer)"));
    return url;
  }

  /** One connection, so that each transaction sees what the last one has prepared. */
  function open(url: string) {
    const lines: string[] = [];
    const log: Log = { ...silentLog, info: (message) => void lines.push(message) };
    const database = createDatabase({ url, maxConnections: 1, commitTimeoutMs: 0, log });
    onTestFinished(() => database.close());
    const add = (n: number) =>
      database.transact(async ({ run, withCommit }) => {
        await run(ADD, [n]);
        withCommit("UPDATE hookline.numbers SET n = n WHERE n = $1", [n]);
      });
    const numbers = () =>
      database.read(({ all }) => all("SELECT n FROM hookline.numbers WHERE n > $1 ORDER BY n", [0]));
    const prepared = () =>
      database.read(({ all }) => all("SELECT name FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO%'"));
    return { database, lines, add, numbers, prepared };
  }

  test("and kept", async () => {
    const { lines, add, numbers, prepared } = open(await createNumbers());
    for (const n of [1, 2, 3]) await add(n);
    expect(await prepared()).toHaveLength(1);
    expect([await numbers(), lines]).toEqual([[{ n: 1 }, { n: 2 }, { n: 3 }], []]);
  });

  test("until it is lost: the transaction or the read runs again without, and so do all later ones", async () => {
    const url = await createNumbers();
    for (const isRead of [false, true]) {
      const { database, lines, add, numbers } = open(url);
      await add(1);
      await numbers();
      await database.transact(({ run }) => run("DEALLOCATE ALL"));
      if (isRead) await numbers();
      await add(2);
      await database.transact(({ run }) => run("DEALLOCATE ALL"));
      await add(3);
      const expected = [1, 2, 3].map((n) => ({ n }));
      expect(await numbers()).toEqual(isRead ? [1, 1, 2, 2, 3, 3].map((n) => ({ n })) : expected);
      expect(lines).toHaveLength(1);
    }
  });

  test("until another one has prepared it on this connection, as behind a pooler", async () => {
    const url = await createNumbers();
    const one = open(url);
    await one.add(1);
    const [row] = await one.prepared();
    const other = open(url);
    await other.database.transact(({ run }) => run(`PREPARE "${String(row?.name)}" AS SELECT 1`));
    await other.add(2);
    expect([await other.numbers(), other.lines.length]).toEqual([[{ n: 1 }, { n: 2 }], 1]);
  });
});
