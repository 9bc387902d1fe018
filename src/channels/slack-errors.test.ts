import { describe, expect, test } from "vitest";
import { toDriverError } from "./slack-errors.ts";

describe("what Slack says under HTTP 200", () => {
  test.each([
    "channel_not_found",
    "not_in_channel",
    "invalid_auth",
    "is_archived",
    "msg_too_long",
    "some_new_error",
  ])("%s is lasting", (code) => {
    const error = toDriverError(refusal(code));
    expect(error.kind).toBe("lasting");
    expect(error.message).toContain(`Slack refused the message: ${code}.`);
  });

  test.each(["ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable"])(
    "%s is passing",
    (code) => {
      expect(toDriverError(refusal(code)).kind).toBe("passing");
    },
  );

  test("a rate limit may name its time", () => {
    expect(toDriverError(refusal("ratelimited", 30)).retryAfterMs).toBe(30_000);
    expect(toDriverError(refusal("ratelimited")).retryAfterMs).toBeUndefined();
  });

  test("the next step stands beside the common ones", () => {
    expect(toDriverError(refusal("not_in_channel")).message).toContain("Invite the bot to the channel.");
  });

  test("an inherited property's name has no advice", () => {
    expect(toDriverError(refusal("constructor")).message).toBe("Slack refused the message: constructor.");
  });

  test("a page in place of an answer is passing, and is not told", () => {
    const error = toDriverError(refusal("<html>Bad gateway</html>"));
    expect(error).toMatchObject({ kind: "passing", message: "Slack's answer could not be read." });
  });
});

describe("other failures", () => {
  test("a 429 names its time", () => {
    expect(toDriverError(failed({ retryAfter: 7 }))).toMatchObject({ kind: "passing", retryAfterMs: 7000 });
  });

  test.each([
    [500, "passing"],
    [503, "passing"],
    [408, "passing"],
    [302, "passing"],
    [400, "lasting"],
    [403, "lasting"],
    [404, "lasting"],
  ])("HTTP %i is %s", (statusCode, kind) => {
    expect(toDriverError(failed({ statusCode, headers: {} })).kind).toBe(kind);
  });

  test("a 503 may name its time", () => {
    const headers = { "retry-after": "5" };
    expect(toDriverError(failed({ statusCode: 503, headers })).retryAfterMs).toBe(5000);
  });

  test("no answer is passing, with the reason beneath", () => {
    const original = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    expect(toDriverError(failed({ original })).message).toBe("Slack gave no answer: connect ECONNREFUSED.");
    expect(toDriverError("odd").message).toBe("Slack gave no answer: odd.");
  });
});

function refusal(error: string, retryAfter?: number): Error {
  return failed({ data: { ok: false, error, response_metadata: { retryAfter } } });
}

function failed(fields: Record<string, unknown>): Error {
  return Object.assign(new Error("failed"), fields);
}
