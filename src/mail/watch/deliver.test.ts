import { describe, afterEach, beforeEach, expect, test } from "vitest";
import { toMail } from "../../../test/support/mailbox.ts";
import {
  AT_ONCE,
  createWatchedMailbox,
  FOREVER,
  numbers,
  type Posted,
  type WatchedMailbox,
} from "../../../test/support/watched-mailbox.ts";
import { deliver, judge, shorten, type Verdict } from "./deliver.ts";
import type { MailAnswer } from "./post.ts";

describe("deliver", () => {
  let mailbox: WatchedMailbox;
  beforeEach(() => {
    mailbox = createWatchedMailbox();
  });
  afterEach(() => mailbox.close());

  test.each([
    ["takes no mail", { status: 401 }],
    ["has no such hook", { status: 404, hookExists: false }],
    ["is overloaded", { status: 503, retryAfterMs: 2 }],
    ["is away", { status: 0 }],
    ["is busy", { status: 429 }],
    ["has a fault", { status: 500, code: "internal_error" }],
  ])("the service %s: it is asked until it does, and nothing is left out", async (_, answer) => {
    const error = "the hook says no";
    let refusals = 0;
    mailbox.addAll(["1", "2"]);
    mailbox.start({ hook: () => (refusals++ < 3 ? { ...answer, error } : {}) });
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
    expect(mailbox.requests).toHaveLength(4);
    expect(mailbox.changes).toContainEqual(expect.objectContaining({ state: "service-refuses", error }));
    await expect.poll(mailbox.status).toMatchObject({ state: "watching", error: undefined, posted: 2, setAside: 0 });
  });

  test("the service refuses one mail: it is set aside alone, the rest come", async () => {
    mailbox.addAll(numbers(20));
    mailbox.start({
      hook: (ids) => (ids.includes("7") ? { status: 400, code: "invalid_payload", eventId: "refused-7" } : {}),
    });
    await expect.poll(() => mailbox.taken).toEqual(numbers(20).filter((id) => id !== "7"));
    await expect.poll(mailbox.status).toMatchObject({ state: "watching", posted: 19, setAside: 1 });
    await mailbox.watch().close();
    mailbox.start();
    await expect.poll(mailbox.status).toMatchObject({ state: "watching", setAside: 1 });
  });

  test("the service has a transform that fails on one mail: a few tries, then it is set aside", async () => {
    mailbox.addAll(["1", "2", "3"]);
    mailbox.start({ hook: (ids) => (ids.includes("2") ? { status: 500, code: "transform_failed" } : {}) });
    await expect.poll(() => mailbox.taken).toEqual(["1", "3"]);
    await expect.poll(mailbox.status).toMatchObject({ posted: 2, setAside: 1 });
    expect(mailbox.requests.filter((ids) => ids.join() === "2")).toHaveLength(3);
  });

  test("the service has a transform that fails once: nothing is set aside", async () => {
    let failures = 0;
    mailbox.addAll(["1"]);
    mailbox.start({ hook: () => (failures++ === 0 ? { status: 500, code: "transform_failed" } : {}) });
    await expect.poll(mailbox.status).toMatchObject({ posted: 1, setAside: 0 });
  });

  test("the service takes less than was posted: fewer at once, then a shorter text", async () => {
    const bodies: Posted["messages"] = [];
    mailbox.addAll(["1"]);
    mailbox.add({ id: "long", body: "é".repeat(5000) });
    mailbox.addAll(["3"]);
    mailbox.start({
      hook: (_, body) => {
        if (JSON.stringify(body).length > 2000) return { status: 413 };
        bodies.push(...body.messages);
        return {};
      },
    });
    await expect.poll(() => mailbox.taken).toEqual(["1", "long", "3"]);
    expect(bodies[1]).toMatchObject({ truncated: true, body: expect.stringMatching(/^é{100,}$/) });
    expect(bodies[0]).toMatchObject({ truncated: false });
    expect(mailbox.status()).toMatchObject({ setAside: 0 });
  });

  test("the service takes not even a mail without text: it is set aside", async () => {
    mailbox.add({ id: "1", subject: "x".repeat(5000) });
    mailbox.addAll(["2"]);
    mailbox.start({ hook: (ids) => (ids.includes("1") ? { status: 413, code: "too_large" } : {}) });
    await expect.poll(() => mailbox.taken).toEqual(["2"]);
    await expect.poll(mailbox.status).toMatchObject({ setAside: 1 });
  });

  test("the service is asked again at once after a nudge", async () => {
    let refusals = 0;
    mailbox.addAll(["1"]);
    mailbox.start({
      hook: () => (refusals++ === 0 ? { status: 404, hookExists: false } : {}),
      waits: { passing: FOREVER, lasting: FOREVER },
    });
    await expect.poll(() => mailbox.changes.at(-1)?.state).toBe("service-refuses");
    mailbox.watch().nudge();
    await expect.poll(() => mailbox.taken).toEqual(["1"]);
  });

  test("the service is not asked before it wants to be", async () => {
    const waits: number[] = [];
    const answer = { code: "", error: "", eventId: undefined, hookExists: false };
    const answers: MailAnswer[] = [
      { ...answer, status: 503, retryAfterMs: 7000 },
      { ...answer, status: 202, retryAfterMs: undefined },
    ];
    await deliver([toMail("1")], [], {
      source: "memory",
      post: async () => answers.shift() as MailAnswer,
      backoff: AT_ONCE,
      pause: async (ms) => void waits.push(ms),
      troubled() {},
      answered() {},
      signal: new AbortController().signal,
    });
    expect(waits).toEqual([7000]);
  });

  test("a post that is cut off at the end is no trouble of the service's", async () => {
    const cutting = new AbortController();
    const troubles: MailAnswer[] = [];
    const delivered = deliver([toMail("1")], [], {
      source: "memory",
      async post() {
        cutting.abort();
        return {
          status: 0,
          code: "",
          error: "",
          eventId: undefined,
          hookExists: false,
          retryAfterMs: undefined,
        };
      },
      backoff: AT_ONCE,
      pause: () => Promise.reject(new Error("It goes on.")),
      troubled: (answer) => void troubles.push(answer),
      answered() {},
      signal: cutting.signal,
    });
    await expect(delivered).rejects.toThrow("aborted");
    expect(troubles).toEqual([]);
  });

  test("the service has answered: the trouble is over, whatever comes next", async () => {
    const gate = Promise.withResolvers<object>();
    let refusals = 0;
    mailbox.addAll(["1"]);
    mailbox.add({ id: "2", authentication: { spf: "fail" } });
    mailbox.start({
      hook: (ids) => (ids.includes("2") ? gate.promise : refusals++ === 0 ? { status: 503 } : {}),
    });
    await expect.poll(() => mailbox.requests).toEqual([["1"], ["1"], ["2"]]);
    expect(mailbox.changes.map(({ state }) => state)).toContain("service-refuses");
    expect(mailbox.status()).toMatchObject({ state: "watching", error: undefined, nextTryAt: undefined });
    gate.resolve({});
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
  });
});

