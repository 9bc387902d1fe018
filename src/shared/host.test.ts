import { expect, test } from "vitest";
import { isLoopback } from "./host.ts";

test.each(["localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])("%s is this machine", (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(["", "mail.example.com", "localhost.example.com", "127.0.0.1.example.com", "128.0.0.1", "0.0.0.0", "::2"])(
  "%s may be another",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
