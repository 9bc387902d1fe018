import * as fc from "../../../test/support/property.ts";
import { expect, test } from "vitest";
import { createRedaction } from "./redact.ts";

const SECRET = "s3cr/t+wörd? x";

test.each([
  ["as it is", SECRET],
  ["URL-encoded", encodeURIComponent(SECRET)],
  ["URL-encoded in lower case", encodeURIComponent(SECRET).toLowerCase()],
  ["as a form", new URLSearchParams({ a: SECRET }).toString().slice(2)],
  ["in JSON", JSON.stringify(SECRET)],
  ["in JSON with escaped slashes", JSON.stringify(SECRET).replaceAll("/", "\\/")],
  ["in base64", Buffer.from(SECRET).toString("base64")],
  ["in base64 for URLs", Buffer.from(SECRET).toString("base64url")],
  ["in base64 of a longer text", Buffer.from(`user:${SECRET}:more`).toString("base64")],
])("a secret %s is replaced", (_, written) => {
  const { redact } = createRedaction([`Bearer ${SECRET}`]);
  const text = redact(`<${written}>`);
  expect(text).toContain("[redacted]");
  expect(text).not.toContain("s3cr");
  expect(text).not.toContain(Buffer.from(SECRET).toString("base64").slice(4, 16));
});

test("the password of a Basic credential is replaced", () => {
  const { redact } = createRedaction([`Basic ${Buffer.from("ann:pass-word-1").toString("base64")}`]);
  expect(redact("it was pass-word-1")).toBe("it was [redacted]");
});

test("short values are words that a text may have", () => {
  expect(createRedaction(["v1", "json"]).redact("v1 json")).toBe("v1 json");
});

test("in any longer text in base64, no form of the secret is left that decodes to it", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (before, after) => {
      const secret = "0123456789abcdef";
      const { redact } = createRedaction([secret]);
      const text = redact(Buffer.from(before + secret + after).toString("base64"));
      expect(Buffer.from(text.replaceAll("[redacted]", ""), "base64").toString()).not.toContain(secret.slice(2, -2));
      expect(text).toContain("[redacted]");
    }),
    { numRuns: 300 },
  );
});