describe("judge", () => {
  test.each<[Partial<MailAnswer>, Verdict, Verdict]>([
    // Of several mails, of one.
    [{ status: 200 }, "taken", "taken"],
    [{ status: 204 }, "taken", "taken"],
    [{ status: 413 }, "too-much", "too-much"],
    [{ status: 504 }, "too-much", "unready"],
    [{ status: 400 }, "refused", "refused"],
    [{ status: 422 }, "refused", "refused"],
    [{ status: 404, hookExists: true }, "refused", "refused"],
    [{ status: 404 }, "unready", "unready"],
    [{ status: 500, code: "transform_failed" }, "failed", "failed"],
    [{ status: 500, code: "internal_error" }, "unready", "unready"],
    [{ status: 0 }, "unready", "unready"],
    [{ status: 302 }, "unready", "unready"],
    [{ status: 401 }, "unready", "unready"],
    [{ status: 405 }, "unready", "unready"],
    [{ status: 408 }, "unready", "unready"],
    [{ status: 429 }, "unready", "unready"],
    [{ status: 503 }, "unready", "unready"],
  ])("%j", (answer, ofSeveral, ofOne) => {
    const whole = {
      code: "",
      error: "",
      eventId: undefined,
      hookExists: false,
      retryAfterMs: undefined,
      status: 0,
      ...answer,
    };
    expect(judge(whole, 2)).toBe(ofSeveral);
    expect(judge(whole, 1)).toBe(ofOne);
  });
});

describe("shorten", () => {
  test("a quarter of the text, at last none of it, and the mail says so", () => {
    const lengths = [];
    for (let mail = shorten({ ...toMail("1"), body: "x".repeat(20_000) }); mail; mail = shorten(mail)) {
      expect(mail).toMatchObject({ id: "1", truncated: true });
      lengths.push(mail.body.length);
    }
    expect(lengths).toEqual([5000, 1250, 312, 78, 0]);
  });

  test("no character is cut in two", () => {
    const shorter = shorten({ ...toMail("1"), body: "😀".repeat(502) });
    expect(shorter?.body.isWellFormed()).toBe(true);
    expect(shorter?.body).toHaveLength(250);
  });
});
