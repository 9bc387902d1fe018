import { expect, test } from "vitest";
import { startFaultProxy } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import { type HttpAnswer, request, toLine, toRefusal } from "./http.ts";

const { signal } = new AbortController();

test("posts JSON or a form with the headers", async () => {
  const proxy = await startFaultProxy("http://127.0.0.1/");
  proxy.inject({ kind: "answer", status: 200, body: '{"a":1}' });
  const options = { service: "Test", url: proxy.url, headers: { authorization: "Bearer x" }, signal };
  expect(await request({ ...options, body: { text: "ü" } })).toMatchObject({ status: 200, body: { a: 1 } });
  await request({ ...options, body: new URLSearchParams({ text: "ü" }) });
  expect(proxy.requests).toMatchObject([
    { headers: { authorization: "Bearer x", "content-type": "application/json" }, body: '{"text":"ü"}' },
    { headers: { authorization: "Bearer x" }, body: "text=%C3%BC" },
  ]);
  await proxy.close();
});

test("does not follow redirects", async () => {
  const proxy = await startFaultProxy("http://127.0.0.1/");
  proxy.inject({ kind: "answer", status: 302, headers: { location: "/elsewhere" } });
  const answer = await request({ service: "Test", url: proxy.url, body: {}, signal });
  expect(answer).toMatchObject({ status: 302, body: {} });
  expect(proxy.requests.length).toBe(1);
  await proxy.close();
});

test("an answer without end does not fill the memory", async () => {
  const proxy = await startFaultProxy("http://127.0.0.1/");
  proxy.inject({ kind: "answer", status: 200, body: JSON.stringify({ a: "x".repeat(40_000_000) }) });
  const error = await failureOf(request({ service: "Test", url: proxy.url, body: {}, signal }));
  expect(error).toMatchObject({ retryable: true, message: "The answer of Test could not be read." });
  await proxy.close();
});

test("an invalid header is a permanent error that does not show it", async () => {
  const headers = { authorization: "Bearer sec\nret" };
  const error = await failureOf(request({ service: "Test", url: "http://127.0.0.1:1/", headers, body: {}, signal }));
  expect(error).toMatchObject({
    retryable: false,
    message: "The request to Test could not be sent. Check its token and baseUrl.",
  });
});

test("a refusal shows the reason, the advice and the time to wait", () => {
  const answer = answerOf(429, { "retry-after": "2" });
  expect(toRefusal("Test", answer, { reason: "Too fast.\n", advice: "Slow down." })).toMatchObject({
    message: "Test answered 429: Too fast. Slow down.",
    retryAfterMs: 2000,
  });
  expect(toRefusal("Test", answer, { retryAfterMs: 500 }).retryAfterMs).toBe(500);
});

test.each([
  [undefined, ""],
  [{ a: 1 }, ""],
  [" a\r\n\u0007b. ", "a b"],
  ["x".repeat(300), "x".repeat(200)],
])("toLine(%j) is %j", (text, line) => {
  expect(toLine(text)).toBe(line);
});

function answerOf(status: number, headers: Record<string, string> = {}): HttpAnswer {
  return { status, headers: new Headers(headers), body: {} };
}
