import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectionLost, createMailbox, loginRefused, mailboxGone } from "../../../test/support/mailbox.ts";
import { DEFAULTS } from "../../config/defaults.ts";
import type { MailSettings } from "../../config/resolved.ts";
import { silentLog } from "../../telemetry/log.ts";
import { openMailStore } from "../store/open-mail-store.ts";
import type { MailStore } from "../store/port.ts";
import { createMailWatch, type MailWatch } from "./mail-watch.ts";
import type { MailAnswer } from "./post.ts";
import type { FolderStatus } from "./states.ts";

const SETTINGS: MailSettings = { ...DEFAULTS.hooks.mail, lookbackMs: 0 };
const WAITS = { passing: { firstMs: 1, mostMs: 5 }, lasting: { firstMs: 1, mostMs: 5 } };
const FOREVER = { firstMs: 600_000, mostMs: 600_000 };
const OK: MailAnswer = { status: 202, code: "", error: "", eventId: "e", retryAfterMs: undefined };

type Posted = { source: string; messages: { id: string; body: string; truncated: boolean }[] };
/** Ids of a request's mails → what the hook answers. */
type Hook = (ids: string[], body: Posted) => Partial<MailAnswer> | Promise<Partial<MailAnswer>>;

let folder: string;
let mailbox: ReturnType<typeof createMailbox>;
let store: MailStore;
let watch: MailWatch;
/** Ids of the mails of each request, in their order; those that were taken. */
let requests: string[][];
let taken: string[];
let changes: FolderStatus[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-"));
  mailbox = createMailbox();
  [requests, taken, changes] = [[], [], []];
});
afterEach(async () => {
  await watch.close();
  rmSync(folder, { recursive: true });
});

describe("what comes is posted", () => {
  test("once, in its order, what was there and what comes later", async () => {
    add("1", "2");
    start();
    await expect.poll(() => taken).toEqual(["1", "2"]);
    add("3");
    await expect.poll(() => taken).toEqual(["1", "2", "3"]);
    await expect.poll(status).toMatchObject({ state: "watching", remaining: 0, posted: 3, setAside: 0 });
  });

  test("under the source's name", async () => {
    const bodies: Posted[] = [];
    add("1");
    start({ hook: (_, body) => Promise.resolve({ bodies: bodies.push(body) } as never) });
    await expect
      .poll(() => bodies)
      .toMatchObject([{ source: "memory", messages: [{ id: "1", from: "Ann Lee <ann@example.com>" }] }]);
  });

  test("in batches, with what still waits", async () => {
    add(...numbers(50));
    const waiting: number[] = [];
    start({ hook: () => ({ status: 200, waiting: waiting.push(status().remaining) }) as never });
    await expect.poll(() => taken).toEqual(numbers(50));
    expect(waiting).toEqual([50, 30, 10]);
    await expect.poll(() => changes.map(({ state }) => state)).toEqual(["catching-up", "watching"]);
  });

  test("after the next start, from where it was", async () => {
    add("1");
    start();
    await expect.poll(() => taken).toEqual(["1"]);
    await watch.close();
    add("2");
    start();
    await expect.poll(() => taken).toEqual(["1", "2"]);
    expect(requests).toEqual([["1"], ["2"]]);
  });

  test("of two with one id, the first", async () => {
    add("1", "1", "2");
    start();
    await expect.poll(() => taken).toEqual(["1", "2"]);
    add("1", "3");
    await expect.poll(() => taken).toEqual(["1", "2", "3"]);
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
    start();
    await expect.poll(() => requests).toEqual([["1", "2"], ["3"], ["4"]]);
  });

  test("in bodies that the service takes", async () => {
    for (const id of numbers(4)) mailbox.add({ id, body: "x".repeat(1000) });
    start({ maxBodyBytes: 3200 });
    await expect
      .poll(() => requests)
      .toEqual([
        ["1", "2"],
        ["3", "4"],
      ]);
  });

  test("by a filter; the others are passed over, and known after that", async () => {
    mailbox.add({ id: "spam" }, { spam: true });
    mailbox.add({ id: "own", sender: "me@example.com" });
    add("1");
    start();
    await expect.poll(() => taken).toEqual(["1"]);
    await expect.poll(() => store.isKnown("spam") && store.isKnown("own")).toBe(true);
  });
});

