import { expect, test } from "vitest";
import { requireBodyKind } from "./body-kind.ts";

test.each([
  ["", "json"],
  ["application/json", "json"],
  ["Application/JSON; charset=utf-8", "json"],
  ['application/json; charset="UTF8"', "json"],
  ["application/json;charset=us-ascii", "json"],
  ["application/cloudevents+json", "json"],
  ["application/vnd.github.v3+json; charset=utf-8", "json"],
  ["application/x-www-form-urlencoded", "form"],
  ["text/plain", "text"],
  ["text/json; charset=utf-8", "text"],
])("%s is %s", (contentType, kind) => {
  expect(requireBodyKind(contentType)).toBe(kind);
});

test.each([
  "multipart/form-data; boundary=x",
  "application/xml",
  "application/octet-stream",
  "application/x-ndjson",
  "application/jsonp",
  "image/png",
  "application/json; charset=utf-16",
  "text/plain; charset=iso-8859-1",
  "application/json, application/json",
  "json",
  ";",
])("%s is refused", (contentType) => {
  expect(() => requireBodyKind(contentType)).toThrow(
    expect.objectContaining({ status: 415, code: "unsupported_media_type" }),
  );
});
