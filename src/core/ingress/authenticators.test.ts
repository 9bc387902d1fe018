import { describe, expect, test } from "vitest";
import type { HookToken } from "../config/resolved-config.ts";
import type { Authenticator } from "./authenticator.ts";
import { type AuthRateLimit, createAuthRateLimit, createAuthenticators } from "./authenticators.ts";

const authenticator = toAuthenticator([
  { name: "default", secrets: ["current", "previous"] },
  { name: "deploys", secrets: ["deploy-secret"], hooks: ["deploys", "a/b"] },
  { name: "umlaut", secrets: ["schlüssel"] },
]);

function toAuthenticator(tokens: HookToken[]): Authenticator {
  return createAuthenticators({ tokens }).find("wake");
}

const REQUEST = {
  hook: "wake",
  method: "POST",
  rawHeaders: [],
  client: "203.0.113.1",
  path: "/hooks/wake",
  search: "",
  receivedAt: 0,
};

function verify(
  headers: Record<string, string>,
  query: Record<string, string> = {},
  hook: string | undefined = "wake",
) {
  const readBody = () => Promise.reject(new Error("a token does not need the body"));
  return authenticator.verify({ ...REQUEST, hook, headers, query, readBody });
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

test("the operator sees which hooks a refused token is valid for, its sender does not", () => {
  const refusal = verify({ authorization: "Bearer deploy-secret" });
  const hint = 'token:deploys is valid for the hooks "deploys", "a/b", not for this one';
  expect(refusal).toEqual({ refusal: expect.not.stringContaining("deploys"), reason: "wrong", hint });
  expect(verify({ authorization: "Bearer nobody-has-it" })).not.toMatchObject({ hint: expect.anything() });
});

test("nothing matches a token that is not set", () => {
  const unset = toAuthenticator([{ name: "default", secrets: [""] }]);
  const request = { ...REQUEST, query: { token: "" }, readBody: () => Promise.reject(new Error()) };
  expect(unset.verify({ ...request, headers: { authorization: "Bearer " } })).toMatchObject(REFUSED);
});

function createClock() {
  let now = 1_000;
  return { now: () => now, pass: (ms: number) => void (now += ms) };
}

function failTimes(limit: AuthRateLimit, client: string, times: number) {
  for (let count = 0; count < times; count++) limit.fail(client);
}

function tooMany(retryAfter: number) {
  return expect.objectContaining({ code: "too_many_failures", headers: { "Retry-After": String(retryAfter) } });
}

test("the 21st failure within a minute is refused, for its client alone", () => {
  const clock = createClock();
  const limit = createAuthRateLimit(clock.now);
  failTimes(limit, "a", 19);
  clock.pass(10_000);
  failTimes(limit, "a", 1);
  expect(() => limit.fail("a")).toThrow(tooMany(50));
  limit.fail("b");
});

test("the window slides: each failure is forgotten after its own minute", () => {
  const clock = createClock();
  const limit = createAuthRateLimit(clock.now);
  failTimes(limit, "a", 10);
  clock.pass(30_000);
  failTimes(limit, "a", 10);
  clock.pass(30_000);
  failTimes(limit, "a", 10);
  expect(() => limit.fail("a")).toThrow(tooMany(30));
});

test("the addresses of one IPv6 network (/64) are one client, those of two are two", () => {
  const limit = createAuthRateLimit(() => 0);
  const spellings = ["2001:db8:0:7::1", "2001:db8::7:1:2:3:4", "2001:db8:0:7:ffff::"];
  for (let count = 0; count < 20; count++) limit.fail(spellings[count % 3] ?? "");
  for (const client of spellings) expect(() => limit.fail(client)).toThrow(tooMany(60));
  for (const client of ["2001:db8:0:8::1", "2001:db8::1", "::1", "192.0.2.1"]) limit.fail(client);
  limit.succeed("2001:db8:0:7:8::");
  expect(() => limit.fail("2001:db8:0:7::1")).not.toThrow();
});

test("a success forgets the failures", () => {
  const limit = createAuthRateLimit(() => 0);
  failTimes(limit, "a", 20);
  limit.succeed("a");
  expect(() => failTimes(limit, "a", 20)).not.toThrow();
  expect(() => limit.fail("a")).toThrow(tooMany(60));
});

test("a success forgets the failures in its scope alone, which all count together", () => {
  const limit = createAuthRateLimit(() => 0);
  for (let count = 0; count < 20; count++) {
    limit.fail("a", "b");
    limit.succeed("a", "a");
  }
  expect(() => limit.fail("a", "b")).toThrow(tooMany(60));
  limit.succeed("a", "a");
  expect(() => limit.fail("a", "c")).toThrow(tooMany(60));
  limit.succeed("a", "b");
  expect(() => limit.fail("a", "b")).not.toThrow();
});

test("among very many clients, the one that failed longest ago is forgotten", () => {
  const limit = createAuthRateLimit();
  failTimes(limit, "first", 20);
  failTimes(limit, "second", 20);
  for (let count = 0; count < 9_999; count++) limit.fail(`client ${count}`);
  expect(() => limit.fail("second")).toThrow("Too many failed credentials");
  expect(() => limit.fail("first")).not.toThrow();
});
