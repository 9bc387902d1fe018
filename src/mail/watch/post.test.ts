import { expect, test } from "vitest";
import { createMailPost } from "./post.ts";

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
    retryAfterMs: undefined,
  });
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
