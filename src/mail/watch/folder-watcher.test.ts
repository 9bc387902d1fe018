import { afterEach, beforeEach, expect, test } from "vitest";
import { connectionLost, loginRefused, mailboxGone, tlsFailed } from "../../../test/support/mailbox.ts";
import {
  AT_ONCE,
  createWatchedMailbox,
  FOREVER,
  numbers,
  type WatchedMailbox,
} from "../../../test/support/watched-mailbox.ts";

let mailbox: WatchedMailbox;
beforeEach(() => {
  mailbox = createWatchedMailbox();
});
afterEach(() => mailbox.close());

test("after a lost connection no mail is lost and none is posted twice", async () => {
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
  ["tls-failed", tlsFailed()],
])("%s: the next attempt is much later, or after a nudge", async (state, error) => {
  mailbox.fail(error);
  mailbox.start({ backoff: { transient: AT_ONCE, operator: FOREVER } });
  await expect.poll(() => mailbox.changes.at(-1)).toMatchObject({ state, error: error.message });
  expect(mailbox.watch().status()).toMatchObject({ state, error: error.message });
  expect(mailbox.follows).toHaveLength(1);
  mailbox.fail(undefined);
  mailbox.addAll(["1"]);
  mailbox.watch().nudge();
  await expect.poll(() => mailbox.taken).toEqual(["1"]);
  expect(mailbox.watch().status()).toMatchObject({ state: "watching", error: undefined });
});

test("an unknown error counts as a network failure", async () => {
  mailbox.fail(new TypeError("x is undefined"));
  mailbox.start();
  const failed = expect.objectContaining({ state: "network", error: "x is undefined" });
  await expect.poll(() => mailbox.changes).toContainEqual(failed);
});

test("a folder whose next mail cannot be read is stuck, until it can be", async () => {
  mailbox.addAll(["1"]);
  mailbox.fail(connectionLost(), { once: "open" });
  mailbox.start();
  const error = "the folder INBOX stands still: its next mails cannot be read (the connection was lost)";
  await expect.poll(() => mailbox.changes.at(-1)).toMatchObject({ state: "stuck", error });
  const { length } = mailbox.follows;
  await expect.poll(() => mailbox.follows.length).toBeGreaterThan(length + 3);
  const stuckAt = mailbox.changes.findIndex(({ state }) => state === "stuck");
  // The folder does not look well whenever a connection opens.
  expect(new Set(mailbox.changes.slice(stuckAt).map(({ state }) => state))).toEqual(new Set(["stuck"]));
  mailbox.fail(undefined);
  await expect.poll(() => mailbox.taken).toEqual(["1"]);
  await expect.poll(mailbox.status).toMatchObject({ state: "watching", error: undefined });
});

test("the log mentions each state once, and no content of a mail", async () => {
  const lines: unknown[] = [];
  const note = (level: string) => (message: string, fields?: object) => lines.push([level, message, fields]);
  mailbox.fail(loginRefused());
  mailbox.start({
    log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") },
  });
  await expect.poll(() => mailbox.follows.length).toBeGreaterThan(3);
  mailbox.fail(new Error("cannot read: Subject: secret"));
  await expect.poll(() => mailbox.changes.at(-1)?.state).toBe("stuck");
  expect(lines.filter((line) => JSON.stringify(line).includes("login-refused"))).toHaveLength(1);
  expect(lines[0]).toMatchObject(["error", "mail watch", { folder: "INBOX", state: "login-refused" }]);
  expect(JSON.stringify(lines)).not.toContain("secret");
});

test("a mailbox that drops each connection at once is tried less and less often", async () => {
  const transient = { firstMs: 1, maxMs: 600_000 };
  mailbox.fail(connectionLost(), { once: "open" });
  mailbox.start({ backoff: { transient, operator: FOREVER } });
  const lost = () => mailbox.changes.filter(({ state }) => state === "network");
  await expect.poll(() => lost().length).toBeGreaterThanOrEqual(6);
  for (const [index, { since, nextTryAt = 0 }] of lost().slice(0, 6).entries()) {
    expect(nextTryAt - since).toBeGreaterThanOrEqual(2 ** index / 2);
  }
  expect(mailbox.changes.filter(({ state }) => state === "watching").length).toBeGreaterThanOrEqual(5);
});

test.each([
  ["a connection", connectionLost()],
  ["a login", loginRefused()],
])("%s that succeeds again each time resets the waits", async (_, error) => {
  const growing = { firstMs: 1, maxMs: 600_000 };
  mailbox.start({ backoff: { transient: growing, operator: growing } });
  for (const id of numbers(20)) {
    mailbox.fail(error);
    await expect.poll(() => mailbox.status().error, { interval: 1 }).toBe(error.message);
    mailbox.fail(undefined);
    mailbox.addAll([id]);
    await expect.poll(() => mailbox.taken, { interval: 1 }).toContain(id);
  }
  expect(mailbox.taken).toEqual(numbers(20));
});
