import { expect, test } from "vitest";
import { isLoopback, isRetryableStatus, parseRetryAfter } from "./network.ts";

test.each([302, 408, 409, 425, 429, 500, 502, 503, 504])("%i is retryable", (status) => {
  expect(isRetryableStatus(status)).toBe(true);
});

test.each([400, 401, 403, 404, 405, 413, 415, 422])("%i is permanent", (status) => {
  expect(isRetryableStatus(status)).toBe(false);
});

test.each([
  [null, undefined],
  [undefined, undefined],
  ["", undefined],
  ["soon", undefined],
  ["-1", 0],
  ["1.5", 1500],
  ["Thu, 01 Jan 1970 00:01:00 GMT", 50_000],
  ["Thu, 01 Jan 1970 00:00:01 GMT", 0],
])("Retry-After %j is %j ms", (header, milliseconds) => {
  expect(parseRetryAfter(header, 10_000)).toBe(milliseconds);
});

test.each(["localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])("%s is this machine", (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(["", "mail.example.com", "localhost.example.com", "127.0.0.1.example.com", "128.0.0.1", "0.0.0.0", "::2"])(
  "%s may be another",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
