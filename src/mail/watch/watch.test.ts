import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createWatchedMailbox,
  FOREVER,
  numbers,
  type Posted,
  type WatchedMailbox,
} from "../../../test/support/watched-mailbox.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import type { MailStore } from "../store.ts";
import type { HookResponse } from "./deliver.ts";

let mailbox: WatchedMailbox;
beforeEach(() => {
  mailbox = createWatchedMailbox();
});
afterEach(() => mailbox.close());

describe("mails are posted", () => {
  test("once and in order, old ones and new ones", async () => {
    mailbox.addAll(["1", "2"]);
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
    mailbox.addAll(["3"]);
    await expect.poll(() => mailbox.taken).toEqual(["1", "2", "3"]);
    await expect.poll(mailbox.status).toMatchObject({ state: "watching", remaining: 0, posted: 3, setAside: 0 });
  });

  test("with the mailbox's name", async () => {
    const bodies: Posted[] = [];
    mailbox.addAll(["1"]);
    mailbox.start({ hook: (_, body) => Promise.resolve({ bodies: bodies.push(body) } as never) });
    await expect
      .poll(() => bodies)
      .toMatchObject([{ source: "mail", messages: [{ id: "1", from: "Ann Lee <ann@example.com>" }] }]);
  });

  test("in batches, with the number that remains", async () => {
    mailbox.addAll(numbers(50));
    const waiting: number[] = [];
    mailbox.start({
      hook: () => ({ status: 200, waiting: waiting.push(mailbox.status().remaining) }) as never,
    });
    await expect.poll(() => mailbox.taken).toEqual(numbers(50));
    expect(waiting).toEqual([50, 30, 10]);
    await expect.poll(() => mailbox.changes.map(({ state }) => state)).toEqual(["catching-up", "watching"]);
  });

  test("with a progress line in the log for every 500 mails of a backlog", async () => {
    mailbox.addAll(numbers(1100));
    const lines: object[] = [];
    const info = (message: string, fields = {}) => void (message === "mail backlog" && lines.push(fields));
    mailbox.start({ log: { ...silentLog, info } });
    await expect.poll(mailbox.status).toMatchObject({ state: "watching", posted: 1100 });
    const place = { mailbox: "mail", folder: "INBOX" };
    expect(lines).toEqual([
      { ...place, posted: 500, remaining: 600 },
      { ...place, posted: 1000, remaining: 100 },
    ]);
  });

  test("from the last position after a restart", async () => {
    mailbox.addAll(["1"]);
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(["1"]);
    await mailbox.watch().close();
    mailbox.addAll(["2"]);
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
    expect(mailbox.requests).toEqual([["1"], ["2"]]);
    expect(mailbox.follows.map(({ position }) => position)).toEqual([undefined, "1"]);
  });

  test.each([0, 60_000])("since the time of the first start, if it looks back: %i", async (lookbackMs) => {
    mailbox.start({ lookbackMs });
    await expect.poll(() => mailbox.follows).toHaveLength(1);
    await mailbox.watch().close();
    const store = await mailbox.openStore();
    mailbox.start({ store, lookbackMs });
    await expect.poll(() => mailbox.follows).toHaveLength(2);
    const { startedAt } = await store.folder("INBOX");
    const since = lookbackMs === 0 ? undefined : Math.floor((startedAt - lookbackMs) / 1000) * 1000;
    expect(mailbox.follows.map((follow) => follow.since)).toEqual([since, since]);
  });

  test("once for each id", async () => {
    const bodies: string[] = [];
    for (const body of ["first", "second"]) mailbox.add({ id: "1", body });
    mailbox.addAll(["2"]);
    mailbox.start({ hook: (_, { messages }) => ({ code: String(bodies.push(messages[0]?.body ?? "")) }) });
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
    expect(bodies).toEqual(["first"]);
    mailbox.addAll(["1", "3"]);
    await expect.poll(() => mailbox.taken).toEqual(["1", "2", "3"]);
    expect(mailbox.status()).toMatchObject({ repeated: 2 });
  });

  test("together only with neighbors of the same authentication", async () => {
    for (const [id, dmarc] of [
      ["1", "pass"],
      ["2", "pass"],
      ["3", "fail"],
      ["4", "pass"],
    ] as const) {
      mailbox.add({ id, authentication: { server: "mx", dmarc } });
    }
    mailbox.start();
    await expect.poll(() => mailbox.requests).toEqual([["1", "2"], ["3"], ["4"]]);
  });

  test("in bodies of the size that the service accepts", async () => {
    for (const id of numbers(4)) mailbox.add({ id, body: "x".repeat(1000) });
    mailbox.start({ maxBodyBytes: 3200 });
    await expect
      .poll(() => mailbox.requests)
      .toEqual([
        ["1", "2"],
        ["3", "4"],
      ]);
  });

  test("only if the filter wants them; a skipped mail is posted after it was moved", async () => {
    mailbox.add({ id: "1" }, { spam: true });
    mailbox.add({ id: "own", sender: "me+shop@example.com" });
    mailbox.add({ id: "sent" }, { own: true });
    mailbox.addAll(["2"]);
    const lines: unknown[] = [];
    const debug = (message: string, fields?: object) => lines.push([message, fields]);
    mailbox.start({ log: { ...silentLog, debug } });
    await expect.poll(() => mailbox.taken).toEqual(["2"]);
    await expect.poll(mailbox.status).toMatchObject({ posted: 1, setAside: 0, passedOver: 3 });
    const [folder, message] = ["INBOX", "mail skipped by filter"];
    expect(lines).toContainEqual([message, { folder, mailId: "1", filter: "spam" }]);
    expect(lines).toContainEqual([message, { folder, mailId: "own", filter: "own" }]);
    mailbox.addAll(["1"]);
    await expect.poll(() => mailbox.taken).toEqual(["2", "1"]);
  });
});

