import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectionLost, loginRefused, mailboxGone } from "../../../test/support/mailbox.ts";
import {
  AT_ONCE,
  createWatchedMailbox,
  FOREVER,
  numbers,
  type Posted,
  type WatchedMailbox,
} from "../../../test/support/watched-mailbox.ts";
import type { MailStore } from "../store/port.ts";
import type { MailAnswer } from "./post.ts";

let mailbox: WatchedMailbox;
beforeEach(() => {
  mailbox = createWatchedMailbox();
});
afterEach(() => mailbox.close());

describe("what comes is posted", () => {
  test("once, in its order, what was there and what comes later", async () => {
    mailbox.addAll(["1", "2"]);
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
    mailbox.addAll(["3"]);
    await expect.poll(() => mailbox.taken).toEqual(["1", "2", "3"]);
    await expect
      .poll(mailbox.status)
      .toMatchObject({ state: "watching", remaining: 0, posted: 3, setAside: 0 });
  });

  test("under the source's name", async () => {
    const bodies: Posted[] = [];
    mailbox.addAll(["1"]);
    mailbox.start({ hook: (_, body) => Promise.resolve({ bodies: bodies.push(body) } as never) });
    await expect
      .poll(() => bodies)
      .toMatchObject([{ source: "memory", messages: [{ id: "1", from: "Ann Lee <ann@example.com>" }] }]);
  });

  test("in batches, with what still waits", async () => {
    mailbox.addAll(numbers(50));
    const waiting: number[] = [];
    mailbox.start({
      hook: () => ({ status: 200, waiting: waiting.push(mailbox.status().remaining) }) as never,
    });
    await expect.poll(() => mailbox.taken).toEqual(numbers(50));
    expect(waiting).toEqual([50, 30, 10]);
    await expect.poll(() => mailbox.changes.map(({ state }) => state)).toEqual(["catching-up", "watching"]);
  });

  test("after the next start, from where it was", async () => {
    mailbox.addAll(["1"]);
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(["1"]);
    await mailbox.watch().close();
    mailbox.addAll(["2"]);
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
    expect(mailbox.requests).toEqual([["1"], ["2"]]);
  });

  test("of two with one id, the first", async () => {
    mailbox.addAll(["1", "1", "2"]);
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
    mailbox.addAll(["1", "3"]);
    await expect.poll(() => mailbox.taken).toEqual(["1", "2", "3"]);
  });

  test("together only with neighbours of the same authentication", async () => {
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

  test("in bodies that the service takes", async () => {
    for (const id of numbers(4)) mailbox.add({ id, body: "x".repeat(1000) });
    mailbox.start({ maxBodyBytes: 3200 });
    await expect
      .poll(() => mailbox.requests)
      .toEqual([
        ["1", "2"],
        ["3", "4"],
      ]);
  });

  test("by a filter; the others are passed over, and known after that", async () => {
    mailbox.add({ id: "spam" }, { spam: true });
    mailbox.add({ id: "own", sender: "me@example.com" });
    mailbox.addAll(["1"]);
    const opened = mailbox.openStore();
    mailbox.start({ store: opened });
    await expect.poll(() => mailbox.taken).toEqual(["1"]);
    await expect.poll(() => opened.isKnown("spam") && opened.isKnown("own")).toBe(true);
  });
});

describe("the mailbox is lost", () => {
  test("and found again: nothing is lost, nothing comes twice", async () => {
    mailbox.addAll(["1"]);
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(["1"]);
    mailbox.fail(connectionLost());
    await expect
      .poll(() => mailbox.changes.at(-1))
      .toMatchObject({ state: "network", error: "the connection was lost", nextTryAt: expect.any(Number) });
    mailbox.addAll(["2"]);
    mailbox.fail(undefined);
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
    expect(mailbox.status()).toMatchObject({ state: "watching", error: undefined, nextTryAt: undefined });
  });

  test.each([
    ["login-refused", loginRefused()],
    ["mailbox-gone", mailboxGone()],
  ])("%s: it is not tried again soon, but after a nudge", async (state, error) => {
    mailbox.fail(error);
    mailbox.start({ waits: { passing: AT_ONCE, lasting: FOREVER } });
    await expect.poll(() => mailbox.changes.at(-1)).toMatchObject({ state, error: error.message });
    expect(mailbox.watch().status()).toMatchObject({ state, error: error.message });
    expect(mailbox.opened()).toBe(1);
    mailbox.fail(undefined);
    mailbox.addAll(["1"]);
    mailbox.watch().nudge();
    await expect.poll(() => mailbox.taken).toEqual(["1"]);
    expect(mailbox.watch().status()).toMatchObject({ state: "watching", error: undefined });
  });

  test("an error that is no mailbox's counts as passing", async () => {
    mailbox.fail(new TypeError("x is undefined"));
    mailbox.start();
    await expect
      .poll(() => mailbox.changes.at(-1))
      .toMatchObject({ state: "network", error: "x is undefined" });
  });

  test("the log says so once for each state, and nothing of a mail", async () => {
    const lines: unknown[] = [];
    const note = (level: string) => (message: string, fields?: object) =>
      lines.push([level, message, fields]);
    mailbox.fail(loginRefused());
    mailbox.start({
      log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") },
    });
    await expect.poll(() => mailbox.opened()).toBeGreaterThan(3);
    mailbox.fail(new Error("cannot read: Subject: secret"));
    await expect.poll(() => mailbox.changes.at(-1)?.state).toBe("network");
    expect(lines.filter((line) => JSON.stringify(line).includes("login-refused"))).toHaveLength(1);
    expect(lines[0]).toMatchObject(["error", "mail watch", { folder: "INBOX", state: "login-refused" }]);
    expect(JSON.stringify(lines)).not.toContain("secret");
  });
});

describe("the store", () => {
  test("that cannot be written: it is tried until it can, and nothing is posted again", async () => {
    mailbox.addAll(["1"]);
    const opened = mailbox.openStore();
    let failures = 0;
    const settle = (settlement: Parameters<MailStore["settle"]>[0]): void => {
      if (failures++ < 3) throw new Error("database or disk is full");
      opened.settle(settlement);
    };
    mailbox.start({ store: { ...opened, settle } });
    await expect.poll(() => opened.isKnown("1")).toBe(true);
    expect(mailbox.changes).toContainEqual(
      expect.objectContaining({ state: "store-failed", error: expect.stringContaining("disk is full") }),
    );
    expect(mailbox.requests).toEqual([["1"]]);
    await expect.poll(mailbox.status).toMatchObject({ state: "watching", error: undefined });
  });
});

describe("the end", () => {
  test("comes at once where the service refuses, and what was dealt with is kept", async () => {
    mailbox.addAll(numbers(3));
    for (const id of ["4", "5"]) mailbox.add({ id, authentication: { spf: "fail" } });
    mailbox.start({
      hook: (ids) => (ids.includes("4") ? { status: 503 } : {}),
      waits: { passing: FOREVER, lasting: FOREVER },
    });
    await expect.poll(() => mailbox.changes.at(-1)?.state).toBe("service-refuses");
    await mailbox.watch().close();
    expect(mailbox.watch().status()).toMatchObject({ state: "stopped" });
    mailbox.start();
    await expect.poll(() => mailbox.taken).toEqual(numbers(5));
  });

  test("waits for a post under way", async () => {
    let answer: (answer: Partial<MailAnswer>) => void = () => {};
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
});

test("folders are followed side by side, each for itself", async () => {
  await mailbox.close();
  mailbox = createWatchedMailbox(["INBOX", "Lists"]);
  mailbox.add({ id: "1", folder: "INBOX" });
  mailbox.add({ id: "2", folder: "Lists", authentication: { spf: "fail" } });
  mailbox.start({ hook: (ids) => (ids.includes("1") ? { status: 503 } : {}) });
  await expect.poll(() => mailbox.taken).toEqual(["2"]);
  await expect
    .poll(() => mailbox.watch().status())
    .toMatchObject({
      source: "memory",
      mailbox: "memory://me",
      state: "service-refuses",
      folders: [
        { folder: "INBOX", state: "service-refuses" },
        { folder: "Lists", state: "watching" },
      ],
    });
});
