import { describe, expect, test } from "vitest";
import { findCredential, isToken } from "./token.ts";

function find(headers: Record<string, string>, query: Record<string, string> = {}) {
  const found = findCredential(headers, query);
  return found && { form: found.form, secret: found.secret.toString() };
}

describe("the credential of a request", () => {
  test.each(["Bearer abc", "bearer abc", "BEARER   abc"])("%s", (authorization) => {
    expect(find({ authorization })).toEqual({ form: "bearer", secret: "abc" });
  });

  test("is the Bearer one before the header before the query", () => {
    const all = { authorization: "Bearer one", "x-gateway-token": "two" };
    expect(find(all, { token: "three" })?.secret).toBe("one");
    expect(find({ "x-gateway-token": "two" }, { token: "three" })?.secret).toBe("two");
    expect(find({}, { token: "three" })).toEqual({ form: "query", secret: "three" });
  });

  test("an empty Bearer still decides", () => {
    expect(find({ authorization: "Bearer", "x-gateway-token": "two" })).toEqual({
      form: "bearer",
      secret: "",
    });
  });

  test("another scheme is no credential of ours", () => {
    expect(find({ authorization: "Basic abc", "x-gateway-token": "two" })?.form).toBe("header");
    expect(find({ authorization: "Bearerabc" })).toBeUndefined();
  });
});

test("a token matches itself alone", () => {
  expect(isToken(Buffer.from("right"), "right")).toBe(true);
  expect(isToken(Buffer.from("wrong"), "right")).toBe(false);
  expect(isToken(Buffer.from("right "), "right")).toBe(false);
});

test("nothing matches a token that is not set", () => {
  expect(isToken(Buffer.alloc(0), "")).toBe(false);
});

test("a token in UTF-8 survives the way Node reads headers", () => {
  const asNodeReadsIt = Buffer.from("schlüssel").toString("latin1");
  const found = findCredential({ authorization: `Bearer ${asNodeReadsIt}` }, {});
  expect(isToken(found?.secret ?? Buffer.alloc(0), "schlüssel")).toBe(true);
});