describe("the mailbox is lost", () => {
  test("and found again: nothing is lost, nothing comes twice", async () => {
    add("1");
    start();
    await expect.poll(() => taken).toEqual(["1"]);
    mailbox.fail(connectionLost());
    await expect
      .poll(() => changes.at(-1))
      .toMatchObject({ state: "network", error: "the connection was lost", nextTryAt: expect.any(Number) });
    add("2");
    mailbox.fail(undefined);
    await expect.poll(() => taken).toEqual(["1", "2"]);
    expect(status()).toMatchObject({ state: "watching", error: undefined, nextTryAt: undefined });
  });

  test.each([
    ["login-refused", loginRefused()],
    ["mailbox-gone", mailboxGone()],
  ])("%s: it is not tried again soon, but after a nudge", async (state, error) => {
    mailbox.fail(error);
    start({ waits: { passing: WAITS.passing, lasting: FOREVER } });
    await expect.poll(() => changes.at(-1)).toMatchObject({ state, error: error.message });
    expect(watch.status()).toMatchObject({ state, error: error.message });
    expect(mailbox.opened()).toBe(1);
    mailbox.fail(undefined);
    add("1");
    watch.nudge();
    await expect.poll(() => taken).toEqual(["1"]);
    expect(watch.status()).toMatchObject({ state: "watching", error: undefined });
  });

  test("an error that is no mailbox's counts as passing", async () => {
    mailbox.fail(new TypeError("x is undefined"));
    start();
    await expect.poll(() => changes.at(-1)).toMatchObject({ state: "network", error: "x is undefined" });
  });

  test("the log says so once for each state, and nothing of a mail", async () => {
    const lines: unknown[] = [];
    const note = (level: string) => (message: string, fields?: object) =>
      lines.push([level, message, fields]);
    mailbox.fail(loginRefused());
    start({ log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") } });
    await expect.poll(() => mailbox.opened()).toBeGreaterThan(3);
    mailbox.fail(new Error("cannot read: Subject: secret"));
    await expect.poll(() => changes.at(-1)?.state).toBe("network");
    expect(lines.filter((line) => JSON.stringify(line).includes("login-refused"))).toHaveLength(1);
    expect(lines[0]).toMatchObject(["error", "mail watch", { folder: "INBOX", state: "login-refused" }]);
    expect(JSON.stringify(lines)).not.toContain("secret");
  });
});

describe("the service", () => {
  test.each([
    ["takes no mail", { status: 401 }],
    ["has no such hook", { status: 404 }],
    ["is overloaded", { status: 503, retryAfterMs: 2 }],
    ["is away", { status: 0 }],
    ["is busy", { status: 429 }],
    ["has a fault", { status: 500, code: "internal_error" }],
  ])("%s: it is asked until it does, and nothing is left out", async (_, answer) => {
    const error = "the hook says no";
    let refusals = 0;
    add("1", "2");
    start({ hook: () => (refusals++ < 3 ? { ...answer, error } : {}) });
    await expect.poll(() => taken).toEqual(["1", "2"]);
    expect(requests).toHaveLength(4);
    expect(changes).toContainEqual(expect.objectContaining({ state: "service-refuses", error }));
    await expect.poll(status).toMatchObject({ state: "watching", error: undefined, posted: 2, setAside: 0 });
  });

  test("refuses one mail: it is set aside alone, the rest come", async () => {
    add(...numbers(20));
    start({
      hook: (ids) =>
        ids.includes("7") ? { status: 400, code: "invalid_payload", eventId: "refused-7" } : {},
    });
    await expect.poll(() => taken).toEqual(numbers(20).filter((id) => id !== "7"));
    await expect.poll(status).toMatchObject({ state: "watching", posted: 19, setAside: 1 });
    expect(store.isKnown("7")).toBe(true);
    await watch.close();
    start();
    await expect.poll(status).toMatchObject({ state: "watching", setAside: 1 });
  });

  test("has a transform that fails on one mail: a few tries, then it is set aside", async () => {
    add("1", "2", "3");
    start({ hook: (ids) => (ids.includes("2") ? { status: 500, code: "transform_failed" } : {}) });
    await expect.poll(() => taken).toEqual(["1", "3"]);
    await expect.poll(status).toMatchObject({ posted: 2, setAside: 1 });
    expect(requests.filter((ids) => ids.join() === "2")).toHaveLength(3);
  });

  test("has a transform that fails once: nothing is set aside", async () => {
    let failures = 0;
    add("1");
    start({ hook: () => (failures++ === 0 ? { status: 500, code: "transform_failed" } : {}) });
    await expect.poll(status).toMatchObject({ posted: 1, setAside: 0 });
  });

  test("takes less than was posted: fewer at once, then a shorter text", async () => {
    const bodies: Posted["messages"] = [];
    add("1");
    mailbox.add({ id: "long", body: "é".repeat(5000) });
    add("3");
    start({
      hook: (_, body) => {
        if (JSON.stringify(body).length > 2000) return { status: 413 };
        bodies.push(...body.messages);
        return {};
      },
    });
    await expect.poll(() => taken).toEqual(["1", "long", "3"]);
    expect(bodies[1]).toMatchObject({ truncated: true, body: expect.stringMatching(/^é{100,}$/) });
    expect(bodies[0]).toMatchObject({ truncated: false });
    expect(status()).toMatchObject({ setAside: 0 });
  });

  test("takes not even a mail without text: it is set aside", async () => {
    mailbox.add({ id: "1", subject: "x".repeat(5000) });
    add("2");
    start({ hook: (ids) => (ids.includes("1") ? { status: 413, code: "too_large" } : {}) });
    await expect.poll(() => taken).toEqual(["2"]);
    await expect.poll(status).toMatchObject({ setAside: 1 });
  });

  test("is asked again at once after a nudge", async () => {
    let refusals = 0;
    add("1");
    start({
      hook: () => (refusals++ === 0 ? { status: 404 } : {}),
      waits: { passing: FOREVER, lasting: FOREVER },
    });
    await expect.poll(() => changes.at(-1)?.state).toBe("service-refuses");
    watch.nudge();
    await expect.poll(() => taken).toEqual(["1"]);
  });
});

describe("the store", () => {
  test("that cannot be written: it is tried until it can, and nothing is posted again", async () => {
    add("1");
    const opened = open();
    let failures = 0;
    const settle = (settlement: Parameters<MailStore["settle"]>[0]): void => {
      if (failures++ < 3) throw new Error("database or disk is full");
      opened.settle(settlement);
    };
    start({ store: { ...opened, settle } });
    await expect.poll(() => opened.isKnown("1")).toBe(true);
    expect(changes).toContainEqual(
      expect.objectContaining({ state: "store-failed", error: expect.stringContaining("disk is full") }),
    );
    expect(requests).toEqual([["1"]]);
    await expect.poll(status).toMatchObject({ state: "watching", error: undefined });
  });
});

describe("the end", () => {
  test("comes at once where the service refuses, and what was dealt with is kept", async () => {
    add(...numbers(3));
    for (const id of ["4", "5"]) mailbox.add({ id, authentication: { spf: "fail" } });
    start({
      hook: (ids) => (ids.includes("4") ? { status: 503 } : {}),
      waits: { passing: FOREVER, lasting: FOREVER },
    });
    await expect.poll(() => changes.at(-1)?.state).toBe("service-refuses");
    await watch.close();
    expect(watch.status()).toMatchObject({ state: "stopped" });
    start();
    await expect.poll(() => taken).toEqual(numbers(5));
  });

  test("waits for a post under way", async () => {
    let answer: (answer: Partial<MailAnswer>) => void = () => {};
    add("1");
    start({ hook: () => new Promise((resolve) => (answer = resolve)) });
    await expect.poll(() => requests).toEqual([["1"]]);
    const closed = watch.close();
    answer({});
    await closed;
    start();
    await expect.poll(status).toMatchObject({ state: "watching" });
    expect(requests).toEqual([["1"]]);
  });
});

test("folders are followed side by side, each for itself", async () => {
  mailbox = createMailbox({ folders: ["INBOX", "Lists"] });
  mailbox.add({ id: "1", folder: "INBOX" });
  mailbox.add({ id: "2", folder: "Lists", authentication: { spf: "fail" } });
  start({ hook: (ids) => (ids.includes("1") ? { status: 503 } : {}) });
  await expect.poll(() => taken).toEqual(["2"]);
  await expect
    .poll(() => watch.status())
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

interface StartOptions {
  hook?: Hook;
  maxBodyBytes?: number;
  waits?: Parameters<typeof createMailWatch>[0]["waits"];
  log?: Parameters<typeof createMailWatch>[0]["log"];
  store?: MailStore;
}

function start({
  hook = () => ({}),
  maxBodyBytes = 262_144,
  waits = WAITS,
  log = silentLog,
  ...options
}: StartOptions = {}): void {
  store = options.store ?? open();
  watch = createMailWatch({
    source: mailbox.source,
    settings: SETTINGS,
    store,
    maxBodyBytes: () => maxBodyBytes,
    log,
    waits,
    onChange: (change) => changes.push(change),
    async post(text) {
      const body: Posted = JSON.parse(text);
      const ids = body.messages.map(({ id }) => id);
      requests.push(ids);
      const answer = { ...OK, ...(await hook(ids, body)) };
      if (answer.status < 300 && answer.status >= 200) taken.push(...ids);
      return answer;
    },
  });
  watch.start();
}

function open(): MailStore {
  const opened = openMailStore({ folder, mailbox: mailbox.source.mailbox });
  if (!opened) throw new Error("the mailbox is taken");
  return opened;
}

function add(...ids: string[]): void {
  for (const id of ids) mailbox.add({ id });
}

function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}

function status(): FolderStatus {
  const [first] = watch.status().folders;
  if (!first) throw new Error("there is no folder");
  return first;
}
