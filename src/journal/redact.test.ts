import { expect, test } from "vitest";
import { redact } from "./redact.ts";

test.each([
  "authorization",
  "x-hub-signature-256",
  "api_key",
  "X_API_KEY",
  "api.key",
  "apiKey",
  "access_key",
  "passwd",
  "jwt",
  "sig",
  "x-auth",
  "authorisation",
  "session_id",
])("the value of %s is not kept", (name) => {
  expect(redact({ [name]: "s3cret" })).toEqual({ [name]: "[redacted]" });
});

test.each(["content-type", "x-github-event", "key", "design", "author", "user-agent"])(
  "the value of %s is kept",
  (name) => {
    expect(redact({ [name]: "value" })).toEqual({ [name]: "value" });
  },
);