describe("the store", () => {
  test("that cannot be written is retried, and no mail is posted again", async () => {
    mailbox.addAll(["1"]);
    mailbox.add({ id: "2", authentication: { spf: "fail" } });
    const opened = await mailbox.openStore();
    let failures = 0;
    const record: MailStore["record"] = async (result) => {
      if (failures++ < 3) throw new Error("database or disk is full");
      await opened.record(result);
    };
    const gate = Promise.withResolvers<object>();
    mailbox.start({ store: { ...opened, record }, hook: (ids) => (ids.includes("2") ? gate.promise : {}) });
    await expect.poll(() => mailbox.requests).toEqual([["1"], ["2"]]);
    expect(mailbox.changes).toContainEqual(
      expect.objectContaining({ state: "store-failed", error: expect.stringContaining("disk is full") }),
    );
    expect(mailbox.status()).toMatchObject({ state: "watching", error: undefined, posted: 1 });
    expect(await opened.findKnown(["1"])).toEqual(new Set(["1"]));
    gate.resolve({});
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
  });
});

test("a store that cannot be read is reported and retried", async () => {
  mailbox.addAll(["1"]);
  const opened = await mailbox.openStore();
  let failures = 0;
  const findKnown: MailStore["findKnown"] = async (ids) => {
    if (failures++ < 3) throw new Error("database is locked");
    return opened.findKnown(ids);
  };
  mailbox.start({ store: { ...opened, findKnown } });
  await expect.poll(() => mailbox.taken).toEqual(["1"]);
  const states = mailbox.changes.map(({ state }) => state);
  expect(states).toContain("store-failed");
  expect(states).not.toContain("network");
});

