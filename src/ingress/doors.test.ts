import { describe, expect, test } from "vitest";
import type { HookToken } from "../config/types.ts";
import { createDoors, type Door } from "./doors.ts";

const door = toDoor([
  { name: "default", secrets: ["current", "previous"] },
  { name: "deploys", secrets: ["deploy-secret"], hooks: ["deploys", "a/b"] },
  { name: "umlaut", secrets: ["schlüssel"] },
]);

function toDoor(tokens: HookToken[]): Door {
  return createDoors({ tokens }).find("wake");
}

const REQUEST = { hook: "wake", method: "POST", rawHeaders: [], path: "/hooks/wake", search: "", receivedAt: 0 };

function verify(
  headers: Record<string, string>,
  query: Record<string, string> = {},
  hook: string | undefined = "wake",
) {
  const readBody = () => Promise.reject(new Error("a token does not need the body"));
  return door.verify({ ...REQUEST, hook, headers, query, readBody });
}

const REFUSED = { refusal: expect.stringContaining("Authorization: Bearer") };

describe("the presented token", () => {
  test.each(["Bearer current", "bearer current", "BEARER   current "])("%s", (authorization) => {
    expect(verify({ authorization })).toEqual({ credential: "token:default" });
  });

  test("is the Bearer one before the header before the query, and no other rescues a wrong one", () => {
    const right = { authorization: "Bearer current", "x-gateway-token": "wrong" };
    expect(verify(right, { token: "wrong" })).toMatchObject({ credential: "token:default" });
    expect(verify({ "x-gateway-token": "current" }, { token: "wrong" })).toMatchObject({ credential: "token:default" });
    expect(verify({ authorization: "Bearer wrong", "x-gateway-token": "current" })).toMatchObject(REFUSED);
    expect(verify({ "x-gateway-token": "wrong" }, { token: "current" })).toMatchObject(REFUSED);
  });

  test.each(["Bearer", "Bearer ", "Basic abc", "Bearercurrent"])("%j does not hide the header", (authorization) => {
    expect(verify({ authorization, "x-gateway-token": "current" })).toMatchObject({ credential: "token:default" });
    expect(verify({ authorization })).toMatchObject(REFUSED);
  });

  test("in the query is deprecated", () => {
    expect(verify({}, { token: "current" })).toMatchObject({
      credential: "token:default",
      deprecation: { headers: { Deprecation: expect.stringMatching(/^@\d+$/) } },
    });
  });

  test("in UTF-8 survives the way Node reads headers", () => {
    const authorization = `Bearer ${Buffer.from("schlüssel").toString("latin1")}`;
    expect(verify({ authorization })).toMatchObject({ credential: "token:umlaut" });
  });
});

test("every secret of a token has the token's name", () => {
  expect(verify({ authorization: "Bearer previous" })).toEqual(verify({ authorization: "Bearer current" }));
});

test("a limited token counts only for its hooks, and elsewhere is refused like an unknown one", () => {
  const headers = { authorization: "Bearer deploy-secret" };
  for (const hook of ["deploys", "a/b"])
    expect(verify(headers, {}, hook)).toMatchObject({ credential: "token:deploys" });
  expect(verify(headers, {}, "wake")).toMatchObject(REFUSED);
  expect(verify(headers)).toMatchObject({ refusal: expect.stringMatching(/^The token is wrong/) });
});

test("nothing matches a token that is not set", () => {
  const unset = toDoor([{ name: "default", secrets: [""] }]);
  const request = { ...REQUEST, query: { token: "" }, readBody: () => Promise.reject(new Error()) };
  expect(unset.verify({ ...request, headers: { authorization: "Bearer " } })).toMatchObject(REFUSED);
});
