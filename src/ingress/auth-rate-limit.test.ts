import { expect, test } from "vitest";
import { type AuthRateLimit, createAuthRateLimit } from "./auth-rate-limit.ts";

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

test("among very many clients, the one that failed longest ago is forgotten", () => {
  const limit = createAuthRateLimit();
  failTimes(limit, "first", 20);
  failTimes(limit, "second", 20);
  for (let count = 0; count < 9_999; count++) limit.fail(`client ${count}`);
  expect(() => limit.fail("second")).toThrow("Too many failed credentials");
  expect(() => limit.fail("first")).not.toThrow();
});
