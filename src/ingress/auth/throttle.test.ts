import { expect, test } from "vitest";
import { createThrottle, toClient } from "./throttle.ts";

function createClock() {
  let now = 1_000;
  return { now: () => now, pass: (ms: number) => void (now += ms) };
}

function failTimes(throttle: ReturnType<typeof createThrottle>, client: string, times: number) {
  for (let count = 0; count < times; count++) throttle.fail(client);
}

test("lets twenty failures a minute through, then says how long to wait", () => {
  const clock = createClock();
  const throttle = createThrottle(clock.now);
  failTimes(throttle, "a", 19);
  expect(throttle.waitMs("a")).toBe(0);
  clock.pass(10_000);
  failTimes(throttle, "a", 1);
  expect(throttle.waitMs("a")).toBe(50_000);
  expect(throttle.waitMs("b")).toBe(0);
});

test("the window slides: each failure is forgotten after its own minute", () => {
  const clock = createClock();
  const throttle = createThrottle(clock.now);
  failTimes(throttle, "a", 10);
  clock.pass(30_000);
  failTimes(throttle, "a", 10);
  clock.pass(30_000);
  expect(throttle.waitMs("a")).toBe(0);
  failTimes(throttle, "a", 10);
  expect(throttle.waitMs("a")).toBe(30_000);
});

test("a reset forgets", () => {
  const throttle = createThrottle();
  failTimes(throttle, "a", 20);
  throttle.reset("a");
  expect(throttle.waitMs("a")).toBe(0);
});

test("many clients: the one that failed longest ago is forgotten", () => {
  const throttle = createThrottle();
  failTimes(throttle, "first", 20);
  failTimes(throttle, "second", 20);
  for (let count = 0; count < 9_999; count++) throttle.fail(`client ${count}`);
  expect(throttle.waitMs("first")).toBe(0);
  expect(throttle.waitMs("second")).toBeGreaterThan(0);
});

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:192.0.2.1", "192.0.2.1"],
  ["::ffff:c000:201", "192.0.2.1"],
  ["2001:0db8:0:0:0:0:0:1", "2001:db8::1"],
  ["192.0.2.1:4711", "192.0.2.1"],
  ["[::ffff:192.0.2.1]:4711", "192.0.2.1"],
  ["2001:DB8::1", "2001:db8::1"],
  ["[2001:db8::1]:4711", "2001:db8::1"],
  ["[2001:db8::1]", "2001:db8::1"],
  ["localhost", "unknown"],
  ["", "unknown"],
  [undefined, "unknown"],
])("%s counts as %s", (address, client) => {
  expect(toClient(address)).toBe(client);
});
