import { describe, expect, test } from "vitest";
import type { HttpAnswer } from "../kit/http.ts";
import { toDriverError } from "./client.ts";

describe("slack errors", () => {
  describe("answers with ok: false", () => {
    test.each(["channel_not_found", "not_in_channel", "invalid_auth", "is_archived", "msg_too_long", "some_new_error"])(
      "%s is permanent",
      (code) => {
        const error = toDriverError(refusal(code));
        expect(error.retryable).toBe(false);
        expect(error.message).toContain(`Slack refused the message: ${code}.`);
      },
    );

    test.each(["ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable"])(
      "%s is retryable",
      (code) => {
        expect(toDriverError(refusal(code)).retryable).toBe(true);
      },
    );

    test("a rate limit may have a time to wait", () => {
      expect(toDriverError(refusal("ratelimited", { "retry-after": "30" })).retryAfterMs).toBe(30_000);
      expect(toDriverError(refusal("ratelimited")).retryAfterMs).toBeUndefined();
    });

    test("common errors have advice", () => {
      expect(toDriverError(refusal("not_in_channel")).message).toContain("Invite the bot to the channel.");
    });

    test("the name of an inherited property has no advice", () => {
      expect(toDriverError(refusal("constructor")).message).toBe("Slack refused the message: constructor.");
    });

    test("a web page in place of an answer is retryable and not shown", () => {
      const error = toDriverError({ body: {}, headers: new Headers() });
      expect(error).toMatchObject({ retryable: true, message: "The answer of Slack could not be read." });
    });
  });

  function refusal(error: string, headers: Record<string, string> = {}): Pick<HttpAnswer, "body" | "headers"> {
    return { body: { ok: false, error }, headers: new Headers(headers) };
  }
});