describe("close", () => {
  test("is immediate while the service rejects mails, and keeps the results", async () => {
    mailbox.addAll(numbers(3));
    for (const id of ["4", "5"]) mailbox.add({ id, authentication: { spf: "fail" } });
    mailbox.start({
      hook: (ids) => (ids.includes("4") ? { status: 503 } : {}),
      backoff: { transient: FOREVER, operator: FOREVER },
    });
    await expect.poll(() => mailbox.changes.at(-1)?.state).toBe("refused");
    await mailbox.watch().close();
    expect(mailbox.watch().status()).toMatchObject({ state: "stopped" });
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(numbers(5));
  });

  test("in the middle of a split request keeps the accepted mails", async () => {
    mailbox.addAll(numbers(4));
    const hook = (ids: string[]) => ({ status: ids.length === 4 ? 400 : ids.includes("4") ? 503 : 202 });
    mailbox.start({ hook, backoff: { transient: FOREVER, operator: FOREVER } });
    await expect.poll(() => mailbox.changes.at(-1)?.state).toBe("refused");
    await mailbox.watch().close();
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(numbers(4));
  });

  test("in the middle of a split request logs the mails that were set aside", async () => {
    mailbox.addAll(numbers(4));
    const told: unknown[] = [];
    mailbox.start({
      hook: (ids) => ({ status: ids.includes("4") && ids.length < 4 ? 503 : ids.includes("1") ? 400 : 202 }),
      log: { ...silentLog, warn: (_, fields) => told.push(fields) },
      backoff: { transient: FOREVER, operator: FOREVER },
    });
    await expect.poll(() => mailbox.changes.at(-1)?.state).toBe("refused");
    await mailbox.watch().close();
    expect(told).toContainEqual(expect.objectContaining({ mailId: "1", status: 400 }));
  });

  test("waits for a request in flight", async () => {
    let answer: (answer: Partial<HookResponse>) => void = () => {};
    mailbox.addAll(["1"]);
    mailbox.start({ hook: () => new Promise((resolve) => (answer = resolve)) });
    await expect.poll(() => mailbox.requests).toEqual([["1"]]);
    const closed = mailbox.watch().close();
    answer({});
    await closed;
    mailbox.start();
    await expect.poll(mailbox.status).toMatchObject({ state: "watching" });
    expect(mailbox.requests).toEqual([["1"]]);
  });

  test("starts no further request of a batch", async () => {
    const gate = Promise.withResolvers<object>();
    mailbox.addAll(["1"]);
    mailbox.add({ id: "2", authentication: { spf: "fail" } });
    mailbox.start({ hook: () => gate.promise });
    await expect.poll(() => mailbox.requests).toEqual([["1"]]);
    const closed = mailbox.watch().close();
    gate.resolve({});
    await closed;
    expect(mailbox.requests).toEqual([["1"]]);
    mailbox.start();
    await expect.poll(() => mailbox.requests).toEqual([["1"], ["2"]]);
  });

  test("reports a store that cannot be closed, and does not reject", async () => {
    const opened = await mailbox.openStore();
    const told: unknown[] = [];
    const close: MailStore["close"] = async () => {
      await opened.close();
      throw new Error("database is away");
    };
    mailbox.start({
      store: { ...opened, close },
      log: { ...silentLog, warn: (...line) => told.push(line) },
    });
    await expect.poll(() => mailbox.follows).toHaveLength(1);
    await mailbox.watch().close();
    expect(told).toContainEqual(["mail store not closed", { mailbox: "mail", reason: "database is away" }]);
  });
});

test("folders are followed in parallel and independently", async () => {
  await mailbox.close();
  mailbox = createWatchedMailbox(["INBOX", "Lists"]);
  mailbox.add({ id: "1", folder: "INBOX" });
  mailbox.add({ id: "2", folder: "Lists", authentication: { spf: "fail" } });
  mailbox.start({ hook: (ids) => (ids.includes("1") ? { status: 503 } : {}) });
  await expect.poll(() => mailbox.taken).toEqual(["2"]);
  await expect
    .poll(() => mailbox.watch().status())
    .toMatchObject({
      name: "mail",
      mailbox: "memory://me",
      state: "refused",
      folders: [
        { folder: "INBOX", state: "refused" },
        { folder: "Lists", state: "watching" },
      ],
    });
});

test("a mail in two folders is posted once", async () => {
  await mailbox.close();
  mailbox = createWatchedMailbox(["INBOX", "Lists"]);
  const gate = Promise.withResolvers<object>();
  for (const folder of ["INBOX", "Lists"]) mailbox.add({ id: "1", folder });
  mailbox.add({ id: "2", folder: "Lists" });
  mailbox.start({ hook: (ids) => (ids.includes("1") ? gate.promise : {}) });
  await expect.poll(() => mailbox.follows).toHaveLength(2);
  gate.resolve({});
  await expect.poll(() => mailbox.taken.toSorted()).toEqual(["1", "2"]);
  await expect
    .poll(() => mailbox.watch().status().folders)
    .toMatchObject([
      { state: "watching", posted: 1 },
      { state: "watching", posted: 1 },
    ]);
});

test("folders that wait for each other's mails stop with the watch", async () => {
  await mailbox.close();
  mailbox = createWatchedMailbox(["INBOX", "Lists"]);
  for (const folder of ["INBOX", "Lists"]) mailbox.add({ id: "1", folder });
  mailbox.start({ hook: () => ({ status: 503 }), backoff: { transient: FOREVER, operator: FOREVER } });
  await expect.poll(() => mailbox.changes.at(-1)?.state).toBe("refused");
  await mailbox.watch().close();
  expect(mailbox.requests).toEqual([["1"]]);
  expect(mailbox.watch().status()).toMatchObject({ state: "stopped" });
});
