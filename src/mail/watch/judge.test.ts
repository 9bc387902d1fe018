import { expect, test } from "vitest";
import { judge, type Verdict } from "./judge.ts";
import type { MailAnswer } from "./post.ts";

test.each<[Partial<MailAnswer>, Verdict, Verdict]>([
  // Of several mails, of one.
  [{ status: 200 }, "taken", "taken"],
  [{ status: 204 }, "taken", "taken"],
  [{ status: 413 }, "too-much", "too-much"],
  [{ status: 504 }, "too-much", "unready"],
  [{ status: 400 }, "refused", "refused"],
  [{ status: 422 }, "refused", "refused"],
  [{ status: 404, hookExists: true }, "refused", "refused"],
  [{ status: 404 }, "unready", "unready"],
  [{ status: 500, code: "transform_failed" }, "failed", "failed"],
  [{ status: 500, code: "internal_error" }, "unready", "unready"],
  [{ status: 0 }, "unready", "unready"],
  [{ status: 302 }, "unready", "unready"],
  [{ status: 401 }, "unready", "unready"],
  [{ status: 405 }, "unready", "unready"],
  [{ status: 408 }, "unready", "unready"],
  [{ status: 429 }, "unready", "unready"],
  [{ status: 503 }, "unready", "unready"],
])("%j", (answer, ofSeveral, ofOne) => {
  const whole = {
    code: "",
    error: "",
    eventId: undefined,
    hookExists: false,
    retryAfterMs: undefined,
    status: 0,
    ...answer,
  };
  expect(judge(whole, 2)).toBe(ofSeveral);
  expect(judge(whole, 1)).toBe(ofOne);
});
