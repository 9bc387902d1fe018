import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { toMail } from "../../../test/support/mailbox.ts";
import {
  AT_ONCE,
  createWatchedMailbox,
  FOREVER,
  numbers,
  type Posted,
  type WatchedMailbox,
} from "../../../test/support/watched-mailbox.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import {
  type Classification,
  classifyResponse,
  createMailPost,
  deliver,
  type DeliverContext,
  type HookResponse,
  shorten,
} from "./deliver.ts";
import type { FolderStatus } from "../../core/ports/mail-status.ts";
import { createStatusTracker } from "./status.ts";

describe("deliver", () => {
  let mailbox: WatchedMailbox;
  beforeEach(() => {
    mailbox = createWatchedMailbox();
  });
  afterEach(() => mailbox.close());

  test.each([
    ["rejects the token", { status: 401 }],
    ["has no such hook", { status: 404, skipped: false }],
    ["is overloaded", { status: 503, retryAfterMs: 2 }],
    ["is down", { status: 0 }],
    ["is busy", { status: 429 }],
    ["has an internal error", { status: 500, code: "internal_error" }],
  ])("the service %s: mails are retried until it accepts them", async (_, answer) => {
    const error = "the hook says no";
    let refusals = 0;
    mailbox.addAll(["1", "2"]);
    mailbox.start({ hook: () => (refusals++ < 3 ? { ...answer, error } : {}) });
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
    expect(mailbox.requests).toHaveLength(4);
    expect(mailbox.changes).toContainEqual(expect.objectContaining({ state: "refused", error }));
    await expect.poll(mailbox.status).toMatchObject({ state: "watching", error: undefined, posted: 2, setAside: 0 });
  });

  test("mails that the hook knew are not counted as posted", async () => {
    mailbox.addAll(["1", "2", "3"]);
    mailbox.start({ hook: () => ({ repeated: 2 }) });
    await expect.poll(mailbox.status).toMatchObject({ state: "watching", posted: 1, repeated: 2, remaining: 0 });
  });

  test("a rejected mail is set aside alone, the others are accepted", async () => {
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

  test("a mail whose transform fails three times is set aside", async () => {
    mailbox.addAll(["1", "2", "3"]);
    mailbox.start({ hook: (ids) => (ids.includes("2") ? { status: 500, code: "transform_failed" } : {}) });
    await expect.poll(() => mailbox.taken).toEqual(["1", "3"]);
    await expect.poll(mailbox.status).toMatchObject({ posted: 2, setAside: 1 });
    expect(mailbox.requests.filter((ids) => ids.join() === "2")).toHaveLength(3);
  });

  test("a transform that fails once is retried", async () => {
    let failures = 0;
    mailbox.addAll(["1"]);
    mailbox.start({ hook: () => (failures++ === 0 ? { status: 500, code: "transform_failed" } : {}) });
    await expect.poll(mailbox.status).toMatchObject({ posted: 1, setAside: 0 });
  });

  test("a body that is too large is split, then the text is shortened", async () => {
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

  test("a mail that is too large without its text is set aside", async () => {
    mailbox.add({ id: "1", subject: "x".repeat(5000) });
    mailbox.addAll(["2"]);
    mailbox.start({ hook: (ids) => (ids.includes("1") ? { status: 413, code: "too_large" } : {}) });
    await expect.poll(() => mailbox.taken).toEqual(["2"]);
    await expect.poll(mailbox.status).toMatchObject({ setAside: 1 });
  });

  test("a nudge retries at once", async () => {
    let refusals = 0;
    mailbox.addAll(["1"]);
    mailbox.start({
      hook: () => (refusals++ === 0 ? { status: 404, skipped: false } : {}),
      backoff: { transient: FOREVER, operator: FOREVER },
    });
    await expect.poll(() => mailbox.changes.at(-1)?.state).toBe("refused");
    mailbox.watch().nudge();
    await expect.poll(() => mailbox.taken).toEqual(["1"]);
  });

  test("Retry-After is respected", async () => {
    const waits: number[] = [];
    const responses = [toResponse({ status: 503, retryAfterMs: 7000 }), toResponse({ status: 202 })];
    await runDeliver({
      post: async () => responses.shift() as HookResponse,
      pause: async (ms) => void waits.push(ms),
    });
    expect(waits).toEqual([7000]);
  });

  test("a request that is aborted at the end does not count as rejected", async () => {
    const aborting = new AbortController();
    const changes: FolderStatus[] = [];
    const delivered = runDeliver({
      async post() {
        aborting.abort();
        return toResponse({ status: 0 });
      },
      status: createStatusTracker({
        mailbox: "imap",
        folder: "INBOX",
        log: silentLog,
        onChange: (change) => changes.push(change),
      }),
      postSignal: aborting.signal,
    });
    await expect(delivered).rejects.toThrow("aborted");
    expect(changes).toEqual([]);
  });

  async function runDeliver(context: Partial<DeliverContext> & Pick<DeliverContext, "post">): Promise<void> {
    const complete: DeliverContext = {
      settings: { name: "memory" },
      status: createStatusTracker({ mailbox: "imap", folder: "INBOX", log: silentLog, onChange() {} }),
      backoff: AT_ONCE,
      pause: () => Promise.reject(new Error("It is retried.")),
      postSignal: new AbortController().signal,
      ...context,
    };
    for await (const { setAside } of deliver([toMail("1")], complete)) expect(setAside).toBe(false);
  }

  test("any answer ends the refused state", async () => {
    const gate = Promise.withResolvers<object>();
    let refusals = 0;
    mailbox.addAll(["1"]);
    mailbox.add({ id: "2", authentication: { spf: "fail" } });
    mailbox.start({
      hook: (ids) => (ids.includes("2") ? gate.promise : refusals++ === 0 ? { status: 503 } : {}),
    });
    await expect.poll(() => mailbox.requests).toEqual([["1"], ["1"], ["2"]]);
    expect(mailbox.changes.map(({ state }) => state)).toContain("refused");
    expect(mailbox.status()).toMatchObject({ state: "watching", error: undefined, nextTryAt: undefined });
    gate.resolve({});
    await expect.poll(() => mailbox.taken).toEqual(["1", "2"]);
  });
});

describe("classifyResponse", () => {
  test.each<[Partial<HookResponse>, Classification, Classification]>([
    // The classification for several mails, and for one.
    [{ status: 200 }, "accepted", "accepted"],
    [{ status: 204 }, "accepted", "accepted"],
    [{ status: 413 }, "too-large", "too-large"],
    [{ status: 504 }, "too-large", "unavailable"],
    [{ status: 400 }, "refused", "refused"],
    [{ status: 422 }, "refused", "refused"],
    [{ status: 204, skipped: true }, "refused", "refused"],
    [{ status: 404 }, "unavailable", "unavailable"],
    [{ status: 500, code: "transform_failed" }, "failed", "failed"],
    [{ status: 500, code: "internal_error" }, "unavailable", "unavailable"],
    [{ status: 0 }, "unavailable", "unavailable"],
    [{ status: 302 }, "unavailable", "unavailable"],
    [{ status: 401 }, "unavailable", "unavailable"],
    [{ status: 405 }, "unavailable", "unavailable"],
    [{ status: 408 }, "unavailable", "unavailable"],
    [{ status: 429 }, "unavailable", "unavailable"],
    [{ status: 503 }, "unavailable", "unavailable"],
  ])("%j", (response, ofSeveral, ofOne) => {
    expect(classifyResponse(toResponse(response), 2)).toBe(ofSeveral);
    expect(classifyResponse(toResponse(response), 1)).toBe(ofOne);
  });
});

describe("shorten", () => {
  test("keeps a quarter of the text, in the end none, and marks the mail as truncated", () => {
    const lengths = [];
    for (let mail = shorten({ ...toMail("1"), body: "x".repeat(20_000) }); mail; mail = shorten(mail)) {
      expect(mail).toMatchObject({ id: "1", truncated: true });
      lengths.push(mail.body.length);
    }
    expect(lengths).toEqual([5000, 1250, 312, 78, 0]);
  });

  test("never cuts a character in two", () => {
    const shorter = shorten({ ...toMail("1"), body: "😀".repeat(502) });
    expect(shorter?.body.isWellFormed()).toBe(true);
    expect(shorter?.body).toHaveLength(250);
  });
});

function toResponse(response: Partial<HookResponse>): HookResponse {
  const missing = { code: "", error: "", eventId: undefined, skipped: false, repeated: 0, retryAfterMs: undefined };
  return { status: 0, ...missing, ...response };
}

const never = new AbortController().signal;

test("a body is posted with the current token", async () => {
  const requests: Request[] = [];
  let token = "one";
  const post = createMailPost({
    send: async (request) => {
      requests.push(request);
      return Response.json({ ok: true, eventId: "e-1" }, { status: 202 });
    },
    target: () => ({ url: "http://127.0.0.1/hooks/mail", token }),
  });
  expect(await post("{}", never)).toEqual({
    status: 202,
    code: "",
    error: "",
    eventId: "e-1",
    skipped: false,
    repeated: 0,
    retryAfterMs: undefined,
  });
  token = "two";
  await post('{"a":1}', never);
  expect(requests.map(({ url, method, headers }) => [url, method, headers.get("authorization")])).toEqual([
    ["http://127.0.0.1/hooks/mail", "POST", "Bearer one"],
    ["http://127.0.0.1/hooks/mail", "POST", "Bearer two"],
  ]);
  expect(requests[1]?.headers.get("content-type")).toBe("application/json");
  expect(await requests[1]?.text()).toBe('{"a":1}');
});

test("a rejection has a reason and the event that holds the request", async () => {
  const body = { ok: false, error: "No hook has this name.", code: "not_found", requestId: "r-1" };
  expect(await answerOf(Response.json(body, { status: 404 }))).toEqual({
    status: 404,
    code: "not_found",
    error: "the hook answered 404 not_found No hook has this name.",
    eventId: "r-1",
    skipped: false,
    repeated: 0,
    retryAfterMs: undefined,
  });
});

test.each([
  [{}, {}, 0],
  [{ actions: [{ kind: "agent" }, { kind: "agent", repeated: true }, 1, null] }, {}, 1],
  [{}, { "idempotency-replayed": "true" }, Infinity],
])("the answer %j with %j names the repeats", async (body, headers, repeated) => {
  const answer = Response.json({ ok: true, eventId: "e-1", ...body }, { status: 202, headers });
  expect(await answerOf(answer)).toMatchObject({ status: 202, repeated });
});

test("a request that no mapping takes is skipped, and its event is known", async () => {
  const headers = { "hook-skipped": "true", "x-request-id": "r-1" };
  expect(await answerOf(new Response(null, { status: 204, headers }))).toMatchObject({
    skipped: true,
    error: "no mapping of the hook takes it",
    eventId: "r-1",
  });
});

test.each([
  ["120", 120_000],
  ["99999999", 3_600_000],
  ["soon", undefined],
])("Retry-After: %s", async (header, retryAfterMs) => {
  const response = new Response("", { status: 503, headers: { "retry-after": header } });
  expect(await answerOf(response)).toMatchObject({ status: 503, retryAfterMs });
});

test.each(["", "<html>", "null", "[1]", '{"code":{"a":1},"error":7,"eventId":null}'])(
  "any body is accepted: %j",
  async (text) => {
    expect(await answerOf(new Response(text, { status: 500 }))).toEqual({
      status: 500,
      code: "",
      error: "the hook answered 500",
      eventId: undefined,
      skipped: false,
      repeated: 0,
      retryAfterMs: undefined,
    });
  },
);

test("a 2xx from another server does not count as accepted", async () => {
  expect(await answerOf(new Response("<html>We are back soon</html>"))).toMatchObject({
    status: 0,
    error: "the server at this address is not Hookline",
  });
  expect(await answerOf(new Response(null, { status: 204 }))).toMatchObject({ status: 204, error: "" });
});

test("a failed request is a response with status 0", async () => {
  const broken = new TypeError("fetch failed", { cause: new Error("other side closed") });
  expect(await answerOf(Promise.reject(broken))).toMatchObject({
    status: 0,
    error: "no response from the hook: other side closed",
  });
});

test("a refused connection is described in words", async () => {
  const post = createMailPost({
    send: fetch,
    target: () => ({ url: "http://127.0.0.1:2/hooks/mail", token: "t" }),
  });
  expect(await post("{}", never)).toMatchObject({ status: 0, error: "nothing listens at 127.0.0.1:2" });
});

test("a token outside ASCII is sent as UTF-8", async () => {
  let header = "";
  const post = createMailPost({
    send: async ({ headers }) => {
      header = headers.get("authorization") ?? "";
      return new Response();
    },
    target: () => ({ url: "http://127.0.0.1/hooks/mail", token: "grün-€" }),
  });
  await post("{}", never);
  expect(Buffer.from(header, "latin1").toString()).toBe("Bearer grün-€");
});

test.each([
  ["a token that is not valid in a header", { url: "http://127.0.0.1/hooks/mail", token: "se\ncret" }],
  ["an invalid address", { url: "127.0.0.1/hooks/mail", token: "se-cret" }],
])("%s: an error without the token", async (_, target) => {
  const post = createMailPost({ send: fetch, target: () => target });
  const answer = await post("{}", never);
  expect(answer).toMatchObject({ status: 0, error: expect.stringContaining("cannot build a request") });
  expect(answer.error).not.toContain("cret");
});

test("an aborted request is a response with status 0", async () => {
  const cutting = new AbortController();
  const post = createMailPost({
    send: (request) =>
      new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason))),
    target: () => ({ url: "http://127.0.0.1/hooks/mail", token: "t" }),
  });
  const posted = post("{}", cutting.signal);
  cutting.abort();
  expect(await posted).toMatchObject({ status: 0 });
});

function answerOf(response: Response | Promise<Response>) {
  const target = () => ({ url: "http://127.0.0.1/hooks/mail", token: "t" });
  return createMailPost({ send: async () => response, target })("{}", never);
}
