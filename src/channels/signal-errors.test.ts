import { expect, test } from "vitest";
import { toDriverError, wasTaken } from "./signal-errors.ts";

test.each([
  [-1, "lasting"],
  [-3, "passing"],
  [-4, "lasting"],
  [-5, "passing"],
  [-6, "lasting"],
  [-32_600, "lasting"],
  [-32_602, "lasting"],
  [-32_603, "passing"],
])("code %i is %s", (code, kind) => {
  expect(toDriverError({ code, data: null }).kind).toBe(kind);
});

test.each([
  ["NETWORK_FAILURE", "passing"],
  ["RATE_LIMIT_FAILURE", "passing"],
  ["UNREGISTERED_FAILURE", "lasting"],
  ["IDENTITY_FAILURE", "lasting"],
  ["INVALID_PRE_KEY_FAILURE", "lasting"],
])("under a user error %s is %s, and is told", (type, kind) => {
  const error = toDriverError({ code: -1, data: failed({ type }) });
  expect(error.kind).toBe(kind);
  expect(error.message).toContain(`signal-cli refused the message: ${type}.`);
});

test("the longest wait of all recipients counts", () => {
  const waits = [1, 30, 2].map((retryAfterSeconds) => ({ type: "RATE_LIMIT_FAILURE", retryAfterSeconds }));
  expect(toDriverError({ code: -5, data: failed(...waits) }).retryAfterMs).toBe(30_000);
  expect(toDriverError({ code: -5, data: null }).retryAfterMs).toBeUndefined();
});

test("the words of the error, which may hold the recipient, are not told", () => {
  const message = "The user +15551234567 is not registered.";
  expect(toDriverError({ code: -1, message, data: null }).message).not.toContain("+1555");
});

test("a message that some of a group got was taken", () => {
  expect(wasTaken({ timestamp: 1 })).toBe(true);
  expect(wasTaken({ results: [{ type: "SUCCESS" }, { type: "NETWORK_FAILURE" }] })).toBe(true);
  expect(wasTaken({ results: [{ type: "NETWORK_FAILURE" }] })).toBe(false);
});

function failed(...results: Record<string, unknown>[]) {
  return { response: { timestamp: 1, results } };
}
