import { expect, test } from "vitest";
import { toVisibleHeaders } from "./serve-hook.ts";

test("removes credentials and cookies from the headers", () => {
  const visible = toVisibleHeaders({
    "x-github-event": "push",
    "idempotency-key": "key",
    "set-cookie": ["a=1", "b=2"],
    authorization: "Bearer secret",
    "proxy-authorization": "Basic secret",
    "x-gateway-token": "secret",
    cookie: "secret",
  });
  expect(visible).toEqual({
    "x-github-event": "push",
    "idempotency-key": "key",
    "set-cookie": "a=1, b=2",
  });
});
